#pragma once
// Owns: the one thread that makes time pass for a Farm. Sleeps until the next deadline, not longer, not
// shorter.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "rpc/clock.h"

namespace tf::tracker {

class Farm;

class ExpiryTimer {
 public:
  // Sets the farm's deadline callback. Farm and clock must outlive the timer.
  ExpiryTimer(Farm& farm, const rpc::Clock& clock);
  ~ExpiryTimer();

 private:
  void run();

  Farm& farm_;
  const rpc::Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool deadline_changed_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tf::tracker
