#pragma once
// Owns: the `join` command, which is the same in every program that can be a member of a farm. Does not know:
// what else the program does.

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace tf::rpc {

// Adds `join` to the program. Parsing it calls `chosen` with what is to be run,
// which prints who the member is now. `program`, as in "device_agent", stands in the
// example and says for which roles a token may be (identity.h).
void add_join_command(CLI::App& app, const std::string& program,
                      const std::function<void(std::function<absl::Status()> join)>& chosen);

}  // namespace tf::rpc
