// compiler build: a network and the best known schedules become model.so, model.h and tuning.lock.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/cli/counted.h"
#include "base/cli/duration_text.h"
#include "base/cli/exit_code.h"
#include "base/cli/text_table.h"
#include "base/files/output_file.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "compiler/cli/commands.h"
#include "compiler/cli/interrupt.h"
#include "compiler/cli/model_arguments.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/library/device_kernel.h"
#include "compiler/driver/model_name.h"
#include "compiler/records/other_records.h"
#include "compiler/records/plan.h"
#include "compiler/records/records_source.h"
#include "compiler/runtime/cpu_limit.h"
#include "database/stores/open_store.h"

namespace tf::compiler_cli {
namespace {

using records::best_but_for_numerics;
using records::Choices;
using records::device_classes;
using records::Lock;
using records::LockedSource;
using records::mixed_devices_warning;
using records::other_devices_hint;
using records::Plan;

struct BuildArguments {
  ModelArguments model;
  std::string tls, device, output, name, allow, host;
  std::vector<std::string> databases;
  schedule::Numerics allowed;
  int threads = 1, jobs = 0;
  enum class Records { kBest, kLocked } records = Records::kBest;
  enum class Missing { kUseDefault, kRefuse } missing = Missing::kUseDefault;
  bool json = false, wide = false;
  bool with_archive = false;
};

std::string lock_path(const BuildArguments& arguments) {
  return arguments.output + "/tuning.lock";
}

// Every class that measured a task of the network.
absl::StatusOr<std::set<std::string>> classes_of(database::Records& records, const graph::Program& program,
                                                 const target::Target& target, int threads) {
  std::set<std::string> classes;
  for (const graph::Task& task : program.tasks) {
    const tensor::KernelKey problem = tensor::key_for(task.kernel, target, threads);
    TF_ASSIGN_OR_RETURN(std::set<std::string> more, device_classes(records, problem));
    classes.merge(more);
  }
  return classes;
}

// One line, where records of several classes compete, or none is of what was asked for: the class, or the
// target and the threads.
absl::Status tell_of_other_records(database::Records& records, const Plan& plan,
                                   const std::optional<std::string>& device, const target::Target& target,
                                   int threads) {
  const bool any_used =
      std::ranges::any_of(plan.choices, [](const auto& choice) { return choice.has_value(); });
  if (!any_used) {
    TF_ASSIGN_OR_RETURN(const std::string others,
                        records::other_records_hint(records, plan.program, target, threads));
    if (!others.empty()) std::fprintf(stderr, "compiler build: %s\n", others.c_str());
    if (!others.empty()) return absl::OkStatus();
  }
  if (device && any_used) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const std::set<std::string> classes,
                      classes_of(records, plan.program, target, threads));
  const std::string line = device ? other_devices_hint(classes, *device) : mixed_devices_warning(classes);
  if (!line.empty()) std::fprintf(stderr, "compiler build: %s%s\n", device ? "" : "warning: ", line.c_str());
  return absl::OkStatus();
}

// One line on what the network comparison said, if there was one.
void tell_of_verdict(const Plan& plan) {
  if (!plan.verdict) return;
  const bool is_tuned = plan.verdict->takes == database::NetworkVerdict::Takes::kFastest;
  std::fprintf(stderr, "compiler build: takes %s, because on device class %s %s\n",
               is_tuned ? "the fastest records" : "untuned schedules",
               printable(plan.verdict->device_class).c_str(), printable(plan.verdict->why).c_str());
}

// One line, if --allow would let faster records be used.
absl::Status hint_at_numerics(database::Records& records, const graph::Program& program,
                              const std::optional<std::string>& device, const BuildArguments& arguments,
                              const target::Target& target) {
  int count = 0;
  std::set<std::string> names;
  for (const graph::Task& task : program.tasks) {
    const tensor::KernelKey problem = tensor::key_for(task.kernel, target, arguments.threads);
    TF_ASSIGN_OR_RETURN(const std::optional<database::Measurement> record,
                        best_but_for_numerics(records, problem, device, arguments.allowed));
    if (!record) continue;
    ++count;
    names.insert(record->numerics.begin(), record->numerics.end());
  }
  if (count > 0)
    std::fprintf(stderr, "compiler build: the fastest records of %d of %zu tasks need --allow %s\n", count,
                 program.tasks.size(), absl::StrJoin(names, ",").c_str());
  return absl::OkStatus();
}

// What a locked build is bound to; nothing for another build.
absl::StatusOr<std::optional<Lock>> read_lock(const BuildArguments& arguments) {
  if (arguments.records != BuildArguments::Records::kLocked) return std::nullopt;
  TF_ASSIGN_OR_RETURN(Lock lock, records::read_lock(lock_path(arguments)));
  TF_RETURN_IF_ERROR(check_allowed(lock, arguments.allowed));
  return lock;
}

// As --name says, else the lock, else after the network's file.
absl::StatusOr<std::string> model_name(const BuildArguments& arguments, const std::optional<Lock>& lock) {
  std::string name = arguments.name;
  if (lock && !lock->name.empty()) {
    if (name.empty()) name = lock->name;
    if (name != lock->name)
      return absl::FailedPreconditionError(
          absl::StrCat("tuning.lock comes from a build of the model ", printable(lock->name),
                       ": omit --name, or build without --locked to make a new lock"));
  }
  if (name.empty()) name = driver::model_name_of(arguments.model.model);
  TF_RETURN_IF_ERROR(driver::check_model_name(name));
  return name;
}

absl::StatusOr<Plan> make_plan(const BuildArguments& arguments, std::optional<Lock> lock,
                               const graph::Network& network, const target::Target& target) {
  const int threads = arguments.threads;
  std::unique_ptr<database::Records> records;
  if (!arguments.databases.empty()) {
    TF_ASSIGN_OR_RETURN(records,
                        database::open_all_records(arguments.databases, {.tls_folder = arguments.tls}));
  }
  if (lock) {
    LockedSource times(std::move(lock->layouts), records.get(), arguments.allowed,
                       LockedSource::Unknown::kNoSchedule);
    TF_ASSIGN_OR_RETURN(Plan plan, records::plan_layouts(times, network, target, threads));
    LockedSource source(std::move(lock->tasks), records.get(), arguments.allowed);
    TF_ASSIGN_OR_RETURN(plan.choices, driver::choose_schedules(plan.program, target, threads, source));
    return plan;
  }
  if (!records) return records::plan_untuned(network, target);
  std::optional<std::string> device;
  if (!arguments.device.empty()) device = arguments.device;
  TF_ASSIGN_OR_RETURN(
      Plan plan, records::plan_by_records(*records, network, target, threads, device, arguments.allowed));
  tell_of_verdict(plan);
  TF_RETURN_IF_ERROR(tell_of_other_records(*records, plan, device, target, threads));
  TF_RETURN_IF_ERROR(hint_at_numerics(*records, plan.program, device, arguments, target));
  return plan;
}

// The tasks without a record, one line each on stderr.
int name_missing(const graph::Program& program, const Choices& choices) {
  int missing = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i]) continue;
    ++missing;
    std::fprintf(stderr, "compiler build: no record: %s %s\n",
                 tensor::workload_key(program.tasks[i].kernel.workload).hex().substr(0, 12).c_str(),
                 program.tasks[i].label.c_str());
  }
  return missing;
}

