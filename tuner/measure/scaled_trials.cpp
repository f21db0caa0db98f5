#include "tuner/measure/scaled_trials.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tf::measure {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr double kNotableFactor = 1.1;  // from which on the log tells of a device
constexpr size_t kMostBenches = 1024;   // whose factors are kept; older ones have come to their end

double median_ns(const pb::TrialResult& result) {
  std::vector<double> runs_ns;
  for (const pb::Sample& sample : result.samples())
    if (sample.iterations() > 0)
      runs_ns.push_back(static_cast<double>(sample.total_ns()) / sample.iterations());
  if (result.outcome() != pb::OUTCOME_OK || runs_ns.empty()) return 0;
  const auto middle = runs_ns.begin() + static_cast<std::ptrdiff_t>(runs_ns.size() / 2);
  std::ranges::nth_element(runs_ns, middle);
  return *middle;
}

int64_t scaled(int64_t ns, double factor) {
  return std::llround(static_cast<double>(ns) * factor);
}

}  // namespace

bool ScaledTrials::knows(const std::string& device) const {
  const std::scoped_lock lock(mutex_);
  return scale_.knows(device);
}

bool ScaledTrials::has_gauges() const {
  const std::scoped_lock lock(mutex_);
  return scale_.has_gauges();
}

absl::StatusOr<pb::TrialResult> ScaledTrials::run(Runner& runner, const std::string& device, bool has_others,
                                                  const MeasureRequest& request) {
  if (!is_frozen(device, request.bench)) {
    while (time_gauge(runner, device, has_others)) {
    }
  }
  const double factor = factor_for(device, request.bench);
  pb::Trial trial = *request.trial;
  pb::MeasureOptions& options = *trial.mutable_options();
  options.set_stop_if_slower_than_ns(scaled(options.stop_if_slower_than_ns(), factor));
  MeasureRequest there = request;
  there.trial = &trial;
  absl::StatusOr<pb::TrialResult> result = runner.run(there);
  if (!result.ok()) return result;
  for (pb::Sample& sample : *result->mutable_samples())
    if (sample.total_ns() > 0)
      sample.set_total_ns(std::max<int64_t>(1, scaled(sample.total_ns(), 1 / factor)));
  keep_gauge(device, request, *result);
  return result;
}

// The first kernel of a task that was timed is its gauge.
void ScaledTrials::keep_gauge(const std::string& device, const MeasureRequest& request,
                              const pb::TrialResult& result) {
  const double ns = median_ns(result);
  const std::string& task = request.reference.digest;
  if (ns == 0 || task.empty()) return;
  const std::scoped_lock lock(mutex_);
  if (scale_.has(task) || scale_.is_full()) return;
  Gauge& gauge = gauges_[task] = {request.candidate, request.reference, *request.trial};
  gauge.trial.mutable_options()->set_stop_if_slower_than_ns(0);
  scale_.add(device, task, ns * scale_.factor(device));
}

bool ScaledTrials::is_frozen(const std::string& device, uint64_t bench) const {
  const std::scoped_lock lock(mutex_);
  const auto found = frozen_.find(bench);
  return found != frozen_.end() && found->second.device == device;
}

double ScaledTrials::factor_for(const std::string& device, uint64_t bench) {
  const std::scoped_lock lock(mutex_);
  scale_.count_trial(device);
  const double now = scale_.factor(device);
  if (bench == 0) return now;
  Frozen& frozen = frozen_[bench];
  if (frozen.device != device) frozen = {device, now};
  const double factor = frozen.factor;
  if (frozen_.size() > kMostBenches) frozen_.erase(frozen_.begin());
  return factor;
}

// With the lock held.
void ScaledTrials::tell_untimed(const std::string& device, const std::string& why) {
  if (!untimed_.insert(device).second) return;
  spdlog::warn(absl::StrCat("device ", device, " could not time a gauge (", why,
                            "): its times are scaled by its last factor, ",
                            absl::StrFormat("%.2f", scale_.factor(device))));
}

bool ScaledTrials::time_gauge(Runner& runner, const std::string& device, bool has_others) {
  std::unique_lock lock(mutex_);
  const std::optional<std::string> due = scale_.due(device, has_others);
  if (!due || !timing_.insert(device).second) return false;
  const Gauge gauge = gauges_.at(*due);
  lock.unlock();
  const absl::StatusOr<pb::TrialResult> result =
      runner.run({.candidate = gauge.candidate, .reference = gauge.reference, .trial = &gauge.trial});
  if (result.ok()) runner.acknowledge(*result);
  lock.lock();
  timing_.erase(device);
  const double ns = result.ok() ? median_ns(*result) : 0;
  const double before = scale_.factor(device);
  scale_.add(device, *due, ns);
  if (ns > 0) {
    untimed_.erase(device);
  } else if (result.ok()) {
    tell_untimed(device, pb::Outcome_Name(result->outcome()));
  } else if (!absl::IsCancelled(result.status())) {
    tell_untimed(device, std::string(result.status().message()));
  }
  const double now = scale_.factor(device);
  if (before < kNotableFactor && now >= kNotableFactor) {
    spdlog::info(
        absl::StrCat("device ", device, " takes ", absl::StrFormat("%.2f", now),
                     " times as long as other devices of its kind: its times are scaled accordingly"));
  }
  return result.ok();  // else the trial that follows ends likewise
}

}  // namespace tf::measure
