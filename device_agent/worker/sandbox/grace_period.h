#pragma once
// Owns: which batches of timed runs count. On a busy machine, the system preempts the process in the middle
// of a batch, and the batch's time then includes the work of others. Such batches are excluded, and later
// batches are made shorter so that they fit between interruptions. When the grace period is used up, every
// batch counts. Pure; does not know clocks or kernels.

#include <algorithm>
#include <cstdint>

namespace tf::worker::sandbox {

// The time that a trial may spend beyond the batches that count, for all its samples together.
inline constexpr int64_t kGracePeriodNs = 40'000'000;

struct BatchTime {
  int64_t elapsed_ns;  // since the last batch, because preemption can also happen between two
  int64_t total_ns;    // wall-clock time of the batch
  int64_t cpu_ns;      // processor time of the thread that ran it
};

class GracePeriod {
 public:
  explicit GracePeriod(int64_t total_ns) : total_ns_(total_ns), left_ns_(total_ns) {}

  // If none is left, every batch counts, and its cpu_ns is not used.
  bool is_left() const { return left_ns_ > 0; }

  // Whether the batch is excluded. Excluded batches, and the time between batches, use up the grace period.
  bool leaves_out(const BatchTime& batch) {
    left_ns_ -= batch.elapsed_ns - batch.total_ns;
    const int64_t taken_away_ns = batch.total_ns - batch.cpu_ns;
    const bool interrupted = taken_away_ns > kNoticedNs + batch.total_ns / 50;
    const bool leaves_out = interrupted && batch.total_ns <= left_ns_;
    counts_interrupted_ = counts_interrupted_ || interrupted != leaves_out;
    if (!leaves_out) return false;
    left_ns_ -= batch.total_ns;
    batch_ns_ = std::max(kShortestBatchNs, std::min(batch_ns_, batch.cpu_ns) / 2);
    return true;
  }

  // Whether a batch counts that was interrupted, or may have been.
  bool is_disturbed() const { return counts_interrupted_ || (total_ns_ > 0 && !is_left()); }

  // The maximum time that a batch should take.
  int64_t batch_ns() const { return is_left() ? batch_ns_ : INT64_MAX; }

 private:
  static constexpr int64_t kNoticedNs = 5'000;          // the two clocks are not read at the same moment
  static constexpr int64_t kShortestBatchNs = 200'000;  // clock reads must not count

  int64_t total_ns_, left_ns_;
  int64_t batch_ns_ = INT64_MAX;
  bool counts_interrupted_ = false;
};

}  // namespace tf::worker::sandbox
