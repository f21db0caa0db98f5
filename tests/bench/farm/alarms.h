#pragma once
// Owns: one thread that calls functions later, and how late it was with that. Does not know: what they do.

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

inline constexpr std::chrono::seconds kTryAgain(1);  // what a lost connection ended

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

  // How long after their time calls began, since this was asked last.
  std::vector<double> take_late_ms() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(late_ms_, {});
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
      const auto now = SteadyClock::now();
      if (now < first) {
        changed_.wait_until(lock, first);
        continue;
      }
      late_ms_.push_back(std::chrono::duration<double, std::milli>(now - first).count());
      auto due = calls_.extract(calls_.begin());
      lock.unlock();
      due.mapped()();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<SteadyClock::time_point, std::function<void()>> calls_;
  std::vector<double> late_ms_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tf::farm_load
