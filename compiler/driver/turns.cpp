#include "compiler/driver/turns.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace tf::driver {

absl::StatusOr<std::vector<std::vector<double>>> run_in_turns(std::span<LoadedModel* const> models,
                                                              const TurnsOptions& options) {
  constexpr int kWarmUp = 2, kFewest = 3;
  std::vector<std::vector<double>> times(models.size());
  for (int round = -kWarmUp; round < options.rounds; ++round) {
    if (round >= kFewest && options.is_enough && options.is_enough()) break;
    for (size_t i = 0; i < models.size(); ++i) {
      const size_t turn = (i + static_cast<size_t>(round + kWarmUp)) % models.size();
      TF_ASSIGN_OR_RETURN(const double ns, models[turn]->run_bound());
      if (round >= 0) times[turn].push_back(ns);
    }
  }
  return times;
}

Estimate ratio_of(std::span<const double> times, std::span<const double> others) {
  TF_CHECK(times.size() == others.size()) << "runs of the same rounds are compared";
  std::vector<double> ratios;
  for (size_t i = 0; i < times.size(); ++i) ratios.push_back(times[i] / others[i]);
  return estimate(std::move(ratios));
}

}  // namespace tf::driver
