#pragma once
// Owns: the options that the command lines of all daemons share: how they log, where Prometheus reads them.
// Does not know: the rest of their command lines.

#include <string>

namespace CLI {
class App;
}

namespace tf::rpc {

// Where each value goes. An unset one means info, text, and no page.
struct OperatingOptions {
  std::string* log_level;
  std::string* log_format;
  std::string* metrics;
};

// Adds --log-level, --log-format and --metrics. The strings must outlive the parsing.
void add_operating_options(CLI::App& app, const OperatingOptions& options);

}  // namespace tf::rpc
