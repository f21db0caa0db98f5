#include "tuner/model/learned/loss.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace tf::model {
namespace {

constexpr int kPartners = 16;      // an example
constexpr double kSlowest = 1e-3;  // the speed that a failure counts as
constexpr double kNoise = 0.03;    // logarithm of ratios that timing cannot tell apart
constexpr double kSame = 0.005;    // of those that teach nothing even on average over many pairs
constexpr double kSharpness = 2;   // of the order's likelihood, for a factor of two

double log_speed(const Example& example) {
  return std::log2(std::max(example.speed, kSlowest));
}

std::map<int, std::vector<size_t>> by_task(std::span<const Example> examples) {
  std::map<int, std::vector<size_t>> of_task;
  for (size_t i = 0; i < examples.size(); ++i) of_task[examples[i].task].push_back(i);
  return of_task;
}

}  // namespace

Gradient pair_gradient(std::span<const Example> examples, std::span<const float> scores, uint64_t seed) {
  Gradient gradient{std::vector<float>(examples.size()), std::vector<float>(examples.size(), 1e-6f)};
  const std::map<int, std::vector<size_t>> of_task = by_task(examples);
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < examples.size(); ++i) {
    const std::vector<size_t>& others = of_task.at(examples[i].task);
    for (int k = 0; k < kPartners; ++k) {
      size_t faster = i, slower = others[random() % others.size()];
      if (log_speed(examples[faster]) < log_speed(examples[slower])) std::swap(faster, slower);
      const double apart = log_speed(examples[faster]) - log_speed(examples[slower]);
      // One that was stopped early may be slower than its bound, but is no faster.
      if (apart < kSame || examples[faster].upper_bound) continue;
      // By the root, so that near ties, which are what is left to tell apart late in a search, weigh
      // something.
      const double weight =
          std::sqrt(std::min(apart, 1.0)) * (0.05 + std::max(examples[faster].speed, kSlowest));
      const double wrong = 1 / (1 + std::exp(kSharpness * (scores[faster] - scores[slower])));
      const auto first = static_cast<float>(weight * kSharpness * wrong);
      const auto second = static_cast<float>(weight * kSharpness * kSharpness * wrong * (1 - wrong));
      gradient.first[faster] -= first;
      gradient.first[slower] += first;
      gradient.second[faster] += second;
      gradient.second[slower] += second;
    }
  }
  return gradient;
}

std::vector<double> order_accuracies(std::span<const Example> examples, std::span<const float> scores) {
  constexpr double kNear = 3;  // times the best
  const double apart = std::exp2(kNoise);
  std::vector<double> accuracies;
  for (const auto& [task, members] : by_task(examples)) {
    std::vector<size_t> near;
    for (const size_t i : members)
      if (examples[i].speed * kNear >= 1) near.push_back(i);
    double right = 0, pairs = 0;
    for (const size_t a : near) {
      for (const size_t b : near) {
        if (examples[a].upper_bound || examples[a].speed < examples[b].speed * apart) continue;
        ++pairs;
        right += scores[a] > scores[b] ? 1 : scores[a] == scores[b] ? 0.5 : 0;
      }
    }
    accuracies.push_back(pairs > 0 ? right / pairs : 0.5);
  }
  return accuracies;
}

Gradient speed_gradient(std::span<const Example> examples, std::span<const float> scores) {
  Gradient gradient;
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto speed = static_cast<float>(examples[i].speed);
    const float weight = std::max(speed, 0.05f);
    gradient.first.push_back(weight * (scores[i] - speed));
    gradient.second.push_back(weight);
  }
  return gradient;
}

}  // namespace tf::model
