#pragma once
// Owns: one thread that calls functions later. Does not know: what they do.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tf::farm_load {

using SteadyClock = std::chrono::steady_clock;

// Thread-safe. Calls must be short.
class Alarms {
 public:
  Alarms() : thread_([this] { run(); }) {}
  ~Alarms() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void after(std::chrono::nanoseconds delay, std::function<void()> call) {
    const auto at = SteadyClock::now() + delay;
    const std::scoped_lock lock(mutex_);
    const bool is_first = calls_.empty() || at < calls_.begin()->first;
    calls_.emplace(at, std::move(call));
    if (is_first) changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      if (calls_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const auto first = calls_.begin()->first;
      if (SteadyClock::now() < first) {
        changed_.wait_until(lock, first);
        continue;
      }
      auto due = calls_.extract(calls_.begin());
      lock.unlock();
      due.mapped()();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<SteadyClock::time_point, std::function<void()>> calls_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tf::farm_load
