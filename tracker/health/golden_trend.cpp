#include "tracker/health/golden_trend.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tf::tracker {
namespace {

// How far apart one moment may seem to be when it is told twice, as an age, over a slow connection.
constexpr absl::Duration kSameMoment = absl::Seconds(2);

// The spread is the agent's word, which may be anything.
bool means_something(const GoldenSample& sample) {
  return sample.time_ns > 0 && sample.spread <= GoldenTrend::kMostSpread;
}

}  // namespace

std::optional<GoldenVerdict> GoldenTrend::add(const GoldenSample& sample, const std::string& fingerprint,
                                              double tolerance) {
  const bool told_before = std::ranges::any_of(samples_, [&](const GoldenSample& each) {
    return each.time_ns == sample.time_ns && each.kernel == sample.kernel &&
           absl::AbsDuration(each.taken_at - sample.taken_at) < kSameMoment;
  });
  if (told_before) return std::nullopt;
  if (sample.kernel != baseline_.kernel || fingerprint != baseline_.fingerprint) {
    begin_anew();
    baseline_ = {.kernel = sample.kernel, .fingerprint = fingerprint, .time_ns = 0};
  }
  samples_.push_back(sample);
  if (samples_.size() > kKept) samples_.pop_front();
  set_baseline(tolerance);
  if (baseline_.time_ns == 0 && sample.time_ns > 0 && !means_something(sample)) return std::nullopt;
  if (is_in_place(sample, tolerance)) {
    off_since_.reset();
    return GoldenVerdict::kInPlace;
  }
  if (!off_since_) off_since_ = sample.taken_at;
  return sample.taken_at - *off_since_ >= kOffAgainAfter ? GoldenVerdict::kOffAgain : GoldenVerdict::kOff;
}

void GoldenTrend::begin_anew() {
  baseline_ = {};
  samples_.clear();
  off_since_.reset();
}

void GoldenTrend::set_baseline(double tolerance) {
  const std::vector<int64_t> last_ns = last_measured_ns(kForBaseline);
  if (last_ns.size() < kForBaseline) return;
  const bool faster = static_cast<double>(std::ranges::max(last_ns)) < (1 - tolerance) * baseline_.time_ns;
  if (baseline_.time_ns == 0 || faster) baseline_.time_ns = median_of_last(kForBaseline);
}

std::vector<int64_t> GoldenTrend::last_measured_ns(size_t most) const {
  std::vector<int64_t> times_ns;
  for (auto sample = samples_.rbegin(); sample != samples_.rend() && times_ns.size() < most; ++sample) {
    if (means_something(*sample)) times_ns.push_back(sample->time_ns);
  }
  return times_ns;
}

double GoldenTrend::median_of_last(size_t most) const {
  std::vector<int64_t> times_ns = last_measured_ns(most);
  if (times_ns.empty()) return 0;
  const auto middle = times_ns.begin() + static_cast<std::ptrdiff_t>(times_ns.size() / 2);
  std::ranges::nth_element(times_ns, middle);
  return static_cast<double>(*middle);
}

GoldenTrend GoldenTrend::latest() const {
  GoldenTrend latest(baseline_);
  size_t measured = 0;
  for (auto sample = samples_.rbegin(); sample != samples_.rend() && measured < kForDrift; ++sample) {
    latest.samples_.push_front(*sample);
    if (means_something(*sample)) ++measured;
  }
  return latest;
}

double GoldenTrend::drift() const {
  const double last = median_of_last(kForDrift);
  return baseline_.time_ns == 0 || last == 0 ? 0 : last / baseline_.time_ns - 1;
}

bool GoldenTrend::is_in_place(const GoldenSample& sample, double tolerance) const {
  if (!means_something(sample)) return false;
  if (baseline_.time_ns == 0) return true;
  const double slower = static_cast<double>(sample.time_ns) / baseline_.time_ns - 1;
  return slower <= std::max(tolerance, std::min(sample.spread, kMostExcuse));
}

}  // namespace tf::tracker
