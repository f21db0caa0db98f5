#include "compiler/driver/turns.h"

#include <optional>

#include "base/check.h"
#include "base/status.h"

namespace tf::driver {
namespace {

// The mean of the runs that count; nothing if it is over.
absl::StatusOr<std::optional<double>> take_turn(const Run& run, const TurnsOptions& options) {
  double mean_ns = 0;
  for (int i = 0; i < kTurn; ++i) {
    if (options.is_over && options.is_over()) return std::nullopt;
    TF_ASSIGN_OR_RETURN(const double ns, run());
    if (i > 0) mean_ns += ns / (kTurn - 1);
  }
  return mean_ns;
}

}  // namespace

absl::StatusOr<std::vector<Rounds>> run_in_turns(std::span<const Run> builds, const TurnsOptions& options) {
  std::vector<Rounds> rounds(builds.size());
  for (int round = 0; round < options.rounds; ++round) {
    std::vector<double> of_round(builds.size());
    for (size_t i = 0; i < builds.size(); ++i) {
      const size_t build = (i + static_cast<size_t>(round)) % builds.size();
      TF_ASSIGN_OR_RETURN(const std::optional<double> ns, take_turn(builds[build], options));
      if (!ns) return rounds;
      of_round[build] = *ns;
    }
    for (size_t i = 0; i < builds.size(); ++i) rounds[i].push_back(of_round[i]);
    if (options.is_enough && options.is_enough(rounds)) break;
  }
  return rounds;
}

}  // namespace tf::driver
