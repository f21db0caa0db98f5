#pragma once
// Owns: how often something happened lately.

#include <algorithm>
#include <chrono>
#include <deque>

namespace tf::session {

using Clock = std::chrono::steady_clock;

// Trials a second over the last half minute.
class Rate {
 public:
  void count(Clock::time_point now) { times_.push_back(now); }
  double per_second(Clock::time_point start, Clock::time_point now) {
    constexpr auto kWindow = std::chrono::seconds(30);
    while (!times_.empty() && now - times_.front() > kWindow) times_.pop_front();
    const double span =
        std::chrono::duration<double>(std::min<Clock::duration>(kWindow, now - start)).count();
    return span > 0 ? static_cast<double>(times_.size()) / span : 0;
  }

 private:
  std::deque<Clock::time_point> times_;
};

}  // namespace tf::session
