#include "tests/bench/search/replay/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_format.h"

namespace tf::replay {
namespace {

constexpr size_t kFewTrials = 64;
constexpr size_t kRecall = 30, kTop = 128;

double finite(double value) {
  return std::isfinite(value) ? value : 0;
}

// Share of the best of all that the contender typically has after so many trials; 0: nothing yet.
double quality_after(const Replayed& replay, const Runs& runs, size_t trials) {
  const double seconds = typical_step(runs, trials).best_seconds;
  return std::isfinite(seconds) ? replay.best_seconds / seconds : 0;
}

double share_of_peak(const Replayed& replay, const Runs& runs, size_t trials, double peak_gflops) {
  const double seconds = typical_step(runs, trials).best_seconds;
  return peak_gflops > 0 ? finite(replay.task->flops / seconds * 1e-9 / peak_gflops) : 0;
}

std::vector<std::string> contenders_of(std::span<const Replayed> replays) {
  std::vector<std::string> names;
  if (replays.empty()) return names;
  for (const auto& [name, runs] : replays.front().curves) names.push_back(name);
  return names;
}

std::optional<SameQuality> against(const Replayed& replay, const std::string& contender,
                                   const std::string& baseline) {
  const auto first = replay.curves.find(contender), second = replay.curves.find(baseline);
  if (contender == baseline || second == replay.curves.end() || replay.coverage < 1) return std::nullopt;
  return at_same_quality(first->second, second->second);
}

struct MeanRatio {
  size_t tasks = 0;
  double trials = 1, device_seconds = 1;
};
MeanRatio mean_ratio(std::span<const Replayed> replays, const std::string& contender,
                     const std::string& baseline) {
  std::vector<double> trials, device_seconds;
  for (const Replayed& replay : replays) {
    if (const auto same = against(replay, contender, baseline)) {
      trials.push_back(same->ratio.trials);
      device_seconds.push_back(same->ratio.device_seconds);
    }
  }
  return {trials.size(), geometric_mean(trials), geometric_mean(device_seconds)};
}

void print_row(const Replayed& replay, const std::string& name, const Runs& runs, const std::string& baseline,
               double peak_gflops) {
  const size_t all = most_trials(runs);
  absl::PrintF("%-28s %-14s %4.0f%% %6d %8.1f %6.1f%% %6.1f%% %6.1f%%", replay.task->task.label, name,
               100 * replay.coverage, all, typical_step(runs, all).device_seconds,
               100 * quality_after(replay, runs, kFewTrials), 100 * quality_after(replay, runs, all),
               100 * share_of_peak(replay, runs, kFewTrials, peak_gflops));
  if (const auto same = against(replay, name, baseline)) {
    absl::PrintF(" %5.0f %5.0f %7.3f %7.3f", same->first.trials, same->second.trials, same->ratio.trials,
                 same->ratio.device_seconds);
  }
  absl::PrintF("\n");
}

std::string cell(std::optional<double> value, int decimals) {
  return value ? absl::StrFormat("%8.*f", decimals, *value) : absl::StrFormat("%8s", "-");
}

// What is said of one model on one task.
struct Figures {
  std::optional<double> pairwise, recall, top;
};
Figures figures_of(const ModelQuality& quality) {
  return {pairwise_accuracy(quality.ranked), recall_at(quality.ranked, kRecall),
          best_of_top(quality.ranked, kTop)};
}

// Means over tasks, geometric for the ratio; by model, in order of first use.
struct ModelMean {
  std::string model;
  std::vector<double> pairwise, recall, top;
};
std::vector<ModelMean> model_means(std::span<const ModelQuality> qualities) {
  std::vector<ModelMean> means;
  for (const ModelQuality& quality : qualities) {
    auto mean = std::find_if(means.begin(), means.end(),
                             [&](const ModelMean& each) { return each.model == quality.model; });
    if (mean == means.end()) mean = means.insert(means.end(), {.model = quality.model});
    const Figures figures = figures_of(quality);
    if (figures.pairwise) mean->pairwise.push_back(*figures.pairwise);
    if (figures.recall) mean->recall.push_back(*figures.recall);
    if (figures.top) mean->top.push_back(*figures.top);
  }
  return means;
}

std::optional<double> mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> geometric_mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return geometric_mean(values);
}

nlohmann::json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::json(*value) : nlohmann::json();
}

}  // namespace