// One line on stderr for each name that was allowed for nothing.
void warn_of_unused_numerics(const schedule::Numerics& allowed, const driver::ModelReport& report) {
  for (const std::string& name : allowed) {
    const bool used = std::ranges::any_of(report.tasks, [&](const driver::TaskReport& task) {
      return schedule::allows(task.numerics, name.c_str());
    });
    if (!used)
      std::fprintf(stderr,
                   "compiler build: --allow %s has no effect: no kernel uses it; tuning may find uses\n",
                   name.c_str());
  }
}

// One line on stderr for each task whose record could not be used.
void warn_of_fallbacks(const driver::ModelReport& report) {
  for (const driver::TaskReport& task : report.tasks) {
    if (task.problem.empty()) continue;
    std::fprintf(
        stderr,
        "compiler build: warning: %s %s: tuned schedule failed to build (%s); using the default schedule\n",
        task.key.substr(0, 12).c_str(), task.label.c_str(), task.problem.c_str());
  }
}

// What a library for a GPU runs beside it, if it does.
void tell_of_host_kernels(const driver::ModelReport& report, const target::Target& target) {
  if (!driver::is_for_device(target)) return;
  size_t on_host = 0;
  for (const driver::TaskReport& task : report.tasks) {
    on_host += task.on_host && !task.on_device ? 1 : 0;
    if (!task.why_on_host.empty())
      std::fprintf(stderr, "compiler build: warning: %s %s runs on the CPU: %s\n",
                   task.key.substr(0, 12).c_str(), task.label.c_str(), task.why_on_host.c_str());
  }
  if (on_host == 0) return;
  if (on_host < report.tasks.size())
    std::fprintf(
        stderr,
        "compiler build: %zu of %zu kernels run on the CPU: those of control flow and those that do not "
        "compile for the GPU\n",
        on_host, report.tasks.size());
  else
    std::fprintf(
        stderr,
        "compiler build: warning: the whole network runs on the CPU: it finds sizes in its data, or no "
        "kernel compiles for the GPU\n");
}

