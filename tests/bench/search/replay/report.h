#pragma once
// Owns: tables, JSON and the data of plots, of replays, of models' quality and of races. Does not know: how
// any of them is computed.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/bench/search/replay/comparison.h"
#include "tests/bench/search/replay/model_quality.h"
#include "tests/bench/search/replay/races.h"
#include "tests/bench/search/replay/roofline_fit.h"
#include "tests/bench/search/replay/task_table.h"

namespace tf::replay {

// One task's runs.
struct Replayed {
  const BenchTask* task = nullptr;
  double coverage = 0;      // below 1 the task is shown, and left out of all means
  double best_seconds = 0;  // of all that was ever measured
  std::map<std::string, Runs> curves;
};

// Contenders are compared with `baseline` if it is one of them, and if there are runs of a round of its
// trials. `peak_gflops` may be 0: not known.
void print_replays(std::span<const Replayed> replays, const std::string& baseline, double peak_gflops);
nlohmann::json replays_json(std::span<const Replayed> replays, const std::string& baseline,
                            double peak_gflops);

void print_quality(std::span<const ModelQuality> qualities);
// A row a constant: as it is, and by each fit.
void print_constants(std::span<const Refit> fits);
// A line, of what was measured of the machine and what the constants were fitted beside.
void print_rates(const model::MeasuredRates& measured);
// As it is written beside constants that are fitted on this machine.
void print_fitted_on(const model::MeasuredRates& measured, const target::Target& target);
nlohmann::json quality_json(std::span<const ModelQuality> qualities);

struct RacesOfTask {
  std::string task;
  std::vector<RaceOutcome> in_replicate, across_replicates;
};
// A row a task that had races, and one for all: in how many races the winner is within 1% of the fastest.
void print_races(std::span<const RacesOfTask> tasks);
nlohmann::json races_json(std::span<const RacesOfTask> tasks);

// For plots.gp, into an existing folder: curves_TASK_STRATEGY.tsv and replay_names.gp; recall_MODEL.tsv,
// quality.tsv
absl::Status write_replay_data(const std::string& folder, std::span<const Replayed> replays);
absl::Status write_quality_data(const std::string& folder, std::span<const ModelQuality> qualities);

}  // namespace tf::replay
