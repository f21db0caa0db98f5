#pragma once
// Owns: the list of the compiler's commands, one file each. Does not know: what they do.

#include "base/cli/command_line.h"

namespace CLI {
class App;
}

namespace tf::compiler_cli {

// What the command line asks for: set by the chosen command while it is parsed, run after.
struct Invocation {
  Run run;
};

void add_zoo_command(CLI::App& app, Invocation& invocation);
void add_tasks_command(CLI::App& app, Invocation& invocation);
void add_build_command(CLI::App& app, Invocation& invocation);
void add_run_command(CLI::App& app, Invocation& invocation);
void add_bench_command(CLI::App& app, Invocation& invocation);
void add_check_command(CLI::App& app, Invocation& invocation);
void add_show_command(CLI::App& app, Invocation& invocation);
void add_kernel_command(CLI::App& app, Invocation& invocation);

}  // namespace tf::compiler_cli