// What a build used, for tuning.lock.
Lock lock_of(const Plan& plan, const driver::ModelReport& report, const target::Target& target,
             const BuildArguments& arguments) {
  Lock lock{{}, plan.layouts, arguments.allowed, arguments.name};
  for (size_t i = 0; i < plan.program.tasks.size(); ++i) {
    const driver::TaskReport& task = report.tasks[i];
    const graph::Task& planned = plan.program.tasks[i];
    const std::string record = task.used ? task.used->record : "";
    if (planned.at_sizes.empty())
      lock.tasks.push_back({tensor::key_for(planned.kernel, target, arguments.threads), task.label, record});
    // Of a kernel for all sizes, those that were asked for a record: the last of them had it.
    const size_t asked = task.used ? task.used->at_size + 1 : planned.at_sizes.size();
    for (size_t k = 0; k < asked && k < planned.at_sizes.size(); ++k)
      lock.tasks.push_back({tensor::key_for(planned.at_sizes[k], target, arguments.threads), task.label,
                            k + 1 == asked ? record : ""});
  }
  return lock;
}

std::string size_text(int64_t bytes) {
  const auto b = static_cast<double>(bytes);
  return b < 1e5 ? absl::StrFormat("%.1f kB", b / 1e3) : absl::StrFormat("%.1f MB", b / 1e6);
}

// "tuned", "untuned", or "default" of a kernel without a record.
const char* taken(const driver::TaskReport& task) {
  if (!task.used) return "default";
  return task.used->is_untuned ? "untuned" : "tuned";
}

std::vector<std::string> task_row(const driver::TaskReport& task) {
  const double ns = task.used ? task.used->median_ns : 0;
  return {task.problem.empty() ? task.label : absl::StrCat(task.label, ": ", task.problem),
          absl::StrCat(task.count),
          task.used ? duration_text(ns) : "-",
          taken(task),
          task.used && !task.is_for_all_sizes ? absl::StrFormat("%.1f", task.flops / ns) : "-",
          absl::StrFormat("%.3f", task.flops / 1e6),
          absl::StrJoin(task.numerics, ","),
          task.key.substr(0, 12)};
}

