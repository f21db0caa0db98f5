// tuner tune: tunes on this machine, without a farm or a server.
#include <google/protobuf/util/message_differencer.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/cli/counted.h"
#include "base/cli/exit_code.h"
#include "base/machine/cpu_list.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/driver/build_pool.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/network_request.h"
#include "compiler/graph/found.h"
#include "compiler/target/target.h"
#include "database/stores/open_store.h"
#include "rpc/daemon/stop_signals.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/cpu_split.h"
#include "tuner/cli/progress_printer.h"
#include "tuner/cli/progress_text.h"
#include "tuner/cli/spec_options.h"
#include "tuner/cli/tune_device.h"
#include "tuner/measure/local_runner.h"
#include "tuner/service/farm/network_calls.h"
#include "tuner/service/farm/network_tasks.h"
#include "tuner/service/jobs/summary.h"
#include "tuner/session/network/build_choices.h"
#include "tuner/session/network/network_bench.h"

namespace tf::tuner_cli {
namespace {

using database::JobState;
using Clock = std::chrono::steady_clock;

struct TuneArguments : SpecArguments {
  std::string db, device_class = service::device_class_of({});
  std::string without_sandbox;
  std::string device;  // empty: the target's
  int builders = 0;
};

// The first signal sets `stop`; the second ends the process (StopSignals). Says what ends then: trials are
// finished, `ends_at_once` is set before what is not.
class StopOnSignal {
 public:
  StopOnSignal(std::atomic<bool>& stop, const std::atomic<bool>& ends_at_once)
      : thread_([this, &stop, &ends_at_once] {
          if (signals_.wait() == 0) return;
          stop = true;
          std::fprintf(stderr, "\n%s; Ctrl-C again stops at once\n",
                       ends_at_once ? "cancelling the timing of the network" : "stopping");
        }) {}
  ~StopOnSignal() {
    signals_.stop_waiting();
    thread_.join();
  }

