// tuner best | export | import: what was learned, and carrying it elsewhere.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/cli/command_line.h"
#include "base/cli/counted.h"
#include "base/cli/duration_text.h"
#include "base/cli/exit_code.h"
#include "base/cli/text_table.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "compiler/schedule/numerics.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tensor/layout_name.h"
#include "database/follow_verdict.h"
#include "database/jsonl.h"
#include "database/sqlite/record_sets.h"
#include "database/sqlite/sqlite_store.h"
#include "database/stores/open_store.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/progress_text.h"
#include "tuner/service/jobs/job_spec.h"
#include "tuner/session/calibrate/calibration_kernels.h"

namespace tf::tuner_cli {
namespace {

using nlohmann::json;

struct BestArguments {
  std::string tls, key, target, device, allow;
  std::vector<std::string> databases;
  uint32_t threads = 0;
  size_t top = 1;
  bool json = false, schedule = false, wide = false;
};

struct TransferArguments {
  std::string db, tls, file = "-";
  bool only_ok = false;
  int64_t job = 0;
  bool json = false;
};

// One answer of `best`.
struct Answer {
  database::Workload workload;
  database::Measurement measurement;
  std::vector<database::SetEntry> sets;  // that have it, of the databases
  std::optional<database::Why> why;      // a build takes it; nothing: of the fastest, whatever a build takes
  double gflops() const { return workload.flops / *measurement.median_ns(); }
};

json to_json(const Answer& answer) {
  const database::Measurement& m = answer.measurement;
  const database::Interval bounds = m.interval_ns().value_or(database::Interval());
  json out = {{"key", m.problem.workload.hex()},
              {"op", answer.workload.op},
              {"binding", m.problem.binding},
              {"in_layouts", m.problem.in_layouts},
              {"out_layouts", m.problem.out_layouts},
              {"target", m.problem.target},
              {"threads", m.problem.threads},
              {"reuse_distance_bytes", m.problem.reuse_distance_bytes},
              {"device_class", m.device.device_class},
              {"device_model", m.device.model},
              {"median_ns", *m.median_ns()},
              {"interval_ns", {bounds.low_ns, bounds.high_ns}},
              {"untuned", m.untuned},
              {"gflops", answer.gflops()},
              {"numerics", m.numerics},
              {"max_error", m.max_error},
              {"schedule", m.schedule},
              {"record", record_digest(m).hex()},
              {"measured_unix_ns", m.finished_unix_ns}};
  for (const database::SetEntry& set : answer.sets)
    out["sets"].push_back({{"set", set.name},
                           {"version", set.version},
                           {"signer", set.signer.hex()},
                           {"brought", set.brought}});
  if (answer.why) out["why"] = why_name(*answer.why);
  return out;
}

// What its network was taken to touch between two runs of the kernel.
std::string reuse_text(const tensor::KernelKey& problem) {
  if (problem.reuse_distance_bytes == 0) return "alone";
  return absl::StrFormat("%.4gM", static_cast<double>(problem.reuse_distance_bytes) / (1 << 20));
}

// How far the 95% bounds lie from the median.
std::string bounds_of(const database::Measurement& m) {
  const std::optional<database::Interval> bounds = m.interval_ns();
  const double median_ns = m.median_ns().value_or(0);
  if (!bounds || median_ns <= 0) return "";
  return bounds_text(bounds->low_ns / median_ns, bounds->high_ns / median_ns);
}

// "NCHW8c,-"; empty where all are row-major.
std::string layouts_text(const std::vector<std::string>& layouts) {
  if (std::ranges::all_of(layouts, &std::string::empty)) return "";
  return absl::StrJoin(layouts, ",", [](std::string* out, const std::string& layout) {
    out->append(tensor::layout_name(layout));
  });
}

// "N=1 NCHW8c,- -> NCHW8c": the values of dimensions, then the layouts of inputs and outputs.
std::string shape_of(const tensor::KernelKey& problem) {
  const std::string in = layouts_text(problem.in_layouts), out = layouts_text(problem.out_layouts);
  std::vector<std::string> parts;
  if (!problem.binding.empty()) parts.push_back(problem.binding);
  if (!in.empty() || !out.empty())
    parts.push_back(absl::StrCat(in.empty() ? "-" : in, " -> ", out.empty() ? "-" : out));
  return absl::StrJoin(parts, " ");
}

std::vector<std::string> row_of(const Answer& answer) {
  const database::Measurement& m = answer.measurement;
  return {m.problem.workload.hex().substr(0, 12),
          answer.workload.op,
          duration_text(*m.median_ns()),
          bounds_of(m),
          m.untuned ? "untuned" : "tuned",
          answer.why ? std::string(why_name(*answer.why)) : "",
          absl::StrCat(m.problem.threads),
          shape_of(m.problem),
          absl::StrFormat("%.1f", answer.gflops()),
          reuse_text(m.problem),
          m.device.device_class,
          m.problem.target};
}

void print_table(const std::vector<Answer>& answers, const BestArguments& arguments) {
  std::vector<std::vector<std::string>> rows;
  for (const Answer& answer : answers) rows.push_back(row_of(answer));
  const std::string table = text_table({{"key"},
                                        {"op", Cells::kShortened},
                                        {"time", Cells::kWhole, Side::kRight},
                                        {"95% bounds", Cells::kLeftOut},
                                        {"schedule"},
                                        {"why"},
                                        {"threads", Cells::kLeftOut, Side::kRight},
                                        {"layouts", Cells::kLeftOut},
                                        {"GFLOP/s", Cells::kLeftOut, Side::kRight},
                                        {"reuse", Cells::kLeftOut, Side::kRight},
                                        {"device", Cells::kLeftOut},
                                        {"target", Cells::kLeftOut}},
                                       std::move(rows), arguments.wide ? 0 : terminal_width());
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  std::printf("%s\n", lines.front().c_str());
  for (size_t i = 0; i < answers.size(); ++i) {
    std::printf("%s\n", lines[i + 1].c_str());
    if (arguments.schedule) std::printf("%s\n", printable_lines(answers[i].measurement.schedule).c_str());
  }
}

// Whether the schedule can be one; if not, that is said. A build would refuse it, too.
bool is_readable(const database::Measurement& m) {
  const absl::Status status = schedule::parse_schedule(m.schedule).status();
  if (status.ok()) return true;
  std::fprintf(stderr, "tuner best: warning: record %s is omitted: its schedule is not valid: %s\n",
               record_digest(m).hex().substr(0, 12).c_str(),
               printable(std::string(status.message())).c_str());
  return false;
}

// One: what a build takes, and why. More: the fastest.
absl::StatusOr<std::vector<database::Measurement>> answers_of(database::Records& records,
                                                              const database::BestQuery& query, size_t count,
                                                              std::optional<database::Why>& why) {
  why.reset();
  if (count != 1) return records.top(query, count);
  std::vector<database::Measurement> found;
  TF_ASSIGN_OR_RETURN(std::optional<database::Choice> choice, records.choose(query));
  if (!choice) return found;
  why = choice->why;
  found.push_back(std::move(choice->record));
  return found;
}

bool wanted(const BestArguments& arguments, const std::string& target, const tensor::KernelKey& problem) {
  return (arguments.key.empty() || problem.workload.hex().starts_with(arguments.key)) &&
         (target.empty() || problem.target == target) &&
         (arguments.threads == 0 || problem.threads == arguments.threads);
}

absl::StatusOr<std::vector<Answer>> find_best(const BestArguments& arguments) {
  std::string target;
  if (!arguments.target.empty()) {
    TF_ASSIGN_OR_RETURN(target::Target parsed, target::parse_target(arguments.target));
    target = parsed.text();
  }
  TF_ASSIGN_OR_RETURN(std::vector<std::string> allowed, schedule::parse_numerics(arguments.allow));
  TF_ASSIGN_OR_RETURN(auto records,
                      database::open_all_records(arguments.databases, {.tls_folder = arguments.tls}));
  if (!arguments.key.empty()) TF_RETURN_IF_ERROR(records->find_workload(arguments.key).status());
  TF_ASSIGN_OR_RETURN(std::vector<tensor::KernelKey> problems, records->problems());
  TF_ASSIGN_OR_RETURN(const std::vector<database::NetworkVerdict> verdicts, records->verdicts());
  std::vector<Answer> answers;
  for (const tensor::KernelKey& problem : problems) {
    if (!wanted(arguments, target, problem) || session::is_calibration(problem.workload)) continue;
    database::BestQuery query{
        .problem = problem, .allowed_numerics = allowed, .semantics_version = schedule::kSemanticsVersion};
    if (!arguments.device.empty()) query.device_class = arguments.device;
    if (arguments.top == 1) follow_verdict(verdicts, query);
    std::optional<database::Why> why;
    TF_ASSIGN_OR_RETURN(std::vector<database::Measurement> top,
                        answers_of(*records, query, arguments.top, why));
    if (top.empty() || !(top[0].problem == problem)) continue;
    TF_ASSIGN_OR_RETURN(database::Workload workload, records->find_workload(problem.workload.hex()));
    for (database::Measurement& measurement : top)
      if (is_readable(measurement)) answers.push_back({workload, std::move(measurement), {}, why});
  }
  return answers;
}

// Which pulled sets the records are of; other databases than files know of none.
absl::Status name_sets(const std::vector<std::string>& databases, std::vector<Answer>& answers) {
  std::vector<Digest> records;
  for (const Answer& answer : answers) records.push_back(record_digest(answer.measurement));
  for (const std::string& database : databases) {
    const std::optional<std::string> file = database::sqlite_file(database);
    if (!file) continue;
    TF_ASSIGN_OR_RETURN(const auto sets, database::sets_of_records(*file, records));
    for (size_t i = 0; i < answers.size(); ++i)
      if (const auto found = sets.find(records[i]); found != sets.end())
        answers[i].sets.insert(answers[i].sets.end(), found->second.begin(), found->second.end());
  }
  return absl::OkStatus();
}

absl::StatusOr<int> run_best(const BestArguments& arguments) {
  TF_ASSIGN_OR_RETURN(std::vector<Answer> answers, find_best(arguments));
  if (answers.empty())
    return absl::NotFoundError(absl::StrCat(absl::StrJoin(arguments.databases, ", "),
                                            arguments.databases.size() == 1 ? " has" : " have",
                                            " no measured schedule that matches; tune it first, or relax "
                                            "--target, --device, --threads or --allow"));
  if (arguments.json) {
    TF_RETURN_IF_ERROR(name_sets(arguments.databases, answers));
    json all = json::array();
    for (const Answer& answer : answers) all.push_back(to_json(answer));
    std::printf("%s\n", json_text(all, 1).c_str());
  } else {
    print_table(answers, arguments);
  }
  return kExitOk;
}

void report_counts(const char* verb, const database::TransferCounts& counts, bool as_json) {
  if (as_json) {
    std::printf("%s\n", json_text(json{{"workloads", counts.workloads},
                                       {"measurements", counts.measurements},
                                       {"duplicates", counts.duplicates},
                                       {"verdicts", counts.verdicts},
                                       {"left_out", counts.left_out}})
                            .c_str());
    return;
  }
  std::string line = absl::StrCat(verb, " ", counted(counts.workloads, "workload"), ", ",
                                  counted(counts.measurements, "measurement"));
  if (counts.duplicates > 0)
    absl::StrAppend(&line, " (", counts.duplicates, counts.duplicates == 1 ? " was" : " were",
                    " already present)");
  if (counts.verdicts > 0) absl::StrAppend(&line, ", ", counted(counts.verdicts, "verdict"), " on networks");
  if (counts.left_out > 0)
    absl::StrAppend(&line, "; left out ", counted(counts.left_out, "time"),
                    " inside networks, which only earlier versions use");
  std::fprintf(stderr, "%s\n", line.c_str());
}

// NOT_FOUND if it has no measurement of the job, whatever came of it since. The first one ends the search.
absl::Status check_job(database::Records& records, int64_t job, const std::string& db) {
  bool is_there = false;
  const absl::Status scanned =
      records.scan({.job_id = job}, [&is_there](const database::Measurement&) -> absl::Status {
        is_there = true;
        return absl::CancelledError("found");
      });
  if (is_there) return absl::OkStatus();
  TF_RETURN_IF_ERROR(scanned);
  return absl::NotFoundError(absl::StrCat(db, " has no measurement of job ", job,
                                          "; give another --job, or omit it to export all jobs"));
}

absl::StatusOr<int> export_records(const TransferArguments& arguments) {
  TF_RETURN_IF_ERROR(check_is_no_input(arguments.file, "-o", database::local_files(arguments.db)));
  TF_ASSIGN_OR_RETURN(auto records, database::open_records(arguments.db, {.tls_folder = arguments.tls}));
  using enum database::Filter::Which;
  database::Filter filter;
  if (arguments.job != 0) {
    TF_RETURN_IF_ERROR(check_job(*records, arguments.job, arguments.db));
    filter.job_id = arguments.job;
    filter.which = kStanding;  // another job may have seen the failure
  }
  if (arguments.only_ok) filter.which = kOk;
  if (arguments.file == "-") {
    TF_RETURN_IF_ERROR(database::export_jsonl(*records, filter, std::cout).status());
    return kExitOk;
  }
  TF_ASSIGN_OR_RETURN(database::TransferCounts counts,
                      database::export_jsonl_file(*records, filter, arguments.file));
  report_counts("wrote", counts, arguments.json);
  return kExitOk;
}

absl::StatusOr<int> import_records(const TransferArguments& arguments) {
  const std::optional<std::string> file = database::sqlite_file(arguments.db);
  if (!file) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot import into ", arguments.db,
                     ": give a database FILE; to import into a tuner's file, stop the tuner first"));
  }
  TF_RETURN_IF_ERROR(check_is_no_input(*file, "--db", {arguments.file}));
  TF_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.file));
  // A file that is none makes no database.
  if (std::error_code error; !std::filesystem::exists(*file, error))
    TF_RETURN_IF_ERROR(database::check_jsonl_text(arguments.file, text));
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<database::Store> store,
      database::open_store(
          arguments.db,
          {.locked_remedy =
               "wait until it ends; or stop it, import and restart it (a tuner's jobs then continue)"}));
  TF_ASSIGN_OR_RETURN(database::TransferCounts counts,
                      database::import_jsonl_text(arguments.file, text, *store));
  report_counts("imported", counts, arguments.json);
  return kExitOk;
}

