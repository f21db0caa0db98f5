#include "tuner/session/network_trial.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/status.h"
#include "base/temporary_folder.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/driver/turns.h"
#include "compiler/records/plan.h"
#include "compiler/schedule/schedule.h"

namespace tf::session {
namespace {

using Clock = std::chrono::steady_clock;
using driver::LoadedModel;

// A plan, and what its build took.
struct Side {
  records::Plan plan;
  std::optional<TemporaryFolder> folder;
  std::vector<double> runs_ns;                 // of the network, one a round
  std::vector<std::vector<double>> kernel_ns;  // of each task, summed over its calls, one a round
};

absl::Status build(Side& side, driver::BuildPool& pool, const NetworkTrialOptions& options) {
  TF_ASSIGN_OR_RETURN(side.folder, TemporaryFolder::make());
  return driver::build_model(side.plan.program, side.plan.choices, pool,
                             {.target = options.target,
                              .threads = options.threads,
                              .allowed_numerics = options.allowed_numerics,
                              .folder = side.folder->path()})
      .status();
}

// Kernels are told in order of execution, which is that of the program's calls; the last rounds are the timed
// ones.
void take_kernel_times(const LoadedModel& model, size_t rounds, Side& side) {
  const graph::Program& program = side.plan.program;
  side.kernel_ns.assign(program.tasks.size(), std::vector<double>(rounds, 0));
  const std::vector<driver::KernelTime>& kernels = model.kernel_times();
  for (size_t i = 0; i < std::min(kernels.size(), program.calls.size()); ++i) {
    const std::vector<double>& samples_ns = kernels[i].samples_ns;
    std::vector<double>& sums_ns = side.kernel_ns[static_cast<size_t>(program.calls[i].task)];
    for (size_t r = 0; r < rounds; ++r) sums_ns[r] += samples_ns[samples_ns.size() - rounds + r];
  }
}

absl::Status run_here(std::span<Side* const> sides, const NetworkTrialOptions& options) {
  std::vector<std::unique_ptr<LoadedModel>> models;
  std::vector<LoadedModel*> in_turn;
  for (const Side* side : sides) {
    TF_ASSIGN_OR_RETURN(models.emplace_back(), LoadedModel::open(side->folder->path(), options.threads));
    LoadedModel& model = *models.back();
    TF_RETURN_IF_ERROR(model.set_affinity(options.cpus));
    TF_RETURN_IF_ERROR(model.bind(driver::random_inputs(model, 1)));
    model.profile();
    in_turn.push_back(&model);
  }
  const auto is_late = [&] { return Clock::now() >= options.deadline; };
  TF_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> runs_ns,
                      driver::run_in_turns(in_turn, {.is_enough = is_late}));
  for (size_t i = 0; i < sides.size(); ++i) {
    sides[i]->runs_ns = runs_ns[i];
    take_kernel_times(*models[i], runs_ns[i].size(), *sides[i]);
  }
  return absl::OkStatus();
}

// In a thread of its own, which stays on the CPUs.
absl::Status run(std::span<Side* const> sides, const NetworkTrialOptions& options) {
  absl::Status status;
  std::thread([&] { status = run_here(sides, options); }).join();
  return status;
}

// Where both builds have the same kernel, between the same layouts.
struct Pair {
  size_t untuned = 0, tuned = 0;  // tasks
};
std::vector<Pair> pairs_of(const Side& untuned, const Side& tuned) {
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < untuned.plan.program.tasks.size(); ++i)
    known.emplace(graph::task_key(untuned.plan.program.tasks[i]), i);
  std::vector<Pair> pairs;
  for (size_t i = 0; i < tuned.plan.program.tasks.size(); ++i) {
    const auto found = known.find(graph::task_key(tuned.plan.program.tasks[i]));
    if (found != known.end() && tuned.plan.choices[i]) pairs.push_back({found->second, i});
  }
  return pairs;
}

// What a kernel took inside its network, as one more measurement of its schedule.
absl::Status record(database::Measurement row, const std::vector<double>& sums_ns, int64_t calls,
                    const NetworkTrialOptions& options, database::Store& store) {
  row.samples.clear();
  for (const double ns : sums_ns)
    row.samples.push_back({std::max<int64_t>(1, static_cast<int64_t>(ns)), static_cast<uint32_t>(calls)});
  row.cache_mode = database::CacheMode::kNetwork;
  row.lease.reset();
  row.match.reset();
  row.job_id = options.job_id;
  row.finished_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  return store.insert(row).status();
}

// The records of the tuned build's schedule of the task and of the untuned one; nothing if these are the
// same, or the untuned one has none.
struct Rivals {
  database::Measurement tuned, untuned;
};
absl::StatusOr<std::optional<Rivals>> rivals(const driver::ScheduleChoice& choice,
                                             const NetworkTrialOptions& options, database::Store& store) {
  TF_ASSIGN_OR_RETURN(const Digest digest, Digest::from_hex(choice.record));
  TF_ASSIGN_OR_RETURN(database::Measurement tuned, store.find_record(digest));
  if (tuned.untuned) return std::nullopt;
  const database::BestQuery query{.problem = tuned.problem,
                                  .device_class = options.device_class,
                                  .allowed_numerics = options.allowed_numerics,
                                  .semantics_version = schedule::kSemanticsVersion,
                                  .only_untuned = true};
  TF_ASSIGN_OR_RETURN(std::vector<database::Measurement> untuned, store.top(query, 1));
  if (untuned.empty() || !(untuned.front().problem == tuned.problem)) return std::nullopt;
  return Rivals{std::move(tuned), std::move(untuned.front())};
}

