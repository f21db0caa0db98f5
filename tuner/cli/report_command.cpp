// tuner report: the dashboard's pages of a job and its kernels as one file that needs no server.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/cli/counted.h"
#include "base/cli/exit_code.h"
#include "base/files/output_file.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "base/version.h"
#include "compiler/driver/build_pool.h"
#include "compiler/runtime/cpu_limit.h"
#include "database/stores/open_store.h"
#include "tuner/cli/commands.h"
#include "tuner/report/report.h"
#include "tuner/report/report_file.h"
#include "tuner/web/assets.h"

namespace tf::tuner_cli {
namespace {

struct ReportArguments {
  std::string db, file;
  int64_t job = 0;
  size_t kernels = report::FileOptions().kernels, programs = report::FileOptions().programs;
  bool json = false;
};

// Which job it is about: the one that is asked for, or else the latest; 0: the database has none.
absl::StatusOr<int64_t> job_of(const ReportArguments& arguments, database::Records& records) {
  if (arguments.job != 0) return arguments.job;
  TF_ASSIGN_OR_RETURN(const std::vector<database::Job> jobs, records.jobs());
  return jobs.empty() ? 0 : jobs.back().id;
}

absl::Status without_page() {
  return with_remedy(
      absl::StatusCode::kFailedPrecondition, "this tuner was built without the dashboard's page",
      "run deploy/build_page.sh (it needs npm) and build again, or give --json", Between::kSemicolon);
}

// Records from there have no rows, by which reports name candidates.
absl::Status without_file(const std::string& db) {
  return with_remedy(
      absl::StatusCode::kInvalidArgument,
      absl::StrCat("a report is of a database FILE, not of ", printable(db)),
      "look at its dashboard (`tuner serve --http`), or `tuner export` its records and report these",
      Between::kSemicolon);
}

// "programs: 3 of 16, 1.2 a second, 11 s left", on one line of a terminal or on lines of their own, one a second.
class ProgramProgress {
 public:
  void show(size_t made, size_t all) {
    const Clock::time_point now = Clock::now();
    if (all == 0 || (!is_terminal_ && made < all && now - shown_ < std::chrono::seconds(1))) return;
    shown_ = now;
    const double s = std::chrono::duration<double>(now - began_).count();
    std::string line = absl::StrCat("programs: ", made, " of ", all);
    if (made > 0 && s > 0) {
      const double rate = static_cast<double>(made) / s;
      absl::StrAppendFormat(&line, ", %.1f a second", rate);
      if (made < all) absl::StrAppendFormat(&line, ", %.0f s left", static_cast<double>(all - made) / rate);
    }
    std::fprintf(stderr, "%s%s%s", is_terminal_ ? "\r\x1b[K" : "", line.c_str(),
                 is_terminal_ && made < all ? "" : "\n");
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point shown_;
  const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
};

absl::StatusOr<int> write_report(const ReportArguments& arguments) {
  if (arguments.file.empty() && !arguments.json)
    return absl::InvalidArgumentError("give -o FILE for the report, or --json");
  const web::Asset* page = arguments.json ? nullptr : web::find_asset("/report.html");
  if (!page && !arguments.json) return without_page();
  const std::vector<std::string> files = database::local_files(arguments.db);
  if (files.empty()) return without_file(arguments.db);
  if (!arguments.file.empty()) TF_RETURN_IF_ERROR(check_is_no_input(arguments.file, "-o", files));
  TF_ASSIGN_OR_RETURN(const auto records, database::open_records(arguments.db));
  TF_ASSIGN_OR_RETURN(const int64_t job, job_of(arguments, *records));
  const int at_once = tf_usable_cpus();
  TF_ASSIGN_OR_RETURN(const auto builder, driver::BuildPool::create({.workers = at_once}));
  report::Report report(*records, builder.get());
  ProgramProgress progress;
  TF_ASSIGN_OR_RETURN(
      const report::FileContents contents,
      report::file_contents(report, *records,
                            {.job_id = job,
                             .kernels = arguments.kernels,
                             .programs = arguments.programs,
                             .at_once = at_once,
                             .on_program = [&](size_t made, size_t all) { progress.show(made, all); }}));
  for (const std::string& line : contents.left_out)
    std::fprintf(stderr, "tuner report: warning: a program is left out: %s\n", printable(line).c_str());
  std::string out = report::to_json(contents, version(), absl::GetCurrentTimeNanos() / 1'000'000'000);
  if (page) {
    TF_ASSIGN_OR_RETURN(out, report::page_with(page->content, out));
  }
  if (arguments.file.empty()) {
    std::printf("%s\n", out.c_str());
    return kExitOk;
  }
  TF_RETURN_IF_ERROR(write_output(arguments.file, out));
  std::fprintf(stderr, "wrote %s: %s, %s, %.1f MB\n", arguments.file.c_str(), contents.title.c_str(),
               counted(static_cast<int64_t>(contents.answers.size()), "answer").c_str(),
               static_cast<double>(out.size()) * 1e-6);
  return kExitOk;
}

}  // namespace

void add_report_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand(
      "report", "Write a job's curves, kernels, programs and network as one page that needs no server");
  command->add_option("--db", arguments->db, "Database: FILE or FILE.jsonl")->required();
  command
      ->add_option("--job", arguments->job,
                   "The job [the latest; of a database without jobs, all of its kernels]")
      ->check(CLI::PositiveNumber);
  command->add_option("-o,--output", arguments->file, "HTML file to write");
  command
      ->add_option("--kernels", arguments->kernels,
                   "Number of kernels with a page of their own: those that take most of the network's time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--programs", arguments->programs,
                   "Number of these with their best and their default program, which are compiled")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Write the answers that the page shows, as JSON");
  command->footer(
      "Example: tuner report --db tune.db -o report.html\n"
      "The file holds up to 1000 kernels in its list, 1000 candidates of each kernel with a page, and 256 "
      "KiB "
      "of each text of a program.");
  command->callback(
      [arguments, &invocation] { invocation.run = [arguments] { return write_report(*arguments); }; });
}

}  // namespace tf::tuner_cli
