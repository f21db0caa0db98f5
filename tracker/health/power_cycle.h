#pragma once
// Owns: the operator's command that switches a device off and on again: when it may run, and running it. Does
// not know: why a device needs it.

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "rpc/clock.h"
#include "rpc/periodic_task.h"

namespace tf::tracker {

// Not more than once in `interval` for a device. Pure but for its clock, which must outlive it. Not
// thread-safe.
class PowerCycleLimit {
 public:
  PowerCycleLimit(const rpc::Clock& clock, absl::Duration interval) : clock_(clock), interval_(interval) {}
  // True: it may run now, and that is noted.
  bool take(const std::string& device_id);

 private:
  const rpc::Clock& clock_;
  const absl::Duration interval_;
  std::map<std::string, rpc::Instant> last_;
};

// FAILED_PRECONDITION: there is no such program, or it cannot be run; one without a slash in its name is
// looked for in the folders of `search_path` (as PATH has them), as it will be when it is run.
absl::Status check_program(const std::string& program, std::string_view search_path);

struct PowerCycleOptions {
  std::vector<std::string> command;  // program and arguments; the device's id follows as the last argument
  absl::Duration interval = absl::Minutes(10);
  absl::Duration timeout = absl::Seconds(60);  // then the command and its children are killed
};

// Runs one command after another in a thread of its own; what it prints goes to the log, line by line.
class PowerCycler {
 public:
  // The clock must outlive it. The command must not be empty.
  PowerCycler(const rpc::Clock& clock, PowerCycleOptions options);
  // Ends the command that runs.
  ~PowerCycler() { stop_ = true; }
  // Returns at once; does nothing if the device's last time is too recent. Thread-safe.
  void request(const std::string& device_id, const std::string& reason);

 private:
  absl::Duration run_next();
  void run(const std::string& device_id);

  const PowerCycleOptions options_;
  std::mutex mutex_;
  PowerCycleLimit limit_;
  std::deque<std::string> queue_;
  std::atomic<bool> stop_ = false;
  rpc::PeriodicTask working_;
};

}  // namespace tf::tracker
