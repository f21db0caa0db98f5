#pragma once
// Owns: whether the machine is as fast as it was, by the rate of a reference kernel that runs between trials,
// and what to do if not: rest until it is again, but not for long. Pure; does not know clocks or kernels.

#include <algorithm>
#include <cstdint>

namespace tf::worker {

class Steadiness {
 public:
  static constexpr int64_t kEveryNs = 5'000'000'000;  // between two readings
  static constexpr double kSlow = 0.93;               // of the best reading: clocks vary by a few percent
  static constexpr int64_t kRestNs = 250'000'000;
  // All rests together: so long, and a tenth of the time. What is slow for longer is not hot but shared.
  static constexpr int64_t kLongestRestNs = 10'000'000'000;

  bool is_due(int64_t now_ns) const { return now_ns >= due_ns_; }

  // Takes a reading, in any unit of speed. How long to rest before the next one; 0: the machine is as fast as
  // it was, or has been slow for so long that this is its speed now.
  int64_t take(double rate, int64_t now_ns) {
    if (best_ == 0) started_ns_ = now_ns;
    best_ = std::max(best_, rate);
    const bool slow = rate < kSlow * best_;
    if (slow && rested_ns_ < kLongestRestNs + (now_ns - started_ns_) / 10) {
      rested_ns_ += kRestNs;
      return kRestNs;
    }
    if (slow) best_ = rate;
    due_ns_ = now_ns + kEveryNs;
    return 0;
  }

 private:
  double best_ = 0;
  int64_t started_ns_ = 0;
  int64_t rested_ns_ = 0;  // since then
  int64_t due_ns_ = 0;
};

}  // namespace tf::worker
