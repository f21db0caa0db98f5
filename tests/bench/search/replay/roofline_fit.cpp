#include "tests/bench/search/replay/roofline_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/status.h"
#include "tests/bench/search/replay/named_constants.h"
#include "tests/bench/search/replay/quality.h"
#include "tuner/space/space.h"

namespace tf::replay {
namespace {

constexpr double kSpreadWeight = 0.25;
constexpr double kDoubt = 0.1;  // of a constant e times what is expected
constexpr double kLeastGain = 1e-5;

double fitness(const MeasuredTask& task, const model::RooflineConstants& constants) {
  model::RooflineOptions options = task.options;
  options.constants = constants;
  std::vector<Ranked> ranked;
  std::vector<double> errors;
  for (const Measured& candidate : task.candidates) {
    const double estimated = model::roofline_of(candidate.nests, task.target, options).seconds.constant();
    ranked.push_back({.seconds = candidate.seconds, .score = -estimated});
    errors.push_back(std::log(candidate.seconds / estimated));
  }
  const double count = std::max<double>(1, static_cast<double>(errors.size()));
  const double mean = std::reduce(errors.begin(), errors.end()) / count;
  double spread = 0;
  for (const double error : errors) spread += std::fabs(error - mean);
  return pairwise_accuracy(ranked).value_or(0.5) - kSpreadWeight * spread / count;
}

// Tries a constant larger and smaller; whether one of the two was better and is kept.
bool improve(const NamedConstant& name, double step, std::span<const MeasuredTask* const> tasks,
             const model::RooflineConstants& expected, model::RooflineConstants& constants, double& best) {
  double& value = name.of(constants);
  const double before = value;
  for (const double times : {1 + step, 1 / (1 + step)}) {
    value = before * times;
    const double now = fitness(tasks, constants, expected);
    if (now > best + kLeastGain) {
      best = now;
      return true;
    }
  }
  value = before;
  return false;
}

}  // namespace

model::RooflineConstants expected_constants() {
  return {.spill_cycles = 20,  // a store of a whole vector, its load again, and the wait in between
          .spill_each = 1,
          .window_spill = 2,
          .free_broadcast = 0.025,
          .row_broadcast_cycles = 1.0 / 6,  // six instructions are dispatched a cycle
          .gathered_lane = 5,
          .accumulator_cycles = 2,
          .wanted_share = 0.95,
          .look_ahead = 100,
          .fma_latency = 4,
          .long_code = 0.03,
          .short_code = 100,
          .guarded_reduction = 1.05,
          .overlap = 0.2,
          .written = 0.8,
          .l2_bytes = 40,
          .l2_run = 3,
          .l3_bytes = 24,
          .l3_run = 5,
          .memory_bytes = 10,
          .memory_run = 50,
          .l1 = {0.5, 0.5},
          .l2 = {0.9, 0.4},
          .shared = {0.9, 0.4},
          .l1_sets = {1, 1.5},
          .l2_sets = {1, 1}};
}

double fitness(std::span<const MeasuredTask* const> tasks, const model::RooflineConstants& constants,
               const model::RooflineConstants& expected) {
  double sum = 0, surprise = 0;
  for (const MeasuredTask* task : tasks) sum += fitness(*task, constants);
  model::RooflineConstants here = constants, there = expected;
  for (const NamedConstant& name : roofline_constants()) {
    const double away = std::log(name.of(here) / name.of(there));
    surprise += away * away;
  }
  return sum / std::max<double>(1, static_cast<double>(tasks.size())) - kDoubt * surprise;
}

model::RooflineConstants fit(std::span<const MeasuredTask* const> tasks,
                             const model::RooflineConstants& expected, int rounds) {
  constexpr double kFirstStep = 0.3, kLeastStep = 0.02, kMostStep = 2;
  model::RooflineConstants constants = expected;
  const std::span<const NamedConstant> names = roofline_constants();
  std::vector<double> steps(names.size(), kFirstStep);
  double best = fitness(tasks, constants, expected);
  for (int round = 0; round < rounds; ++round) {
    const double before = best;
    for (size_t i = 0; i < names.size(); ++i) {
      if (steps[i] < kLeastStep) continue;
      const bool better = improve(names[i], steps[i], tasks, expected, constants, best);
      steps[i] = better ? std::min(kMostStep, 1.5 * steps[i]) : steps[i] / 2;
    }
    const bool is_fine = std::ranges::all_of(steps, [](double step) { return step < kFirstStep / 3; });
    if (best - before < kLeastGain && is_fine) break;
  }
  return constants;
}

namespace {

// Of each example what the roofline model sees; of failures, and of what cannot be applied any more, no
// nests.
absl::StatusOr<std::vector<std::vector<model::Nest>>> nests_of(const TaskExamples& task,
                                                               const target::Target& target, int threads) {
  const tensor::KernelSpec& kernel = task.task->task.kernel;
  TF_ASSIGN_OR_RETURN(const tensor::Workload bound, tensor::bind(kernel.workload, kernel.binding));
  const space::DesignSpace space =
      space::generate_space({.workload = bound, .ports = kernel.ports, .target = target, .threads = threads});
  std::vector<std::vector<model::Nest>> all(task.examples.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const absl::StatusOr<schedule::Schedule> schedule = schedule::parse_schedule(task.examples[i].schedule);
    if (!schedule.ok()) continue;
    const absl::StatusOr<schedule::State> state = schedule::apply(bound, *schedule);
    if (state.ok()) all[i] = model::summarize(*state, space.ports, target);
  }
  return all;
}

// At most `most` of those within three times the best, evenly over the order of their records.
MeasuredTask sample_near(const TaskExamples& task, std::span<const std::vector<model::Nest>> nests,
                         const MeasuredTask& empty, int64_t most) {
  double best = 0;
  for (const Example& example : task.examples)
    if (example.seconds > 0 && (best == 0 || example.seconds < best)) best = example.seconds;
  std::vector<size_t> near;
  for (size_t i = 0; i < nests.size(); ++i) {
    const double seconds = task.examples[i].seconds;
    if (seconds > 0 && seconds <= 3 * best && !nests[i].empty()) near.push_back(i);
  }
  MeasuredTask sample = empty;
  const size_t count = std::min(near.size(), static_cast<size_t>(most));
  for (size_t k = 0; k < count; ++k) {
    const size_t i = near[k * near.size() / count];
    sample.candidates.push_back({nests[i], task.examples[i].seconds});
  }
  return sample;
}

ModelQuality judge(std::string model, const TaskExamples& task,
                   std::span<const std::vector<model::Nest>> nests, const MeasuredTask& like,
                   const model::RooflineConstants& constants, const model::FittedOn& fitted_on) {
  ModelQuality quality{.model = std::move(model),
                       .task = task.task->task.label,
                       .replicates = task.replicates,
                       .ranked = {},
                       .truth = {}};
  model::RooflineOptions options = like.options;
  options.constants = constants;
  options.fitted_on = fitted_on;
  for (size_t i = 0; i < nests.size(); ++i) {
    if (nests[i].empty()) continue;
    const double estimated = model::roofline_of(nests[i], like.target, options).seconds.constant();
    quality.ranked.push_back({task.examples[i].seconds, -estimated, task.examples[i].late});
  }
  quality.truth = ranked_by_the_truth(quality.ranked, task.disagreements);
  return quality;
}

}  // namespace

absl::StatusOr<Refits> refit(std::span<const TaskExamples> tasks, const target::Target& target, int threads,
                             const model::MeasuredRates& measured, int64_t most, int rounds) {
  std::vector<std::vector<std::vector<model::Nest>>> nests;
  std::vector<MeasuredTask> samples;
  std::set<std::string> families = {""};
  for (const TaskExamples& task : tasks) {
    TF_ASSIGN_OR_RETURN(nests.emplace_back(), nests_of(task, target, threads));
    const MeasuredTask empty{.target = target,
                             .options = {.threads = threads,
                                         .reuse_distance_bytes = task.task->task.kernel.reuse_distance_bytes,
                                         .measured = measured,
                                         .fitted_on = {}},
                             .candidates = {}};
    samples.push_back(sample_near(task, nests.back(), empty, most));
    families.insert(task.task->family);
  }
  Refits refits;
  for (const std::string& without : families) {
    std::vector<const MeasuredTask*> learned;
    for (size_t t = 0; t < tasks.size(); ++t)
      if (tasks[t].task->family != without) learned.push_back(&samples[t]);
    if (!learned.empty()) refits.fits.push_back({without, fit(learned, expected_constants(), rounds)});
  }
  for (size_t t = 0; t < tasks.size(); ++t) {
    const auto judged = [&](std::string model, const model::RooflineConstants& constants,
                            const model::FittedOn& fitted_on = {}) {
      refits.qualities.push_back(
          judge(std::move(model), tasks[t], nests[t], samples[t], constants, fitted_on));
    };
    judged("roofline", {}, model::kFittedOn);
    judged("roofline, expected", expected_constants());
    for (const Refit& fit : refits.fits) {
      if (fit.without.empty()) judged("roofline, refitted", fit.constants);
      if (fit.without == tasks[t].task->family) judged("roofline, held out", fit.constants);
    }
  }
  return refits;
}

}  // namespace tf::replay
