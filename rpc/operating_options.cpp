#include "rpc/operating_options.h"

#include <CLI/CLI.hpp>

namespace tf::rpc {

void add_operating_options(CLI::App& app, const OperatingOptions& options) {
  app.add_option("--log-level", *options.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->default_str("info");
  app.add_option("--log-format", *options.log_format, "text, or json: an object a line, for log collectors")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
  app.add_option("--metrics", *options.metrics,
                 "HOST:PORT on loopback where Prometheus reads /metrics; port 0 takes a free one [nowhere]");
}

}  // namespace tf::rpc