void print_replays(std::span<const Replayed> replays, const std::string& baseline, double peak_gflops) {
  absl::PrintF("%-28s %-14s %5s %6s %8s %7s %7s %7s  to the same quality as %s\n", "task", "strategy",
               "known", "trials", "device s", "at 64", "at end", "64:peak", baseline);
  absl::PrintF("%-84s %5s %5s %7s %7s\n", "", "needs", "it", "trials", "seconds");
  for (const Replayed& replay : replays) {
    for (const auto& [name, runs] : replay.curves) print_row(replay, name, runs, baseline, peak_gflops);
  }
  for (const std::string& name : contenders_of(replays)) {
    const MeanRatio mean = mean_ratio(replays, name, baseline);
    if (mean.tasks == 0) continue;
    absl::PrintF(
        "%s needs %.3f of the trials and %.3f of the device-seconds of %s (%d tasks, geometric mean)\n", name,
        mean.trials, mean.device_seconds, baseline, mean.tasks);
  }
}

nlohmann::json replays_json(std::span<const Replayed> replays, const std::string& baseline,
                            double peak_gflops) {
  nlohmann::json rows = nlohmann::json::array(), means = nlohmann::json::array();
  for (const Replayed& replay : replays) {
    for (const auto& [name, runs] : replay.curves) {
      const size_t all = most_trials(runs);
      const Step end = typical_step(runs, all);
      nlohmann::json row = {{"task", replay.task->task.label},
                            {"strategy", name},
                            {"coverage", replay.coverage},
                            {"seeds", runs.size()},
                            {"trials", all},
                            {"device_seconds", number(end.device_seconds)},
                            {"best_seconds", number(end.best_seconds)},
                            {"best_of_all_seconds", replay.best_seconds},
                            {"quality_at_64", quality_after(replay, runs, kFewTrials)},
                            {"quality_at_end", quality_after(replay, runs, all)},
                            {"share_of_peak_at_64", share_of_peak(replay, runs, kFewTrials, peak_gflops)}};
      if (const auto same = against(replay, name, baseline)) {
        row["same_quality"] = {{"seconds", same->seconds},
                               {"trials", same->first.trials},
                               {"baseline_trials", same->second.trials},
                               {"trials_ratio", same->ratio.trials},
                               {"device_seconds_ratio", same->ratio.device_seconds}};
      }
      rows.push_back(std::move(row));
    }
  }
  for (const std::string& name : contenders_of(replays)) {
    const MeanRatio mean = mean_ratio(replays, name, baseline);
    if (mean.tasks == 0) continue;
    means.push_back({{"strategy", name},
                     {"tasks", mean.tasks},
                     {"trials_ratio", mean.trials},
                     {"device_seconds_ratio", mean.device_seconds}});
  }
  return {{"baseline", baseline}, {"peak_gflops", peak_gflops}, {"runs", rows}, {"means", means}};
}

void print_quality(std::span<const ModelQuality> qualities) {
  absl::PrintF("%-16s %-28s %8s %8s %8s %8s\n", "model", "task", "examples", "pairwise", "recall30",
               "top128");
  for (const ModelQuality& quality : qualities) {
    const Figures figures = figures_of(quality);
    absl::PrintF("%-16s %-28s %8d %s %s %s\n", quality.model, quality.task, quality.examples,
                 cell(figures.pairwise, 3), cell(figures.recall, 2), cell(figures.top, 3));
  }
  for (const ModelMean& mean : model_means(qualities)) {
    absl::PrintF("%-16s %-28s %8s %s %s %s\n", mean.model, "mean", "", cell(mean_of(mean.pairwise), 3),
                 cell(mean_of(mean.recall), 2), cell(geometric_mean_of(mean.top), 3));
  }
}

nlohmann::json quality_json(std::span<const ModelQuality> qualities) {
  nlohmann::json rows = nlohmann::json::array(), means = nlohmann::json::array();
  for (const ModelQuality& quality : qualities) {
    const Figures figures = figures_of(quality);
    rows.push_back({{"model", quality.model},
                    {"task", quality.task},
                    {"examples", quality.examples},
                    {"pairwise_accuracy", number(figures.pairwise)},
                    {"recall_at_30", number(figures.recall)},
                    {"best_of_top_128", number(figures.top)}});
  }
  for (const ModelMean& mean : model_means(qualities)) {
    means.push_back({{"model", mean.model},
                     {"pairwise_accuracy", number(mean_of(mean.pairwise))},
                     {"recall_at_30", number(mean_of(mean.recall))},
                     {"best_of_top_128", number(geometric_mean_of(mean.top))}});
  }
  return {{"tasks", rows}, {"means", means}};
}

}  // namespace tf::replay
