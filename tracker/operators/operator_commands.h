#pragma once
// Owns: the operators' commands (`tracker devices`, `drain`, `reserve`, …): their options, and what each
// prints. Does not know: what the tracker does of it (operator_client.h), the tracker's other commands.

#include <functional>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace tf::tracker {

// Adds them to the program. Parsing the chosen one sets `run`. The arguments live as long as `run` does.
void add_operator_commands(CLI::App& app, std::function<absl::Status()>& run);

}  // namespace tf::tracker
