#include "tuner/session/allocate/scheduler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

namespace tf::session {
namespace {

constexpr double kPredictionTrials = 16;  // so many trials weigh as much as what the models predict
constexpr double kPredictionMass = 0.1;   // a task: what counts as predicted and realized at first
// A task may become so many times more efficient than the best one of its group: Ansor's beta.
constexpr double kBeyondGroup = 2;
// A task of which nothing is expected is still served at times: expectations may be wrong.
constexpr double kLeastDoubling = 1e-4;

// The share of what the models predicted that came true, over all tasks: they err alike.
double trust(std::span<const ExpectedImprovement> tasks) {
  double predicted_before = 0, realized = 0;
  for (const ExpectedImprovement& task : tasks) {
    predicted_before += task.predicted_before;
    realized += task.realized;
  }
  const double mass = kPredictionMass * static_cast<double>(tasks.size());
  return (realized + mass) / (predicted_before + mass);
}

// Of each group, the most work a second.
std::map<int, double> efficiencies(std::span<const ExpectedImprovement> tasks) {
  std::map<int, double> most;
  for (const ExpectedImprovement& task : tasks)
    most[task.group] = std::max(most[task.group], task.work_seconds / task.seconds);
  return most;
}

double reach_of(const ExpectedImprovement& task, double group_efficiency) {
  const double beyond = task.work_seconds > 0
                            ? std::log(kBeyondGroup * group_efficiency * task.seconds / task.work_seconds)
                            : std::log(kBeyondGroup);
  return std::min(task.reach, beyond);
}

// What the next doubling of a task's trials is expected to gain.
double doubling_of(const ExpectedImprovement& task, double trust, double reach) {
  const auto trials = static_cast<double>(task.trials);
  const double expected =
      (trials * task.gained + kPredictionTrials * trust * task.predicted) / (trials + kPredictionTrials);
  return std::max(kLeastDoubling, std::min(expected, reach));
}

// The network's time that a factor saves by a task's next trial, for each second of it.
double stake(const ExpectedImprovement& task, bool of_network) {
  return (of_network ? task.weight : 1) * task.seconds /
         (static_cast<double>(task.trials) * task.trial_seconds);
}

// Of those that have not had their first trials, who goes first: whoever has none, then by what is at stake; -1: all have.
int next_first(std::span<const ExpectedImprovement> tasks, bool of_network) {
  int next = -1;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const ExpectedImprovement& task = tasks[i];
    if (task.exhausted || (task.weight > 0) != of_network || task.trials >= kFirstTrials) continue;
    if (task.trials == 0) return static_cast<int>(i);
    if (next < 0 || stake(task, of_network) > stake(tasks[static_cast<size_t>(next)], of_network))
      next = static_cast<int>(i);
  }
  return next;
}

// Of those that the network runs, or of the others.
int next_of(std::span<const ExpectedImprovement> tasks, bool of_network) {
  if (const int first = next_first(tasks, of_network); first >= 0) return first;
  const double trusted = trust(tasks);
  std::map<int, double> efficiency = efficiencies(tasks);
  int best = -1;
  double most = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const ExpectedImprovement& task = tasks[i];
    if (task.exhausted || (task.weight > 0) != of_network) continue;
    const double doubling = doubling_of(task, trusted, reach_of(task, efficiency[task.group]));
    const double gain_a_second = doubling * stake(task, of_network);
    if (best < 0 || gain_a_second > most) {
      best = static_cast<int>(i);
      most = gain_a_second;
    }
  }
  return best;
}

}  // namespace

int next_task(std::span<const ExpectedImprovement> tasks) {
  int64_t trials = 1, of_others = 1;  // with the next one
  for (const ExpectedImprovement& task : tasks) {
    trials += task.trials;
    if (task.weight <= 0) of_others += task.trials;
  }
  const bool of_network = of_others * kOneForOtherLayouts > trials;
  const int next = next_of(tasks, of_network);
  return next >= 0 ? next : next_of(tasks, !of_network);
}

// The logarithm of the factor that `more` trials gain.
double Forecast::Course::gain() const {
  return std::min(reach, doubling * std::log2(1 + more / trials));
}

// Network time saved a second of tuning.
double Forecast::Course::slope() const {
  if (gain() >= reach) return 0;
  return weight * seconds * std::exp(-gain()) * doubling / ((trials + more) * trial_seconds);
}

Forecast::Forecast(std::span<const ExpectedImprovement> tasks) {
  const double trusted = trust(tasks);
  std::map<int, double> efficiency = efficiencies(tasks);
  for (const ExpectedImprovement& task : tasks) {
    network_seconds_ += task.weight * task.seconds;
    if (task.exhausted || task.weight <= 0) continue;
    known_ = known_ && task.trials >= kFirstTrials;
    const double reach = std::max(kLeastDoubling, reach_of(task, efficiency[task.group]));
    courses_.push_back({.weight = task.weight,
                        .seconds = task.seconds,
                        .trials = static_cast<double>(std::max<int64_t>(1, task.trials)),
                        .doubling = doubling_of(task, trusted, reach),
                        .reach = reach,
                        .trial_seconds = task.trial_seconds});
  }
}

double Forecast::spend(double trials) {
  constexpr int kPortions = 64;
  if (courses_.empty() || network_seconds_ <= 0) return 0;
  for (int i = 0; i < kPortions; ++i) {
    const auto best =
        std::max_element(courses_.begin(), courses_.end(),
                         [](const Course& a, const Course& b) { return a.slope() < b.slope(); });
    best->more += trials / kPortions;
  }
  double saved = 0;
  for (const Course& course : courses_) saved += course.weight * course.seconds * -std::expm1(-course.gain());
  const double before = spent_gain_;
  spent_gain_ = saved / network_seconds_;
  return spent_gain_ - before;
}

std::optional<int> minutes_until(std::span<const ExpectedImprovement> tasks, double trials_a_minute,
                                 double share, int limit) {
  Forecast forecast(tasks);
  if (!forecast.is_known() || trials_a_minute <= 0) return std::nullopt;
  int minutes = 0;
  while (minutes < limit && forecast.spend(trials_a_minute) >= share) ++minutes;
  return minutes;
}

}  // namespace tf::session
