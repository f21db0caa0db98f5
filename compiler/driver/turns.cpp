#include "compiler/driver/turns.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace tf::driver {
namespace {

// The mean of the runs that count; nothing if it is over.
absl::StatusOr<std::optional<std::vector<double>>> take_turn(const Run& run, const TurnsOptions& options) {
  std::vector<double> mean;
  for (int i = 0; i < kTurn; ++i) {
    if (options.is_over && options.is_over()) return std::nullopt;
    TF_ASSIGN_OR_RETURN(const std::vector<double> parts_ns, run());
    if (i == 0) continue;
    mean.resize(parts_ns.size());
    for (size_t part = 0; part < parts_ns.size(); ++part) mean[part] += parts_ns[part] / (kTurn - 1);
  }
  return mean;
}

}  // namespace

absl::StatusOr<std::vector<Rounds>> run_in_turns(std::span<const Run> builds, const TurnsOptions& options) {
  std::vector<Rounds> rounds(builds.size());
  for (int round = 0; round < options.rounds; ++round) {
    std::vector<std::vector<double>> of_round(builds.size());
    for (size_t i = 0; i < builds.size(); ++i) {
      const size_t build = (i + static_cast<size_t>(round)) % builds.size();
      TF_ASSIGN_OR_RETURN(std::optional<std::vector<double>> parts_ns, take_turn(builds[build], options));
      if (!parts_ns) return rounds;
      of_round[build] = *std::move(parts_ns);
    }
    for (size_t i = 0; i < builds.size(); ++i) rounds[i].push_back(std::move(of_round[i]));
    if (options.is_enough && options.is_enough(rounds)) break;
  }
  return rounds;
}

std::vector<double> times_of(const Rounds& rounds, size_t part) {
  std::vector<double> times_ns;
  for (const std::vector<double>& parts_ns : rounds) times_ns.push_back(parts_ns.at(part));
  return times_ns;
}

}  // namespace tf::driver
