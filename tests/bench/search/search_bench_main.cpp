// What a candidate costs on its way through the tuner, over the kernels of squeezenet: compiling sketches,
// varying, estimating, scoring by the learned model, proposing, lowering, building by phase; then tuning as a
// whole: trials a second and the share of wall time in which the device is measuring.
//
//   build/release/bin/search_bench [--trials=N] [--benchmark_…]
//     N: candidates built, trials of the tuning run

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <map>
#include <string_view>

#include "base/check.h"
#include "base/cli/exit_code.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "base/machine/cpu_list.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/wire.h"
#include "compiler/frontends/zoo/zoo.h"
#include "compiler/passes/lower.h"
#include "database/sqlite/sqlite_store.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tuner/cli/cpu_split.h"
#include "tuner/measure/local_runner.h"
#include "tuner/model/learned/xgboost_model.h"
#include "tuner/search/strategies.h"
#include "tuner/service/farm/network_tasks.h"
#include "tuner/space/neighbourhood.h"
#include "tuner/space/sampling.h"
#include "tuner/space/space.h"

namespace tf {
namespace {

namespace kernel_proto = tunefarm::kernel::v1;

// One kernel of squeezenet with its space and legal candidates of it, drawn at random.
struct Kernel {
  session::Task task;
  tensor::Workload bound;
  space::DesignSpace space;
  std::unique_ptr<model::Evaluator> evaluator;
  struct Legal {
    space::Candidate candidate;
    model::Judgement judgement;
  };
  std::vector<Legal> legal;
};

constexpr int kThreads = 1;

const std::vector<session::Task>& tasks() {
  static const std::vector<session::Task> all = [] {
    const TemporaryFolder folder = *TemporaryFolder::make();
    const std::string path = folder.path() + "/squeezenet.onnx";
    TF_CHECK(write_file(path, *zoo::model("squeezenet", {})).ok());
    return *service::network_tasks(path, target::host_target(), {});
  }();
  return all;
}

// Those with a choice to make.
const std::vector<std::unique_ptr<Kernel>>& kernels() {
  static const std::vector<std::unique_ptr<Kernel>> all = [] {
    std::vector<std::unique_ptr<Kernel>> made;
    space::Random random(1);
    for (const session::Task& task : tasks()) {
      auto kernel = std::make_unique<Kernel>(Kernel{.task = task});
      kernel->bound = *tensor::bind(task.kernel.workload, task.kernel.binding);
      kernel->space = space::generate_space({.workload = kernel->bound,
                                             .ports = task.kernel.ports,
                                             .target = target::host_target(),
                                             .threads = kThreads});
      kernel->evaluator = std::make_unique<model::Evaluator>(kernel->space, target::host_target(), kThreads);
      for (int draws = 0; draws < 1000 && kernel->legal.size() < 32; ++draws) {
        const space::Candidate candidate = space::sample(kernel->space, random);
        if (auto judgement = kernel->evaluator->judge(candidate))
          kernel->legal.push_back({candidate, *judgement});
      }
      if (kernel->space.size() > 100 && !kernel->legal.empty()) made.push_back(std::move(kernel));
    }
    TF_CHECK(!made.empty());
    return made;
  }();
  return all;
}

// The i-th candidate of a walk over all kernels.
const Kernel& kernel_at(size_t i) {
  return *kernels()[i % kernels().size()];
}
const Kernel::Legal& candidate_at(size_t i) {
  const Kernel& kernel = kernel_at(i);
  return kernel.legal[i / kernels().size() % kernel.legal.size()];
}

benchmark::Counter rate(double count) {
  return {count, benchmark::Counter::kIsRate};
}

// Batches of as many candidates of one kernel.
constexpr size_t kBatch = 1024;

std::vector<space::Candidate> draw(const Kernel& kernel, space::Random& random) {
  std::vector<space::Candidate> candidates;
  for (size_t i = 0; i < kBatch; ++i) candidates.push_back(space::sample(kernel.space, random));
  return candidates;
}

// Making the programs of a kernel's sketches.
void compile(benchmark::State& state) {
  size_t i = 0, sketches = 0;
  for (auto _ : state) {
    const Kernel& kernel = kernel_at(i++);
    benchmark::DoNotOptimize(model::Evaluator(kernel.space, target::host_target(), kThreads));
    sketches += kernel.space.sketches.size();
  }
  state.counters["sketches"] = rate(static_cast<double>(sketches));
}

// Points of good ones' neighbourhoods, and whether they are legal.
void mutate(benchmark::State& state) {
  std::vector<space::Neighbourhood> neighbourhoods;
  for (const auto& kernel : kernels()) neighbourhoods.emplace_back(kernel->space);
  space::Random random(2);
  size_t batches = 0, legal = 0;
  for (auto _ : state) {
    const Kernel& kernel = kernel_at(batches);
    const space::Neighbourhood& neighbourhood = neighbourhoods[batches % neighbourhoods.size()];
    std::vector<space::Candidate> children;
    for (size_t i = 0; i < kBatch; ++i)
      children.push_back(neighbourhood.mutate(kernel.legal[i % kernel.legal.size()].candidate, random));
    for (bool each : kernel.evaluator->legal(children)) legal += each;
    ++batches;
  }
  const auto candidates = static_cast<double>(batches * kBatch);
  state.counters["candidates"] = rate(candidates);
  state.counters["legal_share"] = static_cast<double>(legal) / candidates;
}

// The roofline model's estimates (and legality) of candidates drawn before.
void roofline(benchmark::State& state) {
  space::Random random(2);
  std::vector<std::vector<space::Candidate>> drawn;
  for (const auto& kernel : kernels()) drawn.push_back(draw(*kernel, random));
  size_t batches = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernel_at(batches).evaluator->roofline(drawn[batches % drawn.size()]));
    ++batches;
  }
  state.counters["candidates"] = rate(static_cast<double>(batches * kBatch));
}

