// How to measure one job on several boards that are not quite alike: a simulation of a search whose trials
// are pinned to boards by task, or spread over all of them with no, a common, or a correction by task. Prints
// how far from the fastest kernel each way ends after the same time, in percent, geometric means over many
// runs.
//
// A board takes 1 + U(-5%, 5%) times as long as its kind, and of each task 1 + N(0, 1%) times that. One board
// in eight throttles: it slows down by a quarter in the middle of the run. One trial's time is off by
// N(0, 1.5%), what all samples of a process have in common (kShared in base/statistics/race.h bounds it). A
// search proposes variants of the best that it knows by what it was told. In the end, the eight that look
// fastest meet on one board, sixteen rounds.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tuner/measure/device_scale.h"

namespace {

using tf::measure::DeviceScale;

constexpr int kBoards = 8;
constexpr double kSpeeds = 0.05, kOfTask = 0.01, kThrottled = 1.25, kNoise = 0.015;
constexpr int kFinalists = 8, kRounds = 16;

enum class Way { kOneBoard, kPinned, kRaw, kCommon, kByTask };
constexpr const char* kNames[] = {"one board", "pinned by task", "spread", "spread, common factor",
                                  "spread, factor by task"};

struct Candidate {
  double seconds = 0;  // on a board as its kind
  double told = 0;     // what was measured, corrected
};

struct Task {
  std::vector<Candidate> tried;
  double best = 1e9, told_best = 1e9;  // by what was told
};

class Run {
 public:
  Run(Way way, int tasks, int rounds, unsigned seed)
      : way_(way), random_(seed), tasks_(static_cast<size_t>(tasks)) {
    std::uniform_real_distribution<double> speed(1 - kSpeeds, 1 + kSpeeds);
    std::normal_distribution<double> of_task(1, kOfTask);
    for (int board = 0; board < kBoards; ++board) {
      speeds_.push_back(speed(random_));
      for (int task = 0; task < tasks; ++task) of_task_[{board, task}] = of_task(random_);
    }
    for (int round = 0; round < rounds; ++round) play(round, rounds);
  }

  // How much slower than the fastest kernel there is, as a logarithm; mean over tasks.
  double regret() {
    double sum = 0;
    for (int task = 0; task < static_cast<int>(tasks_.size()); ++task) sum += std::log(winner(task));
    return sum / static_cast<double>(tasks_.size());
  }

 private:
  // All boards measure one trial each.
  void play(int round, int rounds) {
    const bool is_late = round > rounds / 2;
    const int boards = way_ == Way::kOneBoard ? 1 : kBoards;
    for (int board = 0; board < boards; ++board) {
      const int tasks = static_cast<int>(tasks_.size());
      int task = (round * boards + board) % tasks;
      if (way_ == Way::kPinned) {
        // Each task on its board; boards without one have nothing to do.
        std::vector<int> own;
        for (int each = 0; each < tasks; ++each)
          if (each % kBoards == board) own.push_back(each);
        if (own.empty()) continue;
        task = own[static_cast<size_t>(round) % own.size()];
      }
      if (way_ != Way::kOneBoard && reads_gauge(board, task, is_late)) continue;
      measure(board, task, is_late);
    }
  }

  // A reading takes the time of a trial.
  bool reads_gauge(int board, int task, bool is_late) {
    if (way_ != Way::kCommon && way_ != Way::kByTask) return false;
    DeviceScale& scale = scales_[way_ == Way::kByTask ? task : 0];
    const std::string name = "b" + std::to_string(board);
    const auto due = scale.due(name, true);
    if (!due) return false;
    const int gauge = std::atoi(due->c_str());
    scale.add(name, *due, time_on(board, gauge, untuned_, is_late) * 1e9);
    return true;
  }

  void measure(int board, int index, bool is_late) {
    Task& task = tasks_[static_cast<size_t>(index)];
    const std::string name = "b" + std::to_string(board);
    const double seconds = task.tried.empty() ? untuned_ : proposal(task);
    double told = time_on(board, index, seconds, is_late);
    if (way_ == Way::kCommon || way_ == Way::kByTask) {
      DeviceScale& scale = scales_[way_ == Way::kByTask ? index : 0];
      const std::string gauge = std::to_string(index);
      if (task.tried.empty()) scale.add(name, gauge, told * 1e9);
      told /= scale.factor(name);
      scale.count_trial(name);
    }
    task.tried.push_back({seconds, told});
    if (told < task.told_best) task.told_best = told, task.best = seconds;
  }

  // A variant of what looks best, mostly slower. What is left to gain shrinks, and so do the steps.
  double proposal(const Task& task) {
    const double left = task.best - 1;
    std::normal_distribution<double> step(0.1 * left + 0.02, 0.25 * left + 0.02);
    return 1 + std::abs(left + step(random_));
  }

  double time_on(int board, int task, double seconds, bool is_late) {
    std::normal_distribution<double> noise(0, kNoise);
    const double heat = board == kBoards - 1 && is_late ? kThrottled : 1;
    return seconds * speeds_[static_cast<size_t>(board)] * of_task_[{board, task}] * heat *
           std::exp(noise(random_));
  }

  // The final re-measurement, on one board.
  double winner(int index) {
    std::vector<Candidate>& tried = tasks_[static_cast<size_t>(index)].tried;
    std::ranges::sort(tried, {}, &Candidate::told);
    const int board = index % (kBoards - 1);
    double best = 0, best_told = 1e9;
    for (size_t i = 0; i < std::min<size_t>(kFinalists, tried.size()); ++i) {
      double told = 0;
      for (int round = 0; round < kRounds; ++round) told += time_on(board, index, tried[i].seconds, false);
      if (told < best_told) best_told = told, best = tried[i].seconds;
    }
    return best;
  }

  static constexpr double untuned_ = 2;
  const Way way_;
  std::mt19937 random_;
  std::vector<Task> tasks_;
  std::vector<double> speeds_;
  std::map<std::pair<int, int>, double> of_task_;
  std::map<int, DeviceScale> scales_;  // by task, or one for all
};

double percent(Way way, int tasks, int rounds, int runs) {
  double sum = 0;
  for (int run = 0; run < runs; ++run)
    sum += Run(way, tasks, rounds, static_cast<unsigned>(run + 1)).regret();
  return 100 * (std::exp(sum / runs) - 1);
}

}  // namespace

int main() {
  constexpr int kRuns = 200;
  std::printf("%-24s %10s %10s %10s\n", "slower than the fastest", "1 task", "6 tasks", "30 tasks");
  for (const Way way : {Way::kOneBoard, Way::kPinned, Way::kRaw, Way::kCommon, Way::kByTask}) {
    std::printf("%-24s", kNames[static_cast<int>(way)]);
    // So many trials of each task where all boards measure.
    for (const int tasks : {1, 6, 30})
      std::printf("  %8.2f%%", percent(way, tasks, 160 * tasks / kBoards, kRuns));
    std::printf("\n");
  }
  return 0;
}
