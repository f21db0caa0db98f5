#include "tuner/report/candidate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "base/text/printable.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/tolerance.h"

namespace tf::report {

double finite(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kMost = std::numeric_limits<double>::max();
  return std::clamp(value, -kMost, kMost);
}

namespace {

std::string origin_of(const database::Measurement& m) {
  if (!m.imported_after) return "";
  if (m.lease && !m.lease->slot.empty()) return printable(m.lease->slot);
  const std::string machine = m.device.model.empty() ? m.device.fingerprint : m.device.model;
  return machine.empty() ? "another database" : printable(machine);
}

// The greatest error over what is taken for right, as workers check it.
double error_of(const database::Measurement& m, const KernelFacts& kernel) {
  double bound = 0;
  const absl::StatusOr<schedule::Schedule> schedule = schedule::parse_schedule(m.schedule);
  if (kernel.bound && schedule.ok()) bound = schedule::tolerance(*kernel.bound, *schedule);
  constexpr double kBoundOfOthers = 1e-5;  // of integers, say, which are off by more if at all
  return finite(m.max_error / (bound > 0 ? bound : kBoundOfOthers));
}

}  // namespace

tunefarm::tune::v1::Candidate candidate_of(const database::Measurement& m, const KernelFacts& kernel) {
  tunefarm::tune::v1::Candidate out;
  out.set_row(static_cast<uint32_t>(m.id));
  out.set_digest(database::record_digest(m).hex());
  out.set_schedule(printable_lines(m.schedule));
  out.set_outcome(std::string(database::outcome_name(m.outcome)));
  out.set_detail(printable(m.detail));
  out.set_ns(finite(m.median_ns().value_or(0)));
  const database::Interval bounds = m.interval_ns().value_or(database::Interval());
  out.set_low_ns(finite(bounds.low_ns));
  out.set_high_ns(finite(bounds.high_ns));
  for (const double ns : database::runs_ns(m.samples)) out.add_samples_ns(finite(ns));
  out.set_max_error(error_of(m, kernel));
  out.set_untuned(m.untuned);
  for (const std::string& name : m.numerics) out.add_numerics(printable(name));
  out.set_device_class(printable(m.device.device_class));
  out.set_device_model(printable(m.device.model));
  out.set_clock_mhz(finite(m.device.clock_mhz));
  out.set_temperature_c(finite(m.device.temperature_c));
  out.set_throttled(m.device.throttled);
  out.set_finished_unix_s(static_cast<double>(m.finished_unix_ns) * 1e-9);
  out.set_from(origin_of(m));
  return out;
}

}  // namespace tf::report
