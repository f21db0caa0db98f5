#include "tuner/measure/scaled_trials_proto.h"

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
  time_gauge(runner, device, has_others);
  double factor = 1;
  {
    const std::scoped_lock lock(mutex_);
    factor = scale_.factor(device);
    scale_.count_trial(device);
  }
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

void ScaledTrials::time_gauge(Runner& runner, const std::string& device, bool has_others) {
  std::unique_lock lock(mutex_);
  const std::optional<std::string> due = scale_.due(device, has_others);
  if (!due || !timing_.insert(device).second) return;
  const Gauge gauge = gauges_.at(*due);
  lock.unlock();
  const absl::StatusOr<pb::TrialResult> result =
      runner.run({.candidate = gauge.candidate, .reference = gauge.reference, .trial = &gauge.trial});
  if (result.ok()) runner.acknowledge(*result);
  lock.lock();
  timing_.erase(device);
  if (!result.ok()) return;  // the trial that follows tells why
  const double before = scale_.factor(device);
  scale_.add(device, *due, median_ns(*result));
  const double now = scale_.factor(device);
  if (before < kNotableFactor && now >= kNotableFactor) {
    spdlog::info(
        absl::StrCat("device ", device, " takes ", absl::StrFormat("%.2f", now),
                     " times as long as other devices of its kind: its times are scaled accordingly"));
  }
}

}  // namespace tf::measure
