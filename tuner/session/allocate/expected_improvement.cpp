#include "tuner/session/allocate/expected_improvement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "base/statistics/race.h"

namespace tf::session {
namespace {

// Until something ran, a task's time follows its arithmetic and its traffic at a modest rate.
double work_seconds(const TaskState& task) {
  return std::max(task.space().flops() / 20e9, task.space().bytes() / 5e9);
}

// Of a trial, beside its samples: building, loading, checking. A guess, so that the same results give the
// same order of tasks however fast the machine was when they were measured.
constexpr double kTrialSeconds = 0.04;

}  // namespace

std::vector<ExpectedImprovement> improvements_of(std::span<const OpenTask> tasks) {
  std::map<std::string, int> groups;
  std::vector<ExpectedImprovement> improvements;
  for (const OpenTask& task : tasks) {
    const TaskState& state = *task.state;
    const TaskState::Prediction prediction = state.prediction();
    const double work = work_seconds(state);
    const int group =
        groups.try_emplace(state.space().families(), static_cast<int>(groups.size())).first->second;
    improvements.push_back({.weight = state.task().weight * state.task().importance,
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
    runs.push_back(improvement.weight > 0 ? improvement.weight : 1);
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
