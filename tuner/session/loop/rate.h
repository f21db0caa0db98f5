#pragma once
// Owns: how often something happens: lately, and in all the time in which it did. Pure: reads no clock.

#include <algorithm>
#include <chrono>
#include <deque>

namespace tf::session {

using Clock = std::chrono::steady_clock;

class Rate {
 public:
  explicit Rate(Clock::time_point start) : start_(start), last_(start) {}

  // In order.
  void count(Clock::time_point now) {
    active_ += std::min<Clock::duration>(now - last_, kWindow);
    last_ = now;
    times_.push_back(now);
  }
  // Over the last half minute.
  double per_second(Clock::time_point now) {
    while (!times_.empty() && now - times_.front() > kWindow) times_.pop_front();
    const double span = seconds(std::min<Clock::duration>(kWindow, now - start_));
    return span > 0 ? static_cast<double>(times_.size()) / span : 0;
  }
  // From the start to the last one; of a longer pause half a minute.
  double active_s() const { return seconds(active_); }

 private:
  static constexpr std::chrono::seconds kWindow{30};
  static double seconds(Clock::duration span) { return std::chrono::duration<double>(span).count(); }

  const Clock::time_point start_;
  Clock::time_point last_;
  Clock::duration active_ = Clock::duration::zero();
  std::deque<Clock::time_point> times_;
};

}  // namespace tf::session
