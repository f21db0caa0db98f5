// tuner backup: a copy of the database, and of the models that its jobs need, while a tuner goes on.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/cli/counted.h"
#include "base/cli/exit_code.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "database/stores/open_store.h"
#include "tuner/cli/commands.h"
#include "tuner/service/backup.h"

namespace tf::tuner_cli {
namespace {

struct BackupArguments {
  std::string db, to;
  bool json = false;
};

absl::StatusOr<int> back_up(const BackupArguments& arguments) {
  const std::optional<std::string> from = database::sqlite_file(arguments.db),
                                   to = database::sqlite_file(arguments.to);
  if (!from || !to) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot back up ", arguments.db, " to ", arguments.to,
                     ": both must be database files; for JSON lines or a remote tuner use `tuner export`"));
  }
  TF_ASSIGN_OR_RETURN(const service::BackupContents contents, service::back_up(*from, *to));
  if (arguments.json) {
    std::printf("%s\n",
                json_text(nlohmann::json{{"jobs", contents.jobs}, {"models", contents.models}}).c_str());
  } else {
    std::fprintf(stderr, "backed up %s to %s: all records, %s, %s of unfinished jobs\n", arguments.db.c_str(),
                 arguments.to.c_str(), counted(contents.jobs, "job").c_str(),
                 counted(contents.models, "model").c_str());
  }
  return kExitOk;
}

}  // namespace

void add_backup_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<BackupArguments>();
  CLI::App* command = app.add_subcommand(
      "backup", "Copy a database and the models of its unfinished jobs, even while a tuner uses it");
  command->add_option("--db", arguments->db, "The database FILE")->required();
  command->add_option("-o,--output", arguments->to, "The new FILE; models are copied to FILE.models")
      ->required();
  command->add_flag("--json", arguments->json, "Print what was copied as JSON");
  command->footer(
      "Example: tuner backup --db tune.db -o tune-monday.db\n"
      "To restore: stop the tuner; move tune.db, tune.db-wal, tune.db-shm and tune.db.models away; copy the "
      "backup and its .models to the old names; start the tuner.");
  command->callback(
      [arguments, &invocation] { invocation.run = [arguments] { return back_up(*arguments); }; });
}

}  // namespace tf::tuner_cli
