#pragma once
// Owns: a farm of real processes that measures made-up candidates: one tracker, one agent, one tuner, whose
// events go to one history. Starts each as often as it is told, with the failpoints that it is told. Does not
// know: what goes wrong when.

#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/files/temporary_folder.h"
#include "tests/farm/harness.h"
#include "tests/farm/history_checker.h"

namespace tf::farm_test {

enum class Role : uint8_t { kTracker, kAgent, kTuner };
inline constexpr std::array kRoles = {Role::kTracker, Role::kAgent, Role::kTuner};
std::string role_name(Role role);  // as in the history
inline void PrintTo(Role role, std::ostream* out) {
  *out << role_name(role);
}

struct FarmRunOptions {
  // Commands that each role's own is appended to, such as one that enters a namespace.
  std::array<std::vector<std::string>, 3> prefix = {};
  rpc::Endpoint listen = free_endpoint();
  rpc::Endpoint agent_dials = listen;
  rpc::Endpoint tuner_dials = listen;
  // Where each role keeps its files; empty: a folder of the run.
  std::array<std::string, 3> folder = {};
  std::string seen_through;  // what this process puts before the path of the tuner's database
  int trial_ms = 2;
  int term_s = 2;
  int agent_grace_s = 2;
};

class FarmRun {
 public:
  explicit FarmRun(FarmRunOptions options = {});

  // Starts the role's process anew; one that runs is killed. `failpoints` as in base/testing/failpoint.h.
  void start(Role role, const std::string& failpoints = "");
  // The tuner's job has so many candidates from its next start on.
  void set_candidates(int count) { candidates_ = count; }
  Process& process(Role role) { return *processes_[static_cast<size_t>(role)]; }
  bool has_ended(Role role) { return process(role).has_exited(); }

  // Starts all three with a job of so many candidates, and returns when the first `stored` of them are
  // stored. False: not within a minute.
  bool begin_job(int candidates, size_t stored);
  // Starts the tuner until it ends with all candidates stored: one that finds no tracker or no device ends
  // and is to be started again. False: not within so long.
  bool finish_job(absl::Duration within);

  std::string database() const { return folder(Role::kTuner) + "/tuned.db"; }
  std::string seen_database() const { return options_.seen_through + database(); }
  std::string history() const { return folder_.file("history"); }
  std::string output() const { return folder_.file("output"); }
  std::string folder(Role role) const;
  // The checker's verdict on all that has happened. All candidates must have been stored.
  std::vector<std::string> problems(const CheckOptions& options = {}) const;

 private:
  std::vector<std::string> command(Role role) const;

  const FarmRunOptions options_;
  const TemporaryFolder folder_ = *TemporaryFolder::make();
  int candidates_ = 20;
  std::array<std::unique_ptr<Process>, 3> processes_;
};

}  // namespace tf::farm_test