void print(const BuildArguments& arguments, const Plan& plan, const driver::ModelReport& report) {
  std::vector<std::vector<std::string>> rows;
  size_t tuned = 0, untuned = 0;
  for (const driver::TaskReport& task : report.tasks) {
    rows.push_back(task_row(task));
    if (task.used) ++(task.used->is_untuned ? untuned : tuned);
  }
  std::printf("%s", text_table({{"kernel", Cells::kShortened},
                                {"runs", Cells::kWhole, Side::kRight},
                                {"time", Cells::kWhole, Side::kRight},
                                {"takes"},
                                {"GFLOP/s", Cells::kLeftOut, Side::kRight},
                                {"MFLOP", Cells::kLeftOut, Side::kRight},
                                {"numerics", Cells::kLeftOut},
                                {"key", Cells::kLeftOut}},
                               std::move(rows), arguments.wide ? 0 : terminal_width())
                        .c_str());
  std::printf("%s: %zu tuned, %zu untuned, %zu default (without a record)\n",
              counted(std::ssize(report.tasks), "kernel").c_str(), tuned, untuned,
              report.tasks.size() - tuned - untuned);
  std::printf("weights %s (%s in the network), activations %s, workspace %s\n",
              size_text(report.weights_bytes).c_str(), size_text(report.constant_bytes).c_str(),
              size_text(report.arena_bytes).c_str(), size_text(report.workspace_bytes).c_str());
  if (!plan.layouts.empty())
    std::printf("layouts chosen by %s; by estimates where there is none\n",
                counted(std::ssize(plan.layouts), "measured time").c_str());
  const bool locked = arguments.records == BuildArguments::Records::kLocked;
  std::printf("wrote %s to %s; the functions begin with %s_\n",
              locked ? "model.so and model.h" : "model.so, model.h and tuning.lock", arguments.output.c_str(),
              arguments.name.c_str());
}

// What it follows, or null.
nlohmann::json verdict_json(const Plan& plan) {
  if (!plan.verdict) return nullptr;
  return {{"takes", takes_name(plan.verdict->takes)},
          {"device_class", plan.verdict->device_class},
          {"why", plan.verdict->why}};
}

void print_json(const BuildArguments& arguments, const Plan& plan, const driver::ModelReport& report) {
  nlohmann::json tasks = nlohmann::json::array();
  for (size_t i = 0; i < report.tasks.size(); ++i) {
    const driver::TaskReport& task = report.tasks[i];
    const graph::Task& planned = plan.program.tasks[i];
    nlohmann::json entry = {{"key", task.key},
                            {"label", task.label},
                            {"count", task.count},
                            {"flops", task.flops},
                            {"hit", task.used.has_value()},
                            {"numerics", task.numerics},
                            {"nodes", planned.nodes},
                            {"in_layouts", tensor::layout_texts(planned.kernel.ports.inputs)},
                            {"out_layouts", tensor::layout_texts(planned.kernel.ports.outputs)}};
    if (task.used) entry["record"] = task.used->record;
    if (task.used) entry["median_ns"] = task.used->median_ns;
    if (task.used) entry["untuned"] = task.used->is_untuned;
    if (!task.problem.empty()) entry["problem"] = task.problem;
    tasks.push_back(std::move(entry));
  }
  std::printf("%s\n", json_text(nlohmann::json{{"model", arguments.output + "/model.so"},
                                               {"name", arguments.name},
                                               {"tasks", tasks},
                                               {"layout_records", plan.layouts.size()},
                                               {"verdict", verdict_json(plan)},
                                               {"weights_bytes", report.weights_bytes},
                                               {"constant_bytes", report.constant_bytes},
                                               {"arena_bytes", report.arena_bytes},
                                               {"workspace_bytes", report.workspace_bytes}},
                                1)
                          .c_str());
}

