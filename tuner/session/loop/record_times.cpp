#include "tuner/session/loop/record_times.h"

#include "base/statistics/race.h"

namespace tf::session {

bool is_from_here(const database::Measurement& record, std::string_view fingerprint, int64_t job_id) {
  if (record.job_id == 0) return false;
  const std::string& machine = record.device.fingerprint;
  return record.job_id == job_id || machine == fingerprint || (machine.empty() && is_failure(record.outcome));
}

double seconds_in_samples(const database::Measurement& record) {
  double sampled_ns = 0;
  for (const database::Sample& sample : record.samples) sampled_ns += static_cast<double>(sample.total_ns);
  return sampled_ns * 1e-9;
}

Time time_of(const std::vector<double>& runs_ns, bool is_stopped_early) {
  const Estimate seen = estimate(runs_ns);
  return {.seconds = (is_stopped_early ? lower_bound_ns(runs_ns, seen.noise) : seen.median_ns) * 1e-9,
          .lower_bound = is_stopped_early,
          .noise = seen.noise};
}

std::optional<Time> time_of(const database::Measurement& record) {
  if (is_failure(record.outcome) || record.median_ns().value_or(0) == 0) return std::nullopt;
  Time time = time_of(database::runs_ns(record.samples), record.outcome == database::Outcome::kStoppedEarly);
  time.sampled_seconds = seconds_in_samples(record);
  return time;
}

}  // namespace tf::session
