#pragma once
// Owns: what daemons take from their surroundings: where they log (standard error, so that standard output
// carries data only) and where they keep state.

#include <string>

namespace tf::rpc {

// Once, in main. `level` is one of trace, debug, info, warning, error.
void log_to_stderr(const std::string& program, const std::string& level = "info");

// ~/.local/state/tunefarm (or under $XDG_STATE_HOME), where daemons keep their state unless told otherwise.
// Read in main only.
std::string default_state_folder();

}  // namespace tf::rpc
