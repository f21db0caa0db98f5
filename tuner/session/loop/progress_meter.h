#pragma once
// Owns: what a session counts of its own speed: time spent and left, trials a second, how busy the device is.
// Does not know: tasks, what was measured.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "database/record.h"
#include "tuner/session/loop/rate.h"
#include "tuner/session/session.h"

namespace tf::session {

// Not thread-safe.
class ProgressMeter {
 public:
  explicit ProgressMeter(const Budget& budget) : budget_(budget) {}

  // When the job's results of earlier runs were there, and how long their trials were timed; pauses between
  // them cost nothing.
  void add_earlier_runs(std::vector<int64_t> finished_unix_ns, double sampled_s);
  // One more trial, with its samples.
  void count_trial(const database::Measurement& measurement);
  // The slot, by any name, took a trial's samples between these times of its device's clock. In any order.
  void count_timed(const std::string& slot, int64_t from_ns, int64_t until_ns) {
    timed_ns_[slot].emplace_back(from_ns, until_ns);
  }

  // So many slots of devices measure from now on; 0: time passes that counts for no budget. To be called
  // often: a change is taken to have happened when it is told.
  void note_slots(int slots, Clock::time_point now = Clock::now());

  // When all but so many seconds of the budget's minutes are spent, if there is a device from now on; never
  // without minutes.
  Clock::time_point deadline(double reserve_s) const;
  // Whether so few seconds of them are left.
  bool time_is_up(double reserve_s) const { return Clock::now() >= deadline(reserve_s); }
  // Everything about time and rates; its trials and its phase are read. During final
  // re-measurements the rate stays what it was.
  void describe(Progress& progress, Clock::time_point now = Clock::now());

 private:
  double rate_of_all(const Progress& progress) const;
  std::optional<double> median_gap_s() const;

  const Budget& budget_;
  Clock::time_point start_ = Clock::now();
  Rate rate_{start_};
  double spent_before_s_ = 0;    // by earlier runs of the job
  double sampled_before_s_ = 0;  // inside timed samples, likewise
  double sampled_s_ = 0;         // inside timed samples of this run
  int slots_ = 1;                // that measure now
  Clock::time_point told_slots_ = start_;
  double slot_s_ = 0;            // of all slots together, until then
  double without_device_s_ = 0;  // until then
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> timed_ns_;  // by slot
};

}  // namespace tf::session
