// The data that plots.gp draws: columns of numbers, and the names of what is there.

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/files/file.h"
#include "base/status.h"
#include "tests/bench/search/replay/report.h"

namespace tf::replay {
namespace {

// For file names.
std::string stem_of(const std::string& name) {
  return absl::StrReplaceAll(name, {{" ", "_"}});
}

// Trial, device-seconds, and the best time so far as a share of the best of all: median, worst, best seed.
std::string curve_text(const Replayed& replay, const Runs& runs) {
  std::string text = "trials\tdevice_seconds\tmedian\tworst\tbest\n";
  for (size_t trials = 1; trials <= most_trials(runs); ++trials) {
    const Step typical = typical_step(runs, trials);
    double worst = 1, best = 0;
    for (const std::vector<Step>& run : runs) {
      const double seconds = typical_step({run}, trials).best_seconds;
      const double share = std::isfinite(seconds) ? replay.best_seconds / seconds : 0;
      worst = std::min(worst, share);
      best = std::max(best, share);
    }
    const double median =
        std::isfinite(typical.best_seconds) ? replay.best_seconds / typical.best_seconds : 0;
    absl::StrAppend(&text, trials, "\t", typical.device_seconds, "\t", median, "\t", worst, "\t", best, "\n");
  }
  return text;
}

std::string list_text(const char* variable, const std::vector<std::string>& names) {
  // In single quotes, gnuplot takes no @ for a macro.
  return absl::StrCat(variable, " = '", absl::StrJoin(names, " "), "'\n");
}

std::string cell(std::optional<double> value) {
  return value ? absl::StrCat(*value) : "NaN";
}

}  // namespace

absl::Status write_replay_data(const std::string& folder, std::span<const Replayed> replays) {
  std::vector<std::string> tasks;
  std::set<std::string> contenders;
  for (const Replayed& replay : replays) {
    if (replay.best_seconds <= 0) continue;
    tasks.push_back(replay.task->task.label);
    for (const auto& [name, runs] : replay.curves) {
      contenders.insert(name);
      TF_RETURN_IF_ERROR(write_file(absl::StrCat(folder, "/curves_", tasks.back(), "_", name, ".tsv"),
                                    curve_text(replay, runs)));
    }
  }
  return write_file(folder + "/replay_names.gp",
                    absl::StrCat(list_text("tasks", tasks),
                                 list_text("contenders", {contenders.begin(), contenders.end()})));
}

absl::Status write_quality_data(const std::string& folder, std::span<const ModelQuality> qualities) {
  std::vector<std::string> models, tasks;
  for (const ModelQuality& quality : qualities) {
    if (std::find(models.begin(), models.end(), stem_of(quality.model)) == models.end())
      models.push_back(stem_of(quality.model));
    if (std::find(tasks.begin(), tasks.end(), quality.task) == tasks.end()) tasks.push_back(quality.task);
  }
  for (const std::string& model : models) {
    std::vector<const ModelQuality*> of_model;
    for (const ModelQuality& quality : qualities) {
      if (stem_of(quality.model) == model) of_model.push_back(&quality);
    }
    std::string recall = "k\trecall\n";
    for (size_t k = 1; k <= 256; k += k < 32 ? 1 : 8) {
      double sum = 0;
      for (const ModelQuality* quality : of_model) sum += recall_at(quality->ranked, k).value_or(0);
      absl::StrAppend(&recall, k, "\t", sum / static_cast<double>(of_model.size()), "\n");
    }
    TF_RETURN_IF_ERROR(write_file(absl::StrCat(folder, "/recall_", model, ".tsv"), recall));
  }
  std::string table = absl::StrCat("task\t", absl::StrJoin(models, "\t"), "\n");
  for (const std::string& task : tasks) {
    absl::StrAppend(&table, task);
    for (const std::string& model : models) {
      std::optional<double> accuracy;
      for (const ModelQuality& quality : qualities) {
        if (quality.task == task && stem_of(quality.model) == model)
          accuracy = pairwise_accuracy(quality.ranked);
      }
      absl::StrAppend(&table, "\t", cell(accuracy));
    }
    absl::StrAppend(&table, "\n");
  }
  TF_RETURN_IF_ERROR(write_file(folder + "/quality.tsv", table));
  return write_file(folder + "/quality_names.gp", list_text("models", models));
}

}  // namespace tf::replay
