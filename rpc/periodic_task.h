#pragma once
// Owns: a thread that does one thing again and again: after the rests that it asks for, and when it is woken.
// Does not know: what it does.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/time/time.h"

namespace tf::rpc {

// Thread-safe, but for its end. What the task uses must outlive it, or its stop().
class PeriodicTask {
 public:
  // Does the task after `first_rest`, and again after each rest that it returned; an infinite one lasts until
  // wake(), or a day.
  explicit PeriodicTask(std::function<absl::Duration()> task,
                        absl::Duration first_rest = absl::ZeroDuration());
  ~PeriodicTask() { stop(); }
  // Ends the rest; of a task under way, the one after it.
  void wake();
  // Waits for the end of the task under way; it is not done again.
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool woken_ = false;
  std::jthread thread_;
};

}  // namespace tf::rpc
