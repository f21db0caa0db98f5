#include "rpc/daemon_environment.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

namespace tf::rpc {

void log_to_stderr(const std::string& program, const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_color_mt(program));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %n %l: %v");
  spdlog::set_level(spdlog::level::from_str(level));
}

std::string default_state_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state) return std::string(state) + "/tunefarm";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : "/var/lib") + "/.local/state/tunefarm";
}

}  // namespace tf::rpc
