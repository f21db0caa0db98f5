#pragma once
// Owns: the options that the command lines of all daemons share: how they log, where Prometheus reads
// them, whether they tell their services.
// Does not know: the rest of their command lines.

#include <functional>
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
  std::function<void()> set_reflection;  // is called if it is asked for
};

// Adds --log-level, --log-format, --metrics and --reflection. The strings must outlive the parsing.
void add_operating_options(CLI::App& app, const OperatingOptions& options);

}  // namespace tf::rpc
