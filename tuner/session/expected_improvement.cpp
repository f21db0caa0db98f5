#include "tuner/session/expected_improvement.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "base/race.h"

namespace tf::session {
namespace {

// Until something ran, a task's time follows its arithmetic and its traffic at a modest rate.
double work_seconds(const TaskState& task) {
  return std::max(task.space().flops() / 20e9, task.space().bytes() / 5e9);
}

// Of a trial, beside its samples: building, loading, checking. A guess, so that the same results give the
// same order of tasks however fast the machine was when they were measured.
constexpr double kTrialSeconds = 0.04;

// How many results the kernels that a flip needs have, or those that it replaces: on average of their time,
// because one that takes little gets few trials. An exhausted one has all there are, however few.
int64_t results_of(const LayoutFlip& flip, bool replaced, std::span<const OpenTask> tasks) {
  double seconds = 0, results = 0;
  for (const auto& [index, runs] : flip) {
    const OpenTask& task = tasks[index];
    if ((runs < 0) != replaced || task.exhausted) continue;
    const double taken = static_cast<double>(std::abs(runs)) * task.state->best_seconds();
    seconds += taken;
    results += taken * static_cast<double>(task.state->results());
  }
  return seconds > 0 ? std::llround(results / seconds) : std::numeric_limits<int64_t>::max();
}

// The odds that a flip comes true: even where it costs nothing, e times worse for each such share of what it
// replaces. What the graph does not list any more (a quarter) would have 1 to 12. Kernels are compared after
// as many results of each, because those that were tried more often are faster by that alone.
double odds_of(const LayoutFlip& flip, std::span<const OpenTask> tasks) {
  constexpr double kDoubt = 0.1;
  const int64_t results = std::min(results_of(flip, true, tasks), results_of(flip, false, tasks));
  double more = 0, replaced = 0;
  for (const auto& [index, runs] : flip) {
    const TaskState& state = *tasks[index].state;
    const double known = state.best_seconds_after(results);
    if (runs > 0 && known == 0) return 0;  // it may never work
    const double seconds = static_cast<double>(runs) * (known > 0 ? known : work_seconds(state));
    more += seconds;
    replaced += std::max(0.0, -seconds);
  }
  return replaced > 0 ? std::exp(-more / (kDoubt * replaced)) : 0;
}

// Of each task. Where several flips replace the same runs, one of them comes true at most: there their odds
// add up. Therefore nothing is expected to run less often than never.
std::vector<double> expected_weights(std::span<const OpenTask> tasks, std::span<const LayoutFlip> flips) {
  std::vector<double> weights, replaced(tasks.size());
  for (const OpenTask& task : tasks) weights.push_back(task.state->task().weight);
  std::vector<double> odds;
  for (const LayoutFlip& flip : flips) {
    odds.push_back(odds_of(flip, tasks));
    for (const auto& [index, runs] : flip)
      if (runs < 0) replaced[index] += odds.back() * static_cast<double>(-runs) / weights[index];
  }
  for (size_t i = 0; i < flips.size(); ++i) {
    double against_none = odds[i];
    for (const auto& [index, runs] : flips[i])
      if (runs < 0) against_none = std::max(against_none, replaced[index]);
    for (const auto& [index, runs] : flips[i])
      weights[index] += odds[i] / (1 + against_none) * static_cast<double>(runs);
  }
  return weights;
}

}  // namespace

std::vector<ExpectedImprovement> improvements_of(std::span<const OpenTask> tasks,
                                                 std::span<const LayoutFlip> flips) {
  const std::vector<double> expected = expected_weights(tasks, flips);
  std::map<std::string, int> groups;
  std::vector<ExpectedImprovement> improvements;
  for (const OpenTask& task : tasks) {
    const TaskState& state = *task.state;
    const TaskState::Prediction prediction = state.prediction();
    const double work = work_seconds(state);
    const int group =
        groups.try_emplace(state.space().families(), static_cast<int>(groups.size())).first->second;
    improvements.push_back({.weight = state.task().weight,
                            .expected_weight = expected[improvements.size()],
                            .seconds = state.best_seconds() > 0 ? state.best_seconds() : work,
                            .work_seconds = work,
                            .trial_seconds = kTrialSeconds + state.mean_sampled_seconds(),
                            .group = group,
                            .trials = state.results() + task.under_way,
                            .gained = prediction.gained,
                            .predicted = prediction.predicted,
                            .predicted_before = prediction.predicted_before,
                            .realized = prediction.realized,
                            .reach = prediction.reach,
                            .exhausted = task.exhausted});
  }
  return improvements;
}

std::vector<double> runs_of(std::span<const ExpectedImprovement> improvements) {
  std::vector<double> runs;
  for (const ExpectedImprovement& improvement : improvements)
    runs.push_back(std::max(improvement.weight, improvement.expected_weight));
  return runs;
}

std::vector<bool> that_matter(std::span<const double> stakes, double network) {
  constexpr double kNothing = 0.002;  // of the network, all of them together
  std::vector<size_t> order(stakes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return stakes[a] < stakes[b]; });
  std::vector<bool> matter(stakes.size(), true);
  double together = 0;
  for (const size_t i : order) {
    together += stakes[i];
    if (together >= kNothing * network) break;
    matter[i] = false;
  }
  return matter;
}

std::vector<int64_t> contested(std::span<const std::unique_ptr<TaskState>> tasks,
                               std::span<const ExpectedImprovement> improvements,
                               std::span<const int64_t> tried) {
  const std::vector<double> runs = runs_of(improvements);
  std::vector<double> stakes;
  double network_seconds = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const double seconds = tasks[i]->best_seconds();
    network_seconds += improvements[i].weight * seconds;
    const double unsure = tasks[i]->incumbent().noise + kShared;
    stakes.push_back(tried[i] > 0 ? runs[i] * seconds * unsure : 0);
  }
  const std::vector<bool> matter = that_matter(stakes, network_seconds);
  std::vector<int64_t> left(tried.begin(), tried.end());
  for (size_t i = 0; i < left.size(); ++i)
    if (!matter[i]) left[i] = 0;
  return left;
}

double finals_seconds(std::span<const std::unique_ptr<TaskState>> tasks, std::span<const int64_t> tried,
                      double trials_per_second) {
  // As most final re-measurements are: some are decided early, some have one to decide about. And about as
  // long again take the later turns, in which whoever looks as fast as a winner has to meet it.
  constexpr double kPlayers = 6, kMoreRounds = 6, kTurns = 2;
  if (trials_per_second <= 0) return 0;
  double seconds = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tried[i] == 0 || tasks[i]->best_seconds() <= 0) continue;
    const double again = 0.01 + std::max(0.025, 3 * tasks[i]->best_seconds());
    seconds += kTurns * kPlayers * (1 / trials_per_second + kMoreRounds * again);
  }
  return seconds;
}

}  // namespace tf::session
