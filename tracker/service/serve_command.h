#pragma once
// Owns: `tracker serve`: its options, what they are unless given, and a tracker from its start to its end.
// Does not know: the tracker's other commands.

#include <string>

#include "absl/status/status.h"
#include "proto/config/v1/farm.pb.h"

namespace CLI {
class App;
}

namespace tf::tracker {

tunefarm::config::v1::Tracker default_serve_config();

struct ServeArguments {
  tunefarm::config::v1::Tracker config = default_serve_config();
  std::string config_path;  // of a file, on top of which flags belong
};

// Adds `serve` to the program. Parsing it fills the arguments, which must live until then.
void add_serve_command(CLI::App& app, ServeArguments& arguments);

// Until SIGINT or SIGTERM. INVALID_ARGUMENT: a value that no tracker can have; Daemon::start's errors.
absl::Status serve(const tunefarm::config::v1::Tracker& config);

}  // namespace tf::tracker