// Examples as the roofline model would have measured them: enough to make trees of a usual size.
std::vector<model::Example> examples() {
  std::vector<model::Example> all;
  for (const auto& kernel : kernels()) {
    double best = kernel->legal[0].judgement.roofline_seconds;
    for (const Kernel::Legal& each : kernel->legal) best = std::min(best, each.judgement.roofline_seconds);
    for (const Kernel::Legal& each : kernel->legal)
      all.push_back({each.judgement.features, best / each.judgement.roofline_seconds});
  }
  return all;
}

void train(benchmark::State& state) {
  const std::vector<model::Example> all = examples();
  for (auto _ : state) {
    model::XGBoostModel model;
    TF_CHECK(model.train(all).ok());
  }
  state.counters["examples"] = static_cast<double>(all.size());
}

// Legality, roofline estimate, features and the learned model's score of candidates drawn before.
void score(benchmark::State& state) {
  model::XGBoostModel model;
  TF_CHECK(model.train(examples()).ok());
  space::Random random(2);
  std::vector<std::vector<space::Candidate>> drawn;
  for (const auto& kernel : kernels()) drawn.push_back(draw(*kernel, random));
  size_t batches = 0;
  for (auto _ : state) {
    const model::Evaluator& evaluator = *kernel_at(batches).evaluator;
    const std::vector<space::Candidate>& candidates = drawn[batches % drawn.size()];
    benchmark::DoNotOptimize(evaluator.roofline(candidates));
    benchmark::DoNotOptimize(model.score(evaluator.features(candidates)));
    ++batches;
  }
  state.counters["candidates"] = rate(static_cast<double>(batches * kBatch));
}

// What the tuning loop asks a search for, again and again, with everything that it does inside.
void propose(benchmark::State& state) {
  constexpr int kProposals = 16;
  model::XGBoostModel model;
  TF_CHECK(model.train(examples()).ok());
  const Kernel& kernel = kernel_at(0);
  const auto search = search::make_evolutionary(kernel.space, *kernel.evaluator, &model, 3);
  size_t proposed = 0;
  for (auto _ : state) {
    std::vector<search::Observation> observations;
    for (const space::Candidate& candidate : search->propose(kProposals))
      observations.push_back({candidate, kernel.evaluator->judge(candidate)->roofline_seconds});
    proposed += observations.size();
    search->update(observations);
  }
  state.counters["proposals"] = rate(static_cast<double>(proposed));
}

// Does that with the schedule of one candidate after another.
template <typename F>
void each_schedule(benchmark::State& state, F compute) {
  size_t i = 0;
  for (auto _ : state) {
    const Kernel& kernel = kernel_at(i);
    const schedule::Schedule schedule = kernel.space.schedule_of(candidate_at(i).candidate);
    benchmark::DoNotOptimize(compute(kernel.bound, schedule, kernel.task.kernel.ports));
    ++i;
  }
  state.counters["candidates"] = rate(static_cast<double>(i));
}

// What tells candidates of the same loops apart from new ones, before they are built.
void loops_hash(benchmark::State& state) {
  each_schedule(state,
                [](const tensor::Workload& bound, const schedule::Schedule& schedule,
                   const tensor::PortLayouts& ports) { return passes::loops_hash(bound, schedule, ports); });
}

void lower(benchmark::State& state) {
  each_schedule(state,
                [](const tensor::Workload& bound, const schedule::Schedule& schedule,
                   const tensor::PortLayouts& ports) { return passes::lower(bound, schedule, ports); });
}

kernel_proto::BuildRequest request_of(const Kernel& kernel, const space::Candidate& candidate) {
  return driver::kernel_request(kernel.task.kernel, target::host_target().text(),
                                schedule::to_string(kernel.space.schedule_of(candidate)));
}