absl::Status compare_kernels(const Side& untuned, const Side& tuned, const NetworkTrialOptions& options,
                             database::Store& store, NetworkTrial& trial) {
  for (const Pair& pair : pairs_of(untuned, tuned)) {
    TF_ASSIGN_OR_RETURN(const std::optional<Rivals> both,
                        rivals(*tuned.plan.choices[pair.tuned], options, store));
    if (!both) continue;
    const std::vector<double>&ours_ns = tuned.kernel_ns[pair.tuned],
          &theirs_ns = untuned.kernel_ns[pair.untuned];
    const int64_t ours = tuned.plan.program.tasks[pair.tuned].count;
    const int64_t theirs = untuned.plan.program.tasks[pair.untuned].count;
    TF_RETURN_IF_ERROR(record(both->tuned, ours_ns, ours, options, store));
    TF_RETURN_IF_ERROR(record(both->untuned, theirs_ns, theirs, options, store));
    trial.faster += estimate(ours_ns).high_ns / static_cast<double>(ours) <
                    estimate(theirs_ns).low_ns / static_cast<double>(theirs);
  }
  return absl::OkStatus();
}

// The fastest by its own time, sure or not: the network is about to tell.
class FastestSource final : public driver::ScheduleSource {
 public:
  FastestSource(database::Records& records, const NetworkTrialOptions& options)
      : records_(records), options_(options) {}

  absl::StatusOr<std::optional<driver::ScheduleChoice>> find(const driver::ScheduleQuery& query) override {
    database::BestQuery fastest{.device_class = options_.device_class,
                                .allowed_numerics = options_.allowed_numerics,
                                .semantics_version = schedule::kSemanticsVersion};
    TF_ASSIGN_OR_RETURN(fastest.problem, records::problem_of(query));
    TF_ASSIGN_OR_RETURN(const std::vector<database::Measurement> found, records_.top(fastest, 1));
    if (found.empty()) return std::nullopt;
    const database::Measurement& record = found.front();
    return driver::ScheduleChoice{record.schedule, database::record_digest(record).hex(),
                                  record.median_ns().value_or(0),
                                  record.problem.reuse_distance_bytes == query.reuse_distance_bytes};
  }

 private:
  database::Records& records_;
  const NetworkTrialOptions& options_;
};

absl::StatusOr<records::Plan> plan(const graph::Graph& network, database::Store& store,
                                   const NetworkTrialOptions& options) {
  records::BestSource source(store, options.device_class, options.allowed_numerics);
  return records::plan_network(source, network, options.target, options.threads);
}

// Of the kernels with a record, those with another schedule than the untuned one.
absl::StatusOr<int> count_tuned(const records::Choices& choices, database::Store& store) {
  int tuned = 0;
  for (const auto& choice : choices) {
    if (!choice) continue;
    TF_ASSIGN_OR_RETURN(const Digest digest, Digest::from_hex(choice->record));
    TF_ASSIGN_OR_RETURN(const database::Measurement record, store.find_record(digest));
    tuned += !record.untuned;
  }
  return tuned;
}

void summarise(const Side& untuned, const Side& tuned, NetworkTrial& trial) {
  trial.untuned_ns = estimate(untuned.runs_ns).median_ns;
  trial.tuned_ns = estimate(tuned.runs_ns).median_ns;
  trial.ratio = driver::ratio_of(tuned.runs_ns, untuned.runs_ns);
}

}  // namespace

double network_trial_seconds(size_t kernels) {
  return 6 + 0.2 * static_cast<double>(kernels);
}

absl::StatusOr<NetworkTrial> try_network(const graph::Graph& network, database::Store& store,
                                         driver::BuildPool& pool, const NetworkTrialOptions& options) {
  Side untuned, tuned;
  TF_ASSIGN_OR_RETURN(untuned.plan, records::plan_untuned(network, options.target));
  TF_RETURN_IF_ERROR(build(untuned, pool, options));
  FastestSource fastest(store, options);
  TF_ASSIGN_OR_RETURN(tuned.plan, records::plan_network(fastest, network, options.target, options.threads));
  TF_RETURN_IF_ERROR(build(tuned, pool, options));
  Side* const both[] = {&untuned, &tuned};
  const Clock::time_point began = Clock::now();
  TF_RETURN_IF_ERROR(run(both, options));
  const Clock::duration took = Clock::now() - began;
  NetworkTrial trial{.kernels = static_cast<int>(tuned.plan.program.tasks.size())};
  summarise(untuned, tuned, trial);
  TF_ASSIGN_OR_RETURN(const int before, count_tuned(tuned.plan.choices, store));
  TF_RETURN_IF_ERROR(compare_kernels(untuned, tuned, options, store, trial));
  TF_ASSIGN_OR_RETURN(tuned.plan, plan(network, store, options));
  TF_ASSIGN_OR_RETURN(trial.tuned, count_tuned(tuned.plan.choices, store));
  trial.put_back = std::max(0, before - trial.tuned);
  if (trial.put_back == 0 || Clock::now() + 2 * took >= options.deadline) return trial;
  TF_RETURN_IF_ERROR(build(tuned, pool, options));
  TF_RETURN_IF_ERROR(run(both, options));
  summarise(untuned, tuned, trial);
  return trial;
}

}  // namespace tf::session
