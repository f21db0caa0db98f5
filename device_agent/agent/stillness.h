#pragma once
// Owns: what computes on one device at a time: trials, on any of its slots beside each other, or the golden
// kernel, alone: clock and memory are shared, so that beside a trial it would say how busy the device is and
// not how well. Does not know: slots, what either does.

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "absl/time/time.h"

namespace tf::agent {

// Thread-safe.
class Stillness {
 public:
  // Waits while the golden kernel runs or is about to. False: `end` came first, and there is nothing to end.
  bool begin_trial(const std::stop_token& end);
  void end_trial();

  // Waits for another golden kernel to end, then at most `patience` for the trials that run; meanwhile none
  // begins. False: some still run, and there is nothing to end.
  bool begin_golden(absl::Duration patience);
  void end_golden();

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int trials_ = 0;
  bool golden_ = false;  // runs, or waits for the trials to end
};

}  // namespace tf::agent
