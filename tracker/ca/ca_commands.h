#pragma once
// Owns: `tracker ca …`: its options, and what each command does. Does not know: the tracker's other commands.

#include <functional>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace tf::tracker {

// Adds `ca` and its commands to the program. Parsing the chosen one sets `run`. The arguments live as long as
// `run` does.
void add_ca_commands(CLI::App& app, std::function<absl::Status()>& run);

}  // namespace tf::tracker
