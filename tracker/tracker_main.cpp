#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/cli/command_line.h"
#include "base/cli/exit_code.h"
#include "base/grpc_environment.h"
#include "rpc/connection/protocol.h"
#include "rpc/daemon/text_config.h"
#include "tracker/ca/ca_commands.h"
#include "tracker/operators/operator_commands.h"
#include "tracker/service/serve_command.h"

namespace {

// What the command line asks for.
struct Invocation {
  tf::tracker::ServeArguments serve;
  std::function<absl::Status()> run;  // the command chosen; empty: `serve`
  std::string command;                // as in "tracker drain"
};

// Parses the command line onto the invocation; the exit code if there is nothing to run.
std::optional<int> parse(int argc, char** argv, Invocation& invocation) {
  CLI::App app("The farm's tracker: lists devices, leases them to tuners, and relays trials and results.",
               "tracker");
  app.require_subcommand(1);
  app.footer(
      "Example: tracker serve --listen 127.0.0.1:7190 & device_agent --tracker 127.0.0.1:7190 --key box\n"
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 no such device, lease or reservation.");
  tf::tracker::add_serve_command(app, invocation.serve);
  tf::tracker::add_operator_commands(app, invocation.run);
  tf::tracker::add_ca_commands(app, invocation.run);
  const std::optional<int> done =
      tf::parse_command_line(app, argc, argv, {{"farm protocol", tf::rpc::kProtocolVersion}});
  invocation.command = tf::command_name(app);
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  tf::set_grpc_environment();
  Invocation invocation;
  if (const std::optional<int> done = parse(argc, argv, invocation)) return *done;
  absl::Status status;
  if (!invocation.serve.config_path.empty()) {
    // Again on top of the file, so that flags override it.
    Invocation merged;
    status = tf::rpc::merge_text_config(invocation.serve.config_path, merged.serve.config);
    parse(argc, argv, merged);
    invocation = std::move(merged);
  }
  if (status.ok()) status = invocation.run ? invocation.run() : tf::tracker::serve(invocation.serve.config);
  if (status.ok()) return tf::finish_output(invocation.command.c_str(), tf::kExitOk);
  const tf::ExitCode code = tf::report_error(invocation.command.c_str(), status);
  return absl::IsNotFound(status) && invocation.run ? tf::kExitNoDevice : code;
}
