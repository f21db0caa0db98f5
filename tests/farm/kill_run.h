#pragma once
// Owns: a job during which tracker, agent and tuner are killed with SIGKILL over and over: at failpoints,
// which a first run finds out by itself, or at any moment. Does not know: what the failpoints mean.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/farm/farm_run.h"

namespace tf::farm_test {

// The failpoints that each role comes to in an undisturbed job with one restart of each process.
std::map<Role, std::vector<std::string>> find_failpoints();

// A process's next death.
struct Death {
  std::string failpoint;  // empty: at any moment
  int nth = 1;
  absl::Duration after;  // its role's last death
};

struct KillReport {
  int kills = 0;
  std::map<std::string, int> at;  // failpoint or "tracker, any moment" → kills there
  int candidates = 0;
  std::vector<std::string> problems;  // empty: the farm survived
};

// Each role dies in the order of its list, each time after a start; then the job is finished undisturbed and
// the history checked. A process that does not come to its failpoint within `grace_period` is killed where it
// is. `within`: for the whole run.
KillReport run_kills(const std::map<Role, std::vector<Death>>& deaths, absl::Duration within,
                     absl::Duration grace_period = absl::Seconds(3));

// So many deaths, drawn at random from the failpoints and moments.
std::map<Role, std::vector<Death>> random_deaths(const std::map<Role, std::vector<std::string>>& failpoints,
                                                 int count, uint64_t seed);

}  // namespace tf::farm_test
