#include "tracker/golden_trend.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tf::tracker {
namespace {

// How far apart one moment may seem to be when it is told twice, as an age, over a slow connection.
constexpr absl::Duration kSameMoment = absl::Seconds(2);

}  // namespace

bool GoldenTrend::add(const GoldenSample& sample, const std::string& fingerprint) {
  const bool told_before = std::ranges::any_of(samples_, [&](const GoldenSample& each) {
    return each.time_ns == sample.time_ns && each.kernel == sample.kernel &&
           absl::AbsDuration(each.taken_at - sample.taken_at) < kSameMoment;
  });
  if (told_before) return false;
  if (sample.kernel != baseline_.kernel || fingerprint != baseline_.fingerprint) {
    baseline_ = {.kernel = sample.kernel, .fingerprint = fingerprint, .time_ns = 0};
    samples_.clear();
  }
  samples_.push_back(sample);
  if (samples_.size() > kKept) samples_.pop_front();
  const auto measured =
      std::ranges::count_if(samples_, [](const GoldenSample& each) { return each.time_ns > 0; });
  if (baseline_.time_ns == 0 && static_cast<size_t>(measured) >= kForBaseline) {
    baseline_.time_ns = median_of_last(kForBaseline);
  }
  return true;
}

double GoldenTrend::median_of_last(size_t count) const {
  std::vector<int64_t> times;
  for (auto sample = samples_.rbegin(); sample != samples_.rend() && times.size() < count; ++sample) {
    if (sample->time_ns > 0) times.push_back(sample->time_ns);
  }
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return static_cast<double>(*middle);
}

GoldenTrend GoldenTrend::latest() const {
  GoldenTrend latest(baseline_);
  size_t measured = 0;
  for (auto sample = samples_.rbegin(); sample != samples_.rend() && measured < kForDrift; ++sample) {
    latest.samples_.push_front(*sample);
    if (sample->time_ns > 0) ++measured;
  }
  return latest;
}

double GoldenTrend::drift() const {
  const double last = median_of_last(kForDrift);
  return baseline_.time_ns == 0 || last == 0 ? 0 : last / baseline_.time_ns - 1;
}

bool GoldenTrend::agrees(const GoldenSample& sample, double tolerance) const {
  if (sample.time_ns <= 0) return false;
  if (baseline_.time_ns == 0) return true;
  const double off = static_cast<double>(sample.time_ns) / baseline_.time_ns - 1;
  return std::abs(off) <= std::max(tolerance, sample.spread);
}

}  // namespace tf::tracker
