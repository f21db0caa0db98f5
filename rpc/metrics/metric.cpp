#include "rpc/metrics/metric.h"

#include <utility>

namespace tf::rpc {

void DurationCounts::add(absl::Duration took) {
  const double seconds = absl::ToDoubleSeconds(took);
  for (size_t i = bounds_s.size(); i-- > 0 && seconds <= bounds_s[i];) ++at_most[i];
  ++count;
  sum_s += seconds;
}

MetricFamily counter(std::string name, std::string help, double value) {
  return {std::move(name), std::move(help), MetricKind::kCounter, {{.value = value}}};
}

MetricFamily gauge(std::string name, std::string help, double value) {
  return {std::move(name), std::move(help), MetricKind::kGauge, {{.value = value}}};
}

MetricFamily histogram(std::string name, std::string help, DurationCounts durations) {
  return {std::move(name), std::move(help), MetricKind::kHistogram, {{.durations = std::move(durations)}}};
}

MetricFamily by_label(MetricFamily family, const std::string& label,
                      const std::map<std::string, double>& values) {
  family.samples.clear();
  for (const auto& [name, value] : values)
    family.samples.push_back({.labels = {{label, name}}, .value = value});
  return family;
}

void WorkTally::begin() {
  const std::scoped_lock lock(mutex_);
  ++running_;
}

void WorkTally::end(const std::string& how, absl::Duration took) {
  const std::scoped_lock lock(mutex_);
  --running_;
  ++ended_[how];
  took_.add(took);
}

std::vector<MetricFamily> WorkTally::families(const std::string& prefix, const std::string& what) const {
  const std::scoped_lock lock(mutex_);
  return {gauge(prefix + "s_running", what + " in progress", static_cast<double>(running_)),
          by_label(counter(prefix + "s_total", what + " finished, by outcome", 0), "outcome", ended_),
          histogram(prefix + "_seconds", "duration of " + what, took_)};
}

}  // namespace tf::rpc
