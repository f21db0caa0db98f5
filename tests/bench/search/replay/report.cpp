#include "tests/bench/search/replay/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_format.h"
#include "base/cli/counted.h"
#include "tests/bench/search/replay/named_constants.h"
#include "tuner/model/roofline/rates.h"

namespace tf::replay {
namespace {

constexpr size_t kFewTrials = 64;
static_assert(kFewTrials == kBaselineRound, "columns are named by it");
constexpr size_t kRecall = 30, kTop = 128;

double finite(double value) {
  return std::isfinite(value) ? value : 0;
}

// Share of the best of all that the contender typically has after so many trials; 0: nothing yet.
double quality_after(const Replayed& replay, const Runs& runs, size_t trials) {
  const double seconds = typical_step(runs, trials).best_seconds;
  return std::isfinite(seconds) ? replay.best_seconds / seconds : 0;
}

// What all rows are made by.
struct Setting {
  const std::string& baseline;
  double peak_gflops = 0;
  size_t longest = 0;  // trials of the longest run
};
Setting setting_of(std::span<const Replayed> replays, const std::string& baseline, double peak_gflops) {
  Setting setting{baseline, peak_gflops, 0};
  for (const Replayed& replay : replays)
    for (const auto& [name, runs] : replay.curves)
      setting.longest = std::max(setting.longest, most_trials(runs));
  return setting;
}

// Whether runs tell what there is after so few trials. One that spent its space before does.
bool has_few_trials(const Replayed& replay, const Runs& runs, const Setting& setting) {
  return most_trials(runs) >= kFewTrials || (replay.coverage >= 1 && setting.longest >= kFewTrials);
}

std::optional<double> quality_at_few(const Replayed& replay, const Runs& runs, const Setting& setting) {
  if (!has_few_trials(replay, runs, setting)) return std::nullopt;
  return quality_after(replay, runs, kFewTrials);
}

// Nothing where the peak, or the task's operations, are not known.
std::optional<double> share_of_peak_at_few(const Replayed& replay, const Runs& runs, const Setting& setting) {
  if (!has_few_trials(replay, runs, setting) || setting.peak_gflops <= 0 || replay.task->flops <= 0)
    return std::nullopt;
  const double seconds = typical_step(runs, kFewTrials).best_seconds;
  return finite(replay.task->flops / seconds * 1e-9 / setting.peak_gflops);
}

std::vector<std::string> contenders_of(std::span<const Replayed> replays) {
  std::vector<std::string> names;
  if (replays.empty()) return names;
  for (const auto& [name, runs] : replays.front().curves) names.push_back(name);
  return names;
}

std::optional<SameQuality> against_baseline(const Replayed& replay, const std::string& contender,
                                            const Setting& setting) {
  const auto first = replay.curves.find(contender), second = replay.curves.find(setting.baseline);
  if (contender == setting.baseline || second == replay.curves.end() || replay.coverage < 1)
    return std::nullopt;
  if (setting.longest < kBaselineRound) return std::nullopt;
  return at_same_quality(first->second, second->second);
}

// Whether there is anything to say of others beside the baseline.
bool compares(std::span<const Replayed> replays, const Setting& setting) {
  return std::ranges::any_of(replays, [&](const Replayed& replay) {
    return std::ranges::any_of(replay.curves, [&](const auto& curve) {
      return against_baseline(replay, curve.first, setting).has_value();
    });
  });
}

// Whether all that stands against that is how short the runs are.
bool is_too_short_to_compare(std::span<const Replayed> replays, const Setting& setting) {
  return setting.longest < kBaselineRound && std::ranges::any_of(replays, [&](const Replayed& replay) {
           return replay.coverage >= 1 && replay.curves.size() > 1 &&
                  replay.curves.contains(setting.baseline);
         });
}

struct MeanRatio {
  size_t tasks = 0;
  double trials = 1, device_seconds = 1;
};
MeanRatio mean_ratio(std::span<const Replayed> replays, const std::string& contender,
                     const Setting& setting) {
  std::vector<double> trials, device_seconds;
  for (const Replayed& replay : replays) {
    if (const auto same = against_baseline(replay, contender, setting)) {
      trials.push_back(same->ratio.trials);
      device_seconds.push_back(same->ratio.device_seconds);
    }
  }
  return {trials.size(), geometric_mean(trials), geometric_mean(device_seconds)};
}

std::string percent(std::optional<double> share) {
  return share ? absl::StrFormat("%.1f%%", 100 * *share) : "";
}

void print_row(const Replayed& replay, const std::string& name, const Runs& runs, const Setting& setting) {
  const size_t all = most_trials(runs);
  absl::PrintF("%-28s %-19s %4.0f%% %6d %8.1f %7s %7s %7s", replay.task->task.label, name,
               100 * replay.coverage, all, typical_step(runs, all).device_seconds,
               percent(quality_at_few(replay, runs, setting)), percent(quality_after(replay, runs, all)),
               percent(share_of_peak_at_few(replay, runs, setting)));
  if (const auto same = against_baseline(replay, name, setting)) {
    absl::PrintF(" %5.0f %5.0f %7.3f %7.3f", same->first.trials, same->second.trials, same->ratio.trials,
                 same->ratio.device_seconds);
  }
  absl::PrintF("\n");
}

std::string cell(std::optional<double> value, int decimals) {
  return value ? absl::StrFormat("%8.*f", decimals, *value) : absl::StrFormat("%8s", "-");
}

constexpr double kNearTie = 1.03;

// What is said of one ranking of a task's candidates.
struct Figures {
  std::optional<double> pairwise, apart, late, recall, top;
};
Figures figures_of(std::span<const Ranked> ranked) {
  return {pairwise_accuracy(ranked), pairwise_accuracy(ranked, {.apart = kNearTie}),
          pairwise_accuracy(ranked, {.both_late = true}), recall_at(ranked, kRecall),
          best_of_top(ranked, kTop)};
}
constexpr std::optional<double> Figures::*kShares[] = {&Figures::pairwise, &Figures::apart, &Figures::late,
                                                       &Figures::recall};

// Of a model, and what it could be at most; and of what was judged, how flat it is: the share of codes that
// are near ties of the best, and the time of the last code of those that recall looks for, over the best's.
struct ModelFigures {
  std::string model, task;
  size_t examples = 0, replicates = 0;
  std::optional<double> near, last = {};
  Figures figures = {}, ceiling = {};
};
std::vector<ModelFigures> all_figures(std::span<const ModelQuality> qualities) {
  std::vector<ModelFigures> all;
  for (const ModelQuality& quality : qualities)
    all.push_back({quality.model, quality.task, quality.ranked.size(), quality.replicates,
                   share_within(quality.ranked, kNearTie), kth_over_best(quality.ranked, kRecall),
                   figures_of(quality.ranked), figures_of(quality.truth)});
  return all;
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
  const Setting setting = setting_of(replays, baseline, peak_gflops);
  absl::PrintF("%-28s %-19s %5s %6s %8s %7s %7s %7s", "task", "strategy", "known", "trials", "device s",
               "at 64", "at end", "64:peak");
  if (compares(replays, setting))
    absl::PrintF("  to the same quality as %s\n%-93s %5s %5s %7s %7s", baseline, "", "needs", "it", "trials",
                 "seconds");
  absl::PrintF("\n");
  for (const Replayed& replay : replays) {
    for (const auto& [name, runs] : replay.curves) print_row(replay, name, runs, setting);
  }
  for (const std::string& name : contenders_of(replays)) {
    const MeanRatio mean = mean_ratio(replays, name, setting);
    if (mean.tasks == 0) continue;
    absl::PrintF("%s needs %.3f of the trials and %.3f of the device-seconds of %s (%s, geometric mean)\n",
                 name, mean.trials, mean.device_seconds, baseline,
                 counted(static_cast<int64_t>(mean.tasks), "task"));
  }
  if (is_too_short_to_compare(replays, setting))
    absl::PrintF("Nothing is compared with %s: that takes runs of at least %d trials, a round of it\n",
                 baseline, kBaselineRound);
}

nlohmann::json replays_json(std::span<const Replayed> replays, const std::string& baseline,
                            double peak_gflops) {
  const Setting setting = setting_of(replays, baseline, peak_gflops);
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
                            {"quality_at_64", number(quality_at_few(replay, runs, setting))},
                            {"quality_at_end", quality_after(replay, runs, all)},
                            {"share_of_peak_at_64", number(share_of_peak_at_few(replay, runs, setting))}};
      if (const auto same = against_baseline(replay, name, setting)) {
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
    const MeanRatio mean = mean_ratio(replays, name, setting);
    if (mean.tasks == 0) continue;
    means.push_back({{"strategy", name},
                     {"tasks", mean.tasks},
                     {"trials_ratio", mean.trials},
                     {"device_seconds_ratio", mean.device_seconds}});
  }
  return {{"baseline", baseline}, {"peak_gflops", peak_gflops}, {"runs", rows}, {"means", means}};
}

namespace {

// Means over tasks, geometric for the ratio; a row a model, in order of first use.
std::vector<ModelFigures> means_of(std::span<const ModelFigures> all) {
  std::vector<std::string> models;
  for (const ModelFigures& each : all)
    if (std::ranges::find(models, each.model) == models.end()) models.push_back(each.model);
  std::vector<ModelFigures> means;
  for (const std::string& model : models) {
    const auto known = [&](auto figure_of) {
      std::vector<double> values;
      for (const ModelFigures& each : all) {
        const std::optional<double> figure = figure_of(each);
        if (each.model == model && figure) values.push_back(*figure);
      }
      return values;
    };
    const auto values = [&](Figures ModelFigures::*of, std::optional<double> Figures::*figure) {
      return known([=](const ModelFigures& each) { return (each.*of).*figure; });
    };
    ModelFigures& mean = means.emplace_back(ModelFigures{.model = model, .task = "mean"});
    mean.near = mean_of(known([](const ModelFigures& each) { return each.near; }));
    mean.last = geometric_mean_of(known([](const ModelFigures& each) { return each.last; }));
    for (const auto of : {&ModelFigures::figures, &ModelFigures::ceiling}) {
      for (const auto figure : kShares) (mean.*of).*figure = mean_of(values(of, figure));
      (mean.*of).top = geometric_mean_of(values(of, &Figures::top));
    }
  }
  return means;
}

void print_figures(const ModelFigures& each) {
  absl::PrintF("%-16s %-28s", each.model, each.task);
  if (each.examples > 0)
    absl::PrintF(" %8d %6d", each.examples, each.replicates);
  else
    absl::PrintF(" %8s %6s", "", "");
  absl::PrintF(" %s %s", cell(each.near, 3), cell(each.last, 3));
  for (const auto figure : kShares)
    absl::PrintF(" %s %s", cell(each.figures.*figure, 3), cell(each.ceiling.*figure, 3));
  absl::PrintF(" %s\n", cell(each.figures.top, 3));
}

nlohmann::json figures_json(const ModelFigures& each) {
  const auto shares = [](const Figures& figures) {
    return nlohmann::json{{"pairwise_accuracy", number(figures.pairwise)},
                          {"pairwise_accuracy_3_percent_apart", number(figures.apart)},
                          {"pairwise_accuracy_late", number(figures.late)},
                          {"recall_at_30", number(figures.recall)}};
  };
  nlohmann::json row = shares(each.figures);
  row["model"] = each.model;
  row["best_of_top_128"] = number(each.figures.top);
  row["share_within_3_percent_of_best"] = number(each.near);
  row["30th_over_best"] = number(each.last);
  row["ceiling"] = shares(each.ceiling);
  if (each.examples == 0) return row;
  row["task"] = each.task;
  row["examples"] = each.examples;
  row["visits"] = each.replicates;
  return row;
}

}  // namespace

void print_quality(std::span<const ModelQuality> qualities) {
  absl::PrintF("%-16s %-28s %8s %6s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", "model", "task", "codes",
               "visits", "near", "30th", "pairwise", "at most", "3% apart", "at most", "late", "at most",
               "recall30", "at most", "top128");
  const std::vector<ModelFigures> all = all_figures(qualities);
  for (const ModelFigures& each : all) print_figures(each);
  for (const ModelFigures& mean : means_of(all)) print_figures(mean);
}

void print_constants(std::span<const Refit> fits) {
  absl::PrintF("%-24s %10s", "constant", "as it is");
  for (const Refit& fit : fits) absl::PrintF(" %10.24s", fit.without.empty() ? "all" : "no " + fit.without);
  absl::PrintF("\n");
  for (const NamedConstant& name : roofline_constants()) {
    model::RooflineConstants present;
    absl::PrintF("%-24s %10.4g", std::string(name.name), name.of(present));
    for (const Refit& fit : fits) {
      model::RooflineConstants constants = fit.constants;
      absl::PrintF(" %10.4g", name.of(constants));
    }
    absl::PrintF("\n");
  }
}

void print_rates(const model::MeasuredRates& measured) {
  const auto line = [](const char* what, const model::MeasuredRates& rates) {
    absl::PrintF("%-29s %7.1f GFLOP/s; GB/s from L2 %.1f, the cache behind it %.1f, memory %.1f\n", what,
                 rates.flops_per_s * 1e-9, rates.l2_bytes_per_s * 1e-9, rates.shared_bytes_per_s * 1e-9,
                 rates.memory_bytes_per_s * 1e-9);
  };
  line("this machine", measured);
  line("that of the roofline model's constants", model::kFittedOn.rates);
}

void print_fitted_on(const model::MeasuredRates& measured, const target::Target& target) {
  absl::PrintF(
      "kFittedOn = {.rates = {.flops_per_s = %.4g, .l2_bytes_per_s = %.4g, .shared_bytes_per_s = %.4g, "
      ".memory_bytes_per_s = %.4g}, .flops_a_cycle = %.4g}\n",
      measured.flops_per_s, measured.l2_bytes_per_s, measured.shared_bytes_per_s, measured.memory_bytes_per_s,
      model::flops_a_cycle(target));
}

nlohmann::json quality_json(std::span<const ModelQuality> qualities) {
  nlohmann::json rows = nlohmann::json::array(), means = nlohmann::json::array();
  const std::vector<ModelFigures> all = all_figures(qualities);
  for (const ModelFigures& each : all) rows.push_back(figures_json(each));
  for (const ModelFigures& mean : means_of(all)) means.push_back(figures_json(mean));
  return {{"tasks", rows}, {"means", means}};
}

}  // namespace tf::replay
