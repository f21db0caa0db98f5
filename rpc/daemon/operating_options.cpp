#include "rpc/daemon/operating_options.h"

#include <CLI/CLI.hpp>

namespace tf::rpc {

void add_operating_options(CLI::App& app, const OperatingOptions& options) {
  app.add_option("--log-level", *options.log_level, "Least severe messages to log")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->default_str("info");
  app.add_option("--log-format", *options.log_format,
                 "Log format; json writes one object per line, for log collectors")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
  app.add_option("--metrics", *options.metrics,
                 "HOST:PORT on loopback for Prometheus metrics at /metrics; port 0 picks a free one [off]");
  app.add_flag_callback("--reflection", options.set_reflection,
                        "Serve gRPC reflection, for tools that list services [off]");
}

}  // namespace tf::rpc
