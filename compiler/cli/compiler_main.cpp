// The `compiler` program: parses the command line and runs one command.
#include <CLI/CLI.hpp>
#include <optional>

#include "base/cli/command_line.h"
#include "base/grpc_environment.h"
#include "compiler/cli/commands.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/schedule/schedule.h"
#include "database/sqlite/migrations.h"

int main(int argc, char** argv) {
  tf::set_grpc_environment();
  CLI::App app(
      "Compiles neural networks into shared libraries, using tuned schedules from a database if available.",
      "compiler");
  app.require_subcommand(1);
  app.footer(
      "Example: compiler zoo mlp -o mlp.onnx && compiler build mlp.onnx -o mlp\n"
      "Exit codes: 0 ok, 1 failed, 2 usage, 4 a kernel without a record under --strict, 130 interrupted.");
  tf::compiler_cli::Invocation invocation;
  tf::compiler_cli::add_zoo_command(app, invocation);
  tf::compiler_cli::add_tasks_command(app, invocation);
  tf::compiler_cli::add_build_command(app, invocation);
  tf::compiler_cli::add_run_command(app, invocation);
  tf::compiler_cli::add_bench_command(app, invocation);
  tf::compiler_cli::add_check_command(app, invocation);
  tf::compiler_cli::add_show_command(app, invocation);
  tf::compiler_cli::add_kernel_command(app, invocation);
  const std::optional<int> done =
      tf::parse_command_line(app, argc, argv,
                             {{"schedule semantics", tf::schedule::kSemanticsVersion},
                              {"database schema", tf::database::current_schema_version()},
                              {"kernel ABI", TF_ABI_VERSION}});
  if (done) return *done;
  return tf::finish_command(app, invocation.run);
}