// One build worker, all the way to a loadable artifact; counters are milliseconds a candidate by phase.
void build(benchmark::State& state) {
  auto pool = driver::BuildPool::create({.workers = 1});
  if (!pool.ok()) return state.SkipWithError(pool.status().ToString().c_str());
  std::map<std::string, double> phases;
  size_t i = 0, failed = 0;
  for (auto _ : state) {
    const auto reply = (*pool)->build(request_of(kernel_at(i), candidate_at(i).candidate));
    if (!reply.ok()) return state.SkipWithError(reply.status().ToString().c_str());
    failed += reply->code() != 0;
    for (const kernel_proto::PhaseTime& phase : reply->phases())
      phases[phase.phase()] += static_cast<double>(phase.duration_ns()) * 1e-6;
    ++i;
  }
  state.counters["candidates"] = rate(static_cast<double>(i));
  state.counters["failed"] = static_cast<double>(failed);
  for (const auto& [name, ms] : phases)
    state.counters[name + "_ms"] = benchmark::Counter(ms, benchmark::Counter::kAvgIterations);
}

// Some of the tasks whose runs take about a millisecond or less.
const std::vector<session::Task>& short_tasks() {
  static const std::vector<session::Task> some = [] {
    constexpr double kMostFlops = 60e6;
    std::vector<session::Task> found;
    for (const auto& kernel : kernels())
      if (tensor::count_flops(kernel->bound) <= kMostFlops && found.size() < 4) found.push_back(kernel->task);
    return found;
  }();
  return some;
}

// The embedded tuner from an empty database, as `tuner tune` puts it together.
void tune(benchmark::State& state, const std::vector<session::Task>& tasks, bool finals, int trials) {
  const tuner_cli::CpuSplit split = tuner_cli::split_cpus(tuner_cli::allowed_cpus(), kThreads);
  session::Progress progress;
  for (auto _ : state) {
    const TemporaryFolder folder = *TemporaryFolder::make();
    auto store = database::open_sqlite_store(folder.path() + "/tune.db");
    auto runner = measure::LocalRunner::start({.cpus = split.measure, .spare_cpus = split.rest});
    if (!store.ok() || !runner.ok()) return state.SkipWithError("no store, or no runner");
    stay_on(split.rest);
    auto builder =
        driver::BuildPool::create({.workers = static_cast<int>(split.build.size()), .cpus = split.build});
    if (!builder.ok()) return state.SkipWithError(builder.status().ToString().c_str());
    const std::atomic<bool> stop = false;
    auto result = session::tune(tasks,
                                {.target = target::host_target(),
                                 .threads = kThreads,
                                 .budget = {.trials = trials},
                                 .takes_turns = split.takes_turns,
                                 .has_no_cpu = split.rest.empty(),
                                 .finals = finals,
                                 .calibration = false},  // they take as long whatever the trials
                                **builder, **runner, **store, stop, [](const session::Progress&) {});
    if (!result.ok()) return state.SkipWithError(result.status().ToString().c_str());
    progress = *std::move(result);
  }
  state.counters["trials"] = static_cast<double>(progress.trials());
  state.counters["trials_per_s"] =
      static_cast<double>(progress.trials() - progress.failures()) / progress.elapsed_s();
  state.counters["twins"] = static_cast<double>(progress.duplicates());
  state.counters["gap_ms"] = progress.median_gap_s() * 1e3;
  state.counters["failures"] = static_cast<double>(progress.failures());
  state.counters["device_busy_share"] = progress.device_busy_share();
}

}  // namespace
}  // namespace tf

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  int trials = 20;
  for (int i = 1; i < argc; ++i) {
    constexpr std::string_view kTrials = "--trials=";
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kTrials)) continue;
    const char *const begin = argv[i] + kTrials.size(), *const end = argument.data() + argument.size();
    const auto [read, wrong] = std::from_chars(begin, end, trials);
    if (wrong == std::errc() && read == end && trials >= 1 && trials <= 1000000) continue;
    std::fprintf(stderr, "search_bench: %s is not a whole number from 1 to 1000000\n", argv[i]);
    return tf::kExitUsage;
  }
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("compile", tf::compile)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("mutate", tf::mutate)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("roofline", tf::roofline)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("train", tf::train)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("score", tf::score)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("propose", tf::propose)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("loops_hash", tf::loops_hash)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("lower", tf::lower)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("build", tf::build)->Iterations(trials)->UseRealTime()->Unit(benchmark::kMillisecond);
  // The last: it keeps this process off the CPU that measures.
  RegisterBenchmark(
      "tune_short_kernels",
      [trials](benchmark::State& state) { tf::tune(state, tf::short_tasks(), false, 2 * trials); })
      ->Iterations(1)
      ->UseRealTime()
      ->Unit(benchmark::kSecond);
  RegisterBenchmark("tune", [trials](benchmark::State& state) { tf::tune(state, tf::tasks(), true, trials); })
      ->Iterations(1)
      ->UseRealTime()
      ->Unit(benchmark::kSecond);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
