// The `tuner` program: parses the command line and runs one command.
#include <CLI/CLI.hpp>
#include <optional>

#include "base/cli/command_line.h"
#include "base/grpc_environment.h"
#include "compiler/schedule/schedule.h"
#include "database/sqlite/migrations.h"
#include "rpc/connection/protocol.h"
#include "tuner/cli/commands.h"

int main(int argc, char** argv) {
  tf::set_grpc_environment();
  CLI::App app("Finds the fastest schedules of a network's kernels by measuring candidates.", "tuner");
  app.require_subcommand(1);
  app.footer(
      "Example: tuner tune mlp.onnx --target host --db tune.db --minutes 5\n"
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 no matching device, 130 Ctrl-C (the first finishes running "
      "trials, the second stops at once).");
  tf::tuner_cli::Invocation invocation;
  tf::tuner_cli::add_tune_command(app, invocation);
  tf::tuner_cli::add_serve_command(app, invocation);
  tf::tuner_cli::add_submit_command(app, invocation);
  tf::tuner_cli::add_job_commands(app, invocation);
  tf::tuner_cli::add_records_commands(app, invocation);
  tf::tuner_cli::add_set_commands(app, invocation);
  tf::tuner_cli::add_report_command(app, invocation);
  tf::tuner_cli::add_backup_command(app, invocation);
  tf::tuner_cli::add_doctor_command(app, invocation);
  tf::tuner_cli::add_join_command(app, invocation);
  tf::tuner_cli::add_token_command(app, invocation);
  const std::optional<int> done =
      tf::parse_command_line(app, argc, argv,
                             {{"farm protocol", tf::rpc::kProtocolVersion},
                              {"schedule semantics", tf::schedule::kSemanticsVersion},
                              {"database schema", tf::database::current_schema_version()}});
  if (done) return *done;
  return tf::finish_command(app, invocation.run);
}
