#include "tuner/session/record_times.h"

#include "base/race.h"

namespace tf::session {

bool is_of_network(const database::Measurement& record) {
  return record.cache_mode == database::CacheMode::kNetwork;
}

bool is_from_here(const database::Measurement& record, std::string_view fingerprint) {
  const std::string& machine = record.device.fingerprint;
  return record.job_id != 0 && (machine == fingerprint || (machine.empty() && is_failure(record.outcome)));
}

double seconds_in_samples(const database::Measurement& record) {
  double sampled_ns = 0;
  for (const database::Sample& sample : record.samples) sampled_ns += static_cast<double>(sample.total_ns);
  return sampled_ns * 1e-9;
}

std::optional<Time> time_of(const database::Measurement& record) {
  const double median_ns = record.median_ns().value_or(0);
  if (is_failure(record.outcome) || median_ns == 0) return std::nullopt;
  const std::vector<double> runs_ns = database::runs_ns(record.samples);
  const double noise = estimate(runs_ns).noise;
  const bool lower_bound = record.outcome == database::Outcome::kStoppedEarly;
  return Time{.seconds = (lower_bound ? lower_bound_ns(runs_ns, noise) : median_ns) * 1e-9,
              .lower_bound = lower_bound,
              .noise = noise,
              .sampled_seconds = seconds_in_samples(record)};
}

}  // namespace tf::session
