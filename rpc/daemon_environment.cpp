#include "rpc/daemon_environment.h"

#include <cstdlib>

#include "base/event_log.h"
#include "base/failpoint.h"
#include "base/status.h"

namespace tf::rpc {

std::string default_state_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state) return std::string(state) + "/tunefarm";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : "/var/lib") + "/.local/state/tunefarm";
}

absl::Status obey_test_environment(const std::string& program) {
  if (const char* path = std::getenv("TF_EVENT_LOG"); path && *path)
    TF_RETURN_IF_ERROR(open_event_log(path, program));
  if (const char* spec = std::getenv("TF_FAILPOINTS"); spec && *spec)
    TF_RETURN_IF_ERROR(arm_failpoints(spec));
  return absl::OkStatus();
}

}  // namespace tf::rpc