// Where the library goes. A folder that was made for nothing goes with this.
class OutputFolder {
 public:
  static absl::StatusOr<OutputFolder> make(const std::string& path) {
    std::error_code error;
    const bool is_new = std::filesystem::create_directories(path, error);
    if (!error) return OutputFolder(is_new ? path : "");
    return absl::PermissionDeniedError(absl::StrCat("cannot make the folder ", path, ": ", error.message()));
  }
  OutputFolder(OutputFolder&& other) noexcept : made_(std::exchange(other.made_, "")) {}
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder() {
    std::error_code ignored;
    if (!made_.empty()) std::filesystem::remove(made_, ignored);  // only if nothing is in it
  }

 private:
  explicit OutputFolder(std::string made) : made_(std::move(made)) {}
  std::string made_;  // empty: it was there
};

// That nothing of what is written is the network or the database.
absl::Status check_outputs(const BuildArguments& arguments) {
  std::vector<std::string> inputs = {arguments.model.model};
  for (const std::string& database : arguments.databases)
    for (std::string& file : database::local_files(database)) inputs.push_back(std::move(file));
  std::vector<std::string> outputs = {arguments.output + "/model.so", arguments.output + "/model.h",
                                      absl::StrCat(arguments.output, "/lib", arguments.name, ".so"),
                                      absl::StrCat(arguments.output, "/", arguments.name, "-config.cmake")};
  if (arguments.with_archive) outputs.push_back(absl::StrCat(arguments.output, "/lib", arguments.name, ".a"));
  if (arguments.records != BuildArguments::Records::kLocked) outputs.push_back(lock_path(arguments));
  for (const std::string& output : outputs) TF_RETURN_IF_ERROR(check_is_no_input(output, "-o", inputs));
  return absl::OkStatus();
}

// --host, which is for GPUs alone.
absl::StatusOr<std::optional<target::Target>> load_host(const BuildArguments& arguments,
                                                        const target::Target& target) {
  if (arguments.host.empty()) return std::nullopt;
  if (!driver::is_for_device(target))
    return absl::InvalidArgumentError(absl::StrCat("--host is for libraries that run on a GPU; for --target ",
                                                   arguments.model.target, ", omit it"));
  TF_ASSIGN_OR_RETURN(target::Target host, target::parse_target(arguments.host));
  if (!host.is_hosted())
    return absl::InvalidArgumentError(
        absl::StrCat("--host ", arguments.host, ": give a processor, as in aarch64:cpu=cortex-a78"));
  return host;
}

absl::StatusOr<int> run(BuildArguments arguments) {
  TF_ASSIGN_OR_RETURN(arguments.allowed, schedule::parse_numerics(arguments.allow));
  TF_ASSIGN_OR_RETURN(std::optional<Lock> lock, read_lock(arguments));
  const bool locked = lock.has_value();
  TF_ASSIGN_OR_RETURN(arguments.name, model_name(arguments, lock));
  TF_RETURN_IF_ERROR(check_outputs(arguments));
  TF_ASSIGN_OR_RETURN(const target::Target target, load_target(arguments.model));
  TF_ASSIGN_OR_RETURN(const std::optional<target::Target> host, load_host(arguments, target));
  TF_ASSIGN_OR_RETURN(const graph::Network network, load_network(arguments.model));
  TF_ASSIGN_OR_RETURN(const Plan plan, make_plan(arguments, std::move(lock), network, target));
  const bool strict = arguments.missing == BuildArguments::Missing::kRefuse;
  if (strict && name_missing(plan.program, plan.choices) > 0) {
    if (arguments.databases.empty())
      std::fprintf(stderr, "compiler build: --strict needs records: give --db\n");
    return kExitUntuned;
  }
  TF_ASSIGN_OR_RETURN(const OutputFolder folder, OutputFolder::make(arguments.output));
  const int jobs = arguments.jobs > 0 ? arguments.jobs : tf_usable_cpus();
  TF_ASSIGN_OR_RETURN(const auto pool, driver::BuildPool::create({.workers = jobs}));
  const OnInterrupt cancel([&pool = *pool] { pool.cancel(); });
  const absl::StatusOr<driver::ModelReport> built = driver::build_model(
      plan.program, plan.choices, *pool,
      {.target = target,
       .host = host,
       .threads = arguments.threads,
       .allowed_numerics = arguments.allowed,
       .on_failed_choice = locked ? driver::OnFailedChoice::kFail : driver::OnFailedChoice::kUseDefault,
       .folder = arguments.output,
       .name = arguments.name,
       .with_archive = arguments.with_archive});
  if (absl::IsCancelled(built.status())) return absl::CancelledError("interrupted; nothing was written");
  TF_RETURN_IF_ERROR(built.status());
  const driver::ModelReport& report = *built;
  warn_of_fallbacks(report);
  tell_of_host_kernels(report, target);
  warn_of_unused_numerics(arguments.allowed, report);
  // A locked build uses what the lock says or fails: there is nothing new to pin.
  if (!locked) TF_RETURN_IF_ERROR(write_lock(lock_path(arguments), lock_of(plan, report, target, arguments)));
  arguments.json ? print_json(arguments, plan, report) : print(arguments, plan, report);
  const bool all_used =
      std::ranges::all_of(report.tasks, [](const driver::TaskReport& task) { return task.used.has_value(); });
  return strict && !all_used ? kExitUntuned : kExitOk;
}

}  // namespace