constexpr char kTlsHelp[] = "Folder of your certificate (`tuner join`), for a secured tuner";
std::string db_help() {
  return absl::StrCat("Database: ", database::store_forms());
}

void add_best(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<BestArguments>();
  CLI::App* command =
      app.add_subcommand("best", "Show the best known schedule of each kernel, which `compiler build` uses");
  command->add_option("--db", arguments->databases, db_help() + "; repeatable: the best of all")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--tls", arguments->tls, kTlsHelp);
  command->add_option("key", arguments->key, "Only this workload: its key, or at least its first 6 digits");
  command->add_option("--target", arguments->target, "Only this target, such as host or x86_64:cpu=znver4");
  command->add_option("--device", arguments->device, "Only measurements of this device class");
  command->add_option("--threads", arguments->threads, "Only this number of threads");
  command->add_option("--allow", arguments->allow,
                      absl::StrCat("Reduced-precision methods to allow: ", schedule::kAllowHelp));
  command
      ->add_option("--top", arguments->top,
                   "Show the N fastest schedules of each kernel, even if a build would not use them")
      ->check(at_least(1))
      ->capture_default_str();
  command->add_flag("--schedule", arguments->schedule, "Also print the schedules");
  command->add_flag("--wide", arguments->wide, "Print all columns, regardless of the terminal's width");
  command->add_flag("--json", arguments->json, "Print JSON: every field, schedules included");
  command->footer(
      "Example: tuner best --db tune.db --target host --json\n"
      "Columns: layouts: of inputs -> outputs, unless row-major. reuse: bytes that the network touches "
      "between two runs of the kernel (alone: none). why: reason for the choice, as explained below the last "
      "table of `tuner tune`.");
  command->callback(
      [arguments, &invocation] { invocation.run = [arguments] { return run_best(*arguments); }; });
}

