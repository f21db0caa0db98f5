#include "tuner/session/record_times.h"

#include "base/race.h"

namespace tf::session {

bool is_of_network(const database::Measurement& record) {
  return record.cache_mode == database::CacheMode::kNetwork;
}

bool is_failure(database::Outcome outcome) {
  return outcome != database::Outcome::kOk && outcome != database::Outcome::kStoppedEarly;
}

std::optional<Time> time_of(const database::Measurement& record) {
  const bool stopped = record.outcome == database::Outcome::kStoppedEarly;
  if (record.outcome != database::Outcome::kOk && !stopped) return std::nullopt;
  const Estimate estimated = estimate(database::runs_ns(record.samples));
  if (estimated.median_ns == 0) return std::nullopt;
  double sampled_ns = 0;
  for (const database::Sample& sample : record.samples) sampled_ns += static_cast<double>(sample.total_ns);
  return Time{estimated.median_ns * 1e-9, stopped, estimated.noise, sampled_ns * 1e-9};
}

}  // namespace tf::session
