#pragma once
// Owns: whether the machine is as fast as it was, by the rate of a reference kernel that runs between trials,
// and what to do if not: rest until it is again, but not for long. Pure; does not know clocks or kernels.

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tf::worker {

class Steadiness {
 public:
  static constexpr int64_t kEveryNs = 5'000'000'000;  // between two readings
  static constexpr double kSlow = 0.93;               // of the best reading: clocks vary by a few percent
  static constexpr int64_t kRestNs = 250'000'000;     // between two readings while it rests
  // One rest by the clock, its readings included: on a busy machine they take longer than what is between
  // them. A trial's holder waits meanwhile, and what is slow for longer is not hot but shared.
  static constexpr int64_t kLongestRestNs = 10'000'000'000;
  // All rests together: one of the longest, and so much of the time.
  static constexpr int64_t kRestedShare = 10;  // a tenth

  bool is_due(int64_t now_ns) const { return now_ns >= due_ns_; }

  // Takes a reading, in any unit of speed. How long to rest before the next one; 0: the machine is as fast as
  // it was, or has been slow for so long that this is its speed now.
  int64_t take(double rate, int64_t now_ns) {
    if (best_ == 0) started_ns_ = now_ns;
    best_ = std::max(best_, rate);
    const bool slow = rate < kSlow * best_;
    if (slow) {
      if (!resting_since_ns_) resting_since_ns_ = now_ns;
      if (now_ns + kRestNs - *resting_since_ns_ <= longest_rest_ns(now_ns)) return kRestNs;
      best_ = rate;
    }
    // A rest that was broken off, with its lease, may have been long ago.
    if (resting_since_ns_) rested_ns_ += std::min(now_ns - *resting_since_ns_, kLongestRestNs);
    resting_since_ns_.reset();
    due_ns_ = now_ns + kEveryNs;
    return 0;
  }

 private:
  int64_t longest_rest_ns(int64_t now_ns) const {
    const int64_t all_ns = kLongestRestNs + (now_ns - started_ns_) / kRestedShare;
    return std::min(kLongestRestNs, all_ns - rested_ns_);
  }

  double best_ = 0;
  int64_t started_ns_ = 0;
  int64_t rested_ns_ = 0;                    // in rests that are over
  std::optional<int64_t> resting_since_ns_;  // present: it rests
  int64_t due_ns_ = 0;
};

}  // namespace tf::worker
