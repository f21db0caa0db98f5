#include "tuner/session/record_times.h"

#include "base/race.h"

namespace tf::session {

bool is_of_network(const database::Measurement& record) {
  return record.cache_mode == database::CacheMode::kNetwork;
}

std::optional<Time> time_of(const database::Measurement& record) {
  const double median_ns = record.median_ns().value_or(0);
  if (is_failure(record.outcome) || median_ns == 0) return std::nullopt;
  double sampled_ns = 0;
  for (const database::Sample& sample : record.samples) sampled_ns += static_cast<double>(sample.total_ns);
  return Time{.seconds = median_ns * 1e-9,
              .lower_bound = record.outcome == database::Outcome::kStoppedEarly,
              .noise = estimate(database::runs_ns(record.samples)).noise,
              .sampled_seconds = sampled_ns * 1e-9};
}

}  // namespace tf::session