void add_build_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<BuildArguments>();
  CLI::App* command = app.add_subcommand("build", "Compile a network into model.so, model.h and tuning.lock");
  add_model_options(*command, arguments->model);
  add_anchor_option(*command, arguments->model);
  command->add_option(
      "--host", arguments->host,
      "For a GPU: the processor beside it that the library is for, as in aarch64:cpu=cortex-a78 [this "
      "machine's]");
  command->add_option("-o,--output", arguments->output, "Output folder")->required();
  command->add_option("--name", arguments->name,
                      "Name of the model: functions begin with NAME_, and the library is libNAME.so [from "
                      "the network's file name; with --locked, from the lock]");
  auto* records = command
                      ->add_option("--db", arguments->databases,
                                   absl::StrCat("Database with tuned schedules: ", database::store_forms(),
                                                "; repeatable: the best of all"))
                      ->allow_extra_args(false);
  command
      ->add_option("--tls", arguments->tls, "Folder of your certificate (`tuner join`), for a secured tuner")
      ->needs(records);
  auto* device = command->add_option("--device", arguments->device, "Only records of this device class [any]")
                     ->needs(records);
  command->add_option("--threads", arguments->threads, "Number of threads that the model will run with")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--allow", arguments->allow,
                      absl::StrCat("Reduced-precision methods to allow, in records and default schedules: ",
                                   schedule::kAllowHelp));
  command->add_flag("--static", arguments->with_archive,
                    "Write the static archive libNAME.a, too, for programs that need no shared library");
  command
      ->add_option("--jobs", arguments->jobs,
                   "Number of build workers; 0: as many as there are CPUs for this process")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  auto* strict = command->add_flag_callback(
      "--strict", [arguments] { arguments->missing = BuildArguments::Missing::kRefuse; },
      "Exit with 4 if a kernel has no record, and list such kernels");
  command
      ->add_flag_callback(
          "--locked", [arguments] { arguments->records = BuildArguments::Records::kLocked; },
          "Use exactly the records that OUTPUT/tuning.lock names")
      ->excludes(strict)
      ->excludes(device);
  command->add_flag("--json", arguments->json, "Print the report as JSON");
  command->add_flag("--wide", arguments->wide, "Print all columns, regardless of the terminal's width");
  command->footer("Example: compiler build squeezenet.onnx --target host --db tuning.db -o build/squeezenet");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return run(*arguments); }; });
}

}  // namespace tf::compiler_cli
