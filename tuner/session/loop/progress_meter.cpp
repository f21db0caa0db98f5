#include "tuner/session/loop/progress_meter.h"

#include <algorithm>
#include <chrono>

#include "base/statistics/race.h"
#include "tuner/session/loop/record_times.h"

namespace tf::session {
namespace {

double seconds_between(Clock::time_point from, Clock::time_point until) {
  return std::chrono::duration<double>(until - from).count();
}

}  // namespace

// Between the last sample of one trial and the first of the next on the same slot.
std::optional<double> ProgressMeter::median_gap_s() const {
  std::vector<double> gaps_s;
  for (const auto& [slot, unsorted_ns] : timed_ns_) {
    std::vector<std::pair<int64_t, int64_t>> timed_ns = unsorted_ns;
    std::sort(timed_ns.begin(), timed_ns.end());
    for (size_t i = 1; i < timed_ns.size(); ++i)
      gaps_s.push_back(static_cast<double>(timed_ns[i].first - timed_ns[i - 1].second) * 1e-9);
  }
  if (gaps_s.empty()) return std::nullopt;
  return estimate(std::move(gaps_s)).median_ns;
}

void ProgressMeter::add_earlier_runs(std::vector<int64_t> finished_unix_ns, double sampled_s) {
  constexpr int64_t kPause = 30'000'000'000;
  std::sort(finished_unix_ns.begin(), finished_unix_ns.end());
  int64_t total = 0;
  for (size_t i = 1; i < finished_unix_ns.size(); ++i) {
    const int64_t gap = finished_unix_ns[i] - finished_unix_ns[i - 1];
    if (gap < kPause) total += gap;
  }
  spent_before_s_ += static_cast<double>(total) * 1e-9;
  sampled_before_s_ += sampled_s;
}

void ProgressMeter::note_slots(int slots, Clock::time_point now) {
  const double passed_s = seconds_between(told_slots_, now);
  slot_s_ += slots_ * passed_s;
  if (slots_ == 0) without_device_s_ += passed_s;
  told_slots_ = now;
  slots_ = slots;
}

void ProgressMeter::count_trial(const database::Measurement& measurement) {
  sampled_s_ += seconds_in_samples(measurement);
  rate_.count(Clock::now());
}

Clock::time_point ProgressMeter::deadline(double reserve_s) const {
  if (budget_.minutes <= 0) return Clock::time_point::max();
  // A device that is not there now may be back at any time: what it was away until now does not count.
  const double away_s = without_device_s_ + (slots_ == 0 ? seconds_between(told_slots_, Clock::now()) : 0);
  const std::chrono::duration<double> left(budget_.minutes * 60 - reserve_s - spent_before_s_ + away_s);
  return start_ + std::chrono::duration_cast<Clock::duration>(left);
}

// Without final re-measurements, and without the time in which nothing could be tried.
double ProgressMeter::rate_of_all(const Progress& progress) const {
  double tried_s = spent_before_s_ + rate_.active_s();
  if (tried_s <= 0) tried_s = progress.elapsed_s();  // of one trial of an earlier run, for one
  return tried_s > 0 ? static_cast<double>(progress.trials()) / tried_s : 0;
}

void ProgressMeter::describe(Progress& progress, Clock::time_point now) {
  note_slots(slots_, now);
  progress.set_slots(static_cast<uint32_t>(slots_));
  progress.set_elapsed_s(spent_before_s_ + seconds_between(start_, told_slots_));
  progress.set_without_device_s(without_device_s_);
  if (progress.phase() == PHASE_MEASURING) progress.set_trials_per_second(rate_.per_second(told_slots_));
  if (progress.phase() == PHASE_OVER) progress.set_trials_per_second(rate_of_all(progress));
  // Of earlier runs nobody knows how many devices they had: each trial is taken to have had one.
  const double slot_s = spent_before_s_ + slot_s_;
  progress.set_device_busy_share(slot_s > 0 ? (sampled_before_s_ + sampled_s_) / slot_s : 0);
  progress.clear_remaining_s();
  if (budget_.minutes > 0) {
    const double spent_s = progress.elapsed_s() - progress.without_device_s();
    progress.set_remaining_s(std::max(0.0, budget_.minutes * 60 - spent_s));
  }
  // The last trials are not the end: how long final re-measurements take, nobody knows.
  if (budget_.trials > 0 && progress.trials_per_second() > 0 && progress.phase() != PHASE_FINALS) {
    const double left = static_cast<double>(std::max<int64_t>(0, budget_.trials - progress.trials())) /
                        progress.trials_per_second();
    progress.set_remaining_s(std::min(left, progress.has_remaining_s() ? progress.remaining_s() : left));
  }
  // That takes all trials, so not each time that somebody looks on.
  if (progress.phase() != PHASE_OVER) return;
  if (const std::optional<double> gap_s = median_gap_s()) progress.set_median_gap_s(*gap_s);
}

}  // namespace tf::session