 private:
  rpc::StopSignals signals_;
  std::thread thread_;
};

// The unfinished run of the same command, if there is one: we hold the database, so whoever ran it is gone.
absl::StatusOr<database::Job> open_job(database::Store& store, const service::JobSpec& spec,
                                       const std::string& model_path, const Digest& model) {
  TF_ASSIGN_OR_RETURN(std::vector<database::Job> jobs, store.jobs());
  for (const database::Job& job : jobs) {
    if (!job.device.empty() || job.model_digest != model.hex() || database::is_final(job.state)) continue;
    const absl::StatusOr<service::JobSpec> begun = service::job_spec_from_json(job.options);
    if (!begun.ok() || !google::protobuf::util::MessageDifferencer::Equals(*begun, spec)) continue;
    TF_ASSIGN_OR_RETURN(int64_t trials, store.count_trials(job.id));
    std::fprintf(stderr, "continuing job %lld, which has %s\n", static_cast<long long>(job.id),
                 counted(trials, "trial").c_str());
    return job;
  }
  database::Job job{.model_name = spec.model_name(),
                    .model_digest = model.hex(),
                    .model_path = model_path,
                    .target = spec.target(),
                    .options = service::to_json(spec),
                    .state = JobState::kRunning,
                    .created_unix_ns = absl::GetCurrentTimeNanos()};
  job.started_unix_ns = job.created_unix_ns;
  TF_ASSIGN_OR_RETURN(job.id, store.add_job(job));
  return job;
}

// Opens the database. While another program holds it locked, this waits, now and at each write, until `stop`.
absl::StatusOr<std::unique_ptr<database::Store>> open_or_wait(const std::string& url,
                                                              const std::atomic<bool>& stop) {
  const auto wait = [&stop, told = Clock::time_point()](const absl::Status& locked) mutable {
    if (stop) return false;
    if (Clock::now() - told > std::chrono::minutes(1)) {
      std::fprintf(stderr, "\n%s; waiting for it\n", trouble_of(locked).truth.c_str());
      told = Clock::now();
    }
    return true;
  };
  database::WriteOptions options{
      .keep_trying = wait,
      .locked_remedy = "wait until it ends or stop it; if it is `tuner serve`, use `tuner submit`"};
  for (;;) {
    absl::StatusOr<std::unique_ptr<database::Store>> store = database::open_store(url, options);
    if (!absl::IsUnavailable(store.status()) || !options.keep_trying(store.status())) return store;
  }
}

// Whether the run can go on once the cause is gone, as a full disk or another program's lock.
bool can_go_on(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

absl::Status close_job(database::Store& store, database::Job job,
                       const absl::StatusOr<session::Progress>& result, bool interrupted) {
  const bool is_paused = interrupted || can_go_on(result.status());
  job.state = is_paused ? JobState::kPaused : result.ok() ? JobState::kDone : JobState::kFailed;
  job.detail = result.ok() ? service::summary(*result) : std::string(result.status().message());
  job.status_code = static_cast<int32_t>(result.status().code());
  if (database::is_final(job.state)) job.finished_unix_ns = absl::GetCurrentTimeNanos();
  return store.update_job(job);
}

// One line for the layers of the sandbox that the default policy went on without.
void warn_of_missing_layers(const std::vector<worker::CapabilityState>& missing) {
  if (missing.empty()) return;
  const worker::MissingText text = worker::missing_text(missing);
  std::fprintf(stderr,
               "tuner tune: warning: candidates run without these sandbox layers: %s. Other layers and "
               "limits still apply. To enable all layers: %s\n",
               text.truth.c_str(), text.remedy.c_str());
}

// What is set aside for the network's own trial, at most a tenth of the budget.
double trial_seconds(const service::JobSpec& spec, const session::Progress& progress) {
  if (spec.open_dims_size() > 0) return 0;
  const double seconds = session::network_trial_seconds(progress);
  return spec.minutes() > 0 ? std::min(seconds, spec.minutes() * 6) : seconds;
}

// What the network's own trial needs beside the session's.
struct TrialSetting {
  const session::SessionOptions& options;
  session::NetworkBench& bench;
  const session::UntunedNetwork& untuned;
  database::Store& store;
  const std::string& name;
};

// Builds the network with default schedules, so that a network that cannot be built is refused before its
// budget is spent. CANCELLED if `stop` is set meanwhile.
absl::StatusOr<session::UntunedNetwork> build_untuned(const TuneArguments& arguments,
                                                      const service::JobSpec& spec,
                                                      const target::Target& target,
                                                      const std::atomic<bool>& stop,
                                                      session::NetworkBench& bench) {
  TF_ASSIGN_OR_RETURN(const graph::Network network,
                      frontends::import_network(arguments.model, service::network_request(spec)));
  session::UntunedNetwork untuned;
  TF_ASSIGN_OR_RETURN(untuned.plan, records::plan_untuned(network, target));
  absl::StatusOr<session::NetworkBench::Open> open = bench.build(untuned.plan, Clock::time_point::max());
  if (!open.ok() && !stop)
    return absl::Status(open.status().code(),
                        absl::StrCat(arguments.model, " was not tuned, because it cannot be built: ",
                                     open.status().message()));
  TF_ASSIGN_OR_RETURN(untuned.open, std::move(open));
  return untuned;
}

// For a trial that begins now: what was set aside for it, within the minutes.
Clock::time_point trial_deadline(const service::JobSpec& spec, const session::Progress& progress,
                                 Clock::time_point began) {
  const auto after = [](Clock::time_point time, double seconds) {
    return time + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  const Clock::time_point deadline = after(Clock::now(), trial_seconds(spec, progress));
  return spec.minutes() > 0 ? std::min(deadline, after(began, spec.minutes() * 60)) : deadline;
}

void announce(const TuneArguments& arguments, const service::JobSpec& spec,
              const std::vector<session::Task>& tasks, const target::Target& target) {
  const auto used = std::ranges::count_if(tasks, [](const session::Task& task) { return task.weight > 0; });
  const auto unused = std::ssize(tasks) - used;
  std::fprintf(
      stderr, "tuning %s of %s%s for %s, %s, into %s\n", counted(used, "task").c_str(),
      spec.model_name().c_str(),
      unused > 0 ? absl::StrCat(", and ", counted(unused, "kernel"), " in alternative layouts,").c_str() : "",
      target.text().c_str(), counted(spec.threads(), "thread").c_str(), arguments.db.c_str());
}

// What came of the tuning.
struct Ending {
  std::optional<session::NetworkTrial> trial;
  absl::Status untimed;  // why there is no trial
  std::vector<session::KernelChoice> build;
};

// A network with open sizes is not compared as a whole: the verdict would be that of one of them.
absl::StatusOr<Ending> end_of(const graph::Network& network, const TrialSetting& setting,
                              Clock::time_point deadline, const std::atomic<bool>& stop) {
  Ending ending;
  const session::SessionOptions& options = setting.options;
  std::optional<graph::Graph> graph;
  if (network.dims.empty()) {
    TF_ASSIGN_OR_RETURN(graph, network.at({}));
  }
  const bool is_compared = graph && graph::found_dims(*graph).empty() && !stop;
  if (is_compared && Clock::now() < deadline) {
    const absl::StatusOr<session::NetworkTrial> tried =
        session::try_network(*graph, setting.untuned, setting.store, setting.bench,
                             {.target = options.target,
                              .threads = options.threads,
                              .device_class = options.device_class,
                              .allowed_numerics = options.allowed_numerics,
                              .name = setting.name,
                              .deadline = deadline,
                              .stop = &stop});
    if (tried.ok()) ending.trial = *tried;
    if (!stop) ending.untimed = tried.status();
  } else if (is_compared) {
    ending.untimed = absl::DeadlineExceededError(
        "the time budget was exhausted before the network could be timed; increase --minutes");
  }
  TF_ASSIGN_OR_RETURN(ending.build, session::build_choices(network, setting.store, options.target,
                                                           options.threads, options.allowed_numerics));
  return ending;
}

// The error of a run that failed, with what to do if it can go on.
absl::Status explained(const absl::Status& failure) {
  if (!can_go_on(failure)) return failure;
  return absl::Status(failure.code(), absl::StrCat(failure.message(), "; run the same command to continue"));
}

// What remains to be said of a run that is over, and its exit code.
int conclude(const session::Progress& result, const absl::Status& untimed, bool is_interrupted) {
  // What was tuned stands without the trial.
  if (!untimed.ok()) report_error("tuner tune: the whole network was not timed", untimed);
  const char* nothing = has_results(result) ? "" : "nothing was measured: ";
  if (is_interrupted) {
    std::fprintf(stderr, "%sinterrupted; run the same command to continue\n", nothing);
    return kExitInterrupted;
  }
  if (*nothing != '\0')
    std::fprintf(stderr, "%sthe budget was spent before the first trial; increase --minutes\n", nothing);
  return kExitOk;
}

absl::StatusOr<int> tune(const TuneArguments& arguments) {
  const Clock::time_point began = Clock::now();
  TF_ASSIGN_OR_RETURN(service::JobSpec spec, finish_spec(arguments));
  // The default goes unsaid, as in runs of before that are to be continued.
  if (arguments.device_class != service::device_class_of(spec)) spec.set_device_class(arguments.device_class);
  TF_RETURN_IF_ERROR(database::check_writable(arguments.db));
  TF_ASSIGN_OR_RETURN(std::string model, frontends::read_model_file(arguments.model));
  TF_ASSIGN_OR_RETURN(session::SessionOptions options,
                      service::session_options(spec, 0, service::device_class_of(spec)));
  const std::vector<int> cpus = allowed_cpus();
  TF_RETURN_IF_ERROR(check_runs_here(options.target, spec.threads(), cpus.size()));
  TF_ASSIGN_OR_RETURN(const std::string device, device_for(options.target, arguments.device));
  TF_ASSIGN_OR_RETURN(const service::NetworkPlan plan,
                      service::plan_of_network(arguments.model, options.target, options.threads,
                                               service::network_request(spec)));
  const std::vector<session::Task>& tasks = plan.tasks;
  std::atomic<bool> stop = false, tries_network = false;
  StopOnSignal signals(stop, tries_network);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<database::Store> store, open_or_wait(arguments.db, stop));

  const CpuSplit split = split_cpus(cpus, spec.threads());
  TF_ASSIGN_OR_RETURN(const worker::SandboxPolicy sandbox,
                      worker::parse_without_sandbox(arguments.without_sandbox, worker::kOwnCandidates));
  TF_ASSIGN_OR_RETURN(
      auto runner,
      measure::LocalRunner::start(
          {.device = device, .sandbox = sandbox, .cpus = split.measure, .spare_cpus = split.rest}));
  if (sandbox.own_candidates) warn_of_missing_layers(runner->missing_layers());
  stay_on(split.rest);  // before any build worker or thread that computes is started
  const int builders = arguments.builders > 0 ? arguments.builders : static_cast<int>(split.build.size());
  TF_ASSIGN_OR_RETURN(auto builder, driver::BuildPool::create({.workers = builders, .cpus = split.build}));
  const auto bench = session::make_network_bench(*builder, {.target = options.target,
                                                            .threads = options.threads,
                                                            .allowed_numerics = options.allowed_numerics,
                                                            .cpus = split.measure,
                                                            .gpu = gpu_number(device),
                                                            .stop = &stop});
  if (is_gpu(options.target)) options.reference_target = target::host_target();  // this machine's CPUs
  absl::StatusOr<session::UntunedNetwork> untuned =
      build_untuned(arguments, spec, options.target, stop, *bench);
  if (stop) return kExitInterrupted;
  TF_RETURN_IF_ERROR(untuned.status());
  options.takes_turns = split.takes_turns;
  options.has_no_cpu = split.rest.empty();
  options.budget.reserve_s = [&spec](const session::Progress& progress) {
    return trial_seconds(spec, progress);
  };
  std::error_code error;  // where the working folder has gone, the path is kept as it was given
  const std::filesystem::path path = std::filesystem::absolute(arguments.model, error);
  TF_ASSIGN_OR_RETURN(database::Job job,
                      open_job(*store, spec, error ? arguments.model : path.string(), sha256(model)));
  options.job_id = job.id;
  TF_RETURN_IF_ERROR(store->save_job_network(job.id, service::to_json(plan.calls)));
  if (!arguments.json) announce(arguments, spec, tasks, options.target);
  ProgressPrinter printer(progress_style(arguments.json), spec.trials(), job.id);
  // In a thread of its own, because the session's makes way for others, and the network must not.
  absl::StatusOr<session::Progress> result =
      std::async(std::launch::async, [&] {
        return session::tune(
            tasks, options, *builder, *runner, *store, stop,
            [&, told = false](const session::Progress& progress) mutable {
              if (progress.has_finishing() && !std::exchange(told, true))
                printer.say(absl::StrCat("finishing ", counted(progress.finishing(), "trial")));
              printer.show(progress);
            });
      }).get();
  Ending ending;
  if (result.ok() && has_results(*result)) {
    TF_ASSIGN_OR_RETURN(const graph::Network network,
                        frontends::import_network(arguments.model, service::network_request(spec)));
    tries_network = network.dims.empty();
    if (!stop && tries_network) printer.say("timing the whole network: untuned and tuned builds alternate");
    TF_ASSIGN_OR_RETURN(ending, end_of(network, {options, *bench, *untuned, *store, spec.model_name()},
                                       trial_deadline(spec, *result, began), stop));
  }
  const absl::Status closed = close_job(*store, job, result, stop);
  const absl::Status failure = result.ok() ? closed : result.status();
  if (failure.ok()) {
    printer.finish(*result, ending.trial, ending.build);
    return conclude(*result, ending.untimed, stop);
  }
  const int code = report_error("tuner tune", explained(failure));
  return stop ? static_cast<int>(kExitInterrupted) : code;
}

}  // namespace

void add_tune_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* command = app.add_subcommand("tune", "Tune a network on this machine, without a server or farm");
  add_spec_options(*command, *arguments);
  command->add_option("--db", arguments->db, "Database FILE, created if it does not exist")->required();
  command
      ->add_option("--device-class", arguments->device_class,
                   "Device class under which measurements are stored")
      ->check([](const std::string& name) {
        return name.empty() || printable(name) != name ? "a device class is a name on one line" : "";
      })
      ->capture_default_str();
  command->add_option(
      "--device", arguments->device,
      "What measures: cpu, or a GPU by its number, as in opencl:0 or cuda:0 [the target's first]");
  command->add_option(
      "--without-sandbox", arguments->without_sandbox,
      "Run without these sandbox layers, as in seccomp,cgroup; missing: every layer that this machine lacks; "
      "nothing: require all layers [run without missing layers if the rest still confines candidates]");
  command
      ->add_option("--builders", arguments->builders,
                   "Number of build workers [one per CPU not used by trials]")
      ->check(CLI::Range(1, 1024));
  command->footer(
      "Example: tuner tune squeezenet.onnx --target host --db tune.db --minutes 5\n"
      "         tuner tune squeezenet.onnx --target opencl --device opencl:0 --db tune.db --minutes 5\n"
      "         tuner tune bert_mini.onnx --dim batch=1..64 --dim sequence=128 --at batch=1,8,64 --db "
      "tune.db\n"
      "Builds the untuned network first, so that a network that cannot be built fails before tuning.\n"
      "Ctrl-C finishes running trials, cancels the timing of the network, and exits 130; run the same "
      "command to continue. A second Ctrl-C stops at once.");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return tune(*arguments); }; });
}

}  // namespace tf::tuner_cli