void add_export(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<TransferArguments>();
  CLI::App* command = app.add_subcommand("export", "Write records as JSON lines");
  command->add_option("--db", arguments->db, db_help())->required();
  command->add_option("--tls", arguments->tls, kTlsHelp);
  command->add_option("-o,--output", arguments->file, "File to write; - is stdout")->capture_default_str();
  command->add_flag("--only-ok", arguments->only_ok,
                    "Omit measurements that failed, failed later, or were stopped early");
  command->add_option("--job", arguments->job,
                      "Only measurements of this job, without times of schedules that later failed");
  command->add_flag("--json", arguments->json, "Print the counts as JSON");
  command->footer("Example: tuner export --db tune.db -o tune.jsonl");
  command->callback(
      [arguments, &invocation] { invocation.run = [arguments] { return export_records(*arguments); }; });
}

void add_import(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<TransferArguments>();
  CLI::App* command = app.add_subcommand(
      "import", "Import records from a JSON-lines file into a database; repeating it changes nothing");
  command->add_option("file", arguments->file, "File that `tuner export` wrote")->required();
  command->add_option("--db", arguments->db, "Database FILE, created if it does not exist")->required();
  command->add_flag("--json", arguments->json, "Print the counts as JSON");
  command->footer("Example: tuner import tune.jsonl --db other.db");
  command->callback(
      [arguments, &invocation] { invocation.run = [arguments] { return import_records(*arguments); }; });
}

}  // namespace

void add_records_commands(CLI::App& app, Invocation& invocation) {
  add_best(app, invocation);
  add_export(app, invocation);
  add_import(app, invocation);
}

}  // namespace tf::tuner_cli
