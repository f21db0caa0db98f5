#include "rpc/daemon/daemon_environment.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/testing/event_log.h"
#include "base/testing/failpoint.h"

namespace tf::rpc {

std::string default_state_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state) return std::string(state) + "/tunefarm";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : "/var/lib") + "/.local/state/tunefarm";
}

uint64_t allow_descriptors(uint64_t wanted) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t soft = std::exchange(limit.rlim_cur, limit.rlim_max);
  const rlim_t allowed = ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : soft;
  if (allowed < wanted) {
    spdlog::warn(absl::StrCat("the limit of open files is ", allowed,
                              ", and each connection needs one; raise the hard limit to ", wanted,
                              " for a large farm (LimitNOFILE of its unit, ulimit -Hn)"));
  }
  return allowed;
}

absl::Status obey_test_environment(const std::string& program) {
  if (const char* path = std::getenv("TF_EVENT_LOG"); path && *path)
    TF_RETURN_IF_ERROR(open_event_log(path, program));
  if (const char* spec = std::getenv("TF_FAILPOINTS"); spec && *spec)
    TF_RETURN_IF_ERROR(arm_failpoints(spec));
  return absl::OkStatus();
}

}  // namespace tf::rpc
