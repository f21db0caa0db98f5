#pragma once
// Owns: the list of the tuner's commands, one function each. Does not know: what they do.

#include "base/cli/command_line.h"

namespace CLI {
class App;
}

namespace tf::tuner_cli {

// What the command line asks for: set by the chosen command while it is parsed, run after.
struct Invocation {
  Run run;
};

void add_tune_command(CLI::App& app, Invocation& invocation);
void add_serve_command(CLI::App& app, Invocation& invocation);
void add_doctor_command(CLI::App& app, Invocation& invocation);
void add_records_commands(CLI::App& app, Invocation& invocation);  // best, export, import
void add_set_commands(CLI::App& app, Invocation& invocation);      // push, pull
void add_backup_command(CLI::App& app, Invocation& invocation);
void add_report_command(CLI::App& app, Invocation& invocation);
void add_submit_command(CLI::App& app, Invocation& invocation);
void add_join_command(CLI::App& app, Invocation& invocation);
void add_token_command(CLI::App& app, Invocation& invocation);
void add_job_commands(CLI::App& app, Invocation& invocation);  // jobs, watch, cancel, pause, resume

}  // namespace tf::tuner_cli
