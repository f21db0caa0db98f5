// How often races find the fastest, as a table and as JSON.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "tests/bench/search/replay/report.h"

namespace tf::replay {
namespace {

// Shares of races whose winner is within 1% of the fastest.
struct Won {
  std::string task;
  size_t races = 0;
  double raced = 0, finals = 0, across_replicates = 0;
};

double share(const std::vector<RaceOutcome>& outcomes, double RaceOutcome::*time) {
  const auto near = std::ranges::count_if(outcomes, [&](const RaceOutcome& o) { return o.*time <= 1.01; });
  return static_cast<double>(near) / std::max(1.0, static_cast<double>(outcomes.size()));
}

Won won(const RacesOfTask& races) {
  return {races.task, races.in_replicate.size(), share(races.in_replicate, &RaceOutcome::raced),
          share(races.in_replicate, &RaceOutcome::finals),
          share(races.across_replicates, &RaceOutcome::finals)};
}

std::vector<Won> rows_of(std::span<const RacesOfTask> tasks) {
  std::vector<Won> rows;
  RacesOfTask all{.task = "all", .in_replicate = {}, .across_replicates = {}};
  for (const RacesOfTask& task : tasks) {
    if (task.in_replicate.empty()) continue;
    rows.push_back(won(task));
    all.in_replicate.insert(all.in_replicate.end(), task.in_replicate.begin(), task.in_replicate.end());
    all.across_replicates.insert(all.across_replicates.end(), task.across_replicates.begin(),
                                 task.across_replicates.end());
  }
  if (!rows.empty()) rows.push_back(won(all));
  return rows;
}

}  // namespace

void print_races(std::span<const RacesOfTask> tasks) {
  absl::PrintF("%-28s %6s %8s %8s %13s\n", "task", "races", "raced", "finals", "across visits");
  for (const Won& row : rows_of(tasks))
    absl::PrintF("%-28s %6d %7.1f%% %7.1f%% %12.1f%%\n", row.task, row.races, 100 * row.raced,
                 100 * row.finals, 100 * row.across_replicates);
}

nlohmann::json races_json(std::span<const RacesOfTask> tasks) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Won& row : rows_of(tasks))
    rows.push_back({{"task", row.task},
                    {"races", row.races},
                    {"raced_within_1_percent", row.raced},
                    {"played_off_within_1_percent", row.finals},
                    {"across_visits_within_1_percent", row.across_replicates}});
  return rows;
}

}  // namespace tf::replay
