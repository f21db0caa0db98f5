#pragma once
// Owns: the golden kernel's times on one slot: the last ones, the baseline that the slot itself set, and how
// far it has drifted from it. Pure. Does not know: what follows from a drift.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "rpc/clock.h"

namespace tf::tracker {

// farm.v1.GoldenSample
struct GoldenSample {
  uint32_t slot = 0;
  std::string kernel;
  int64_t time_ns = 0;  // 0: it could not be run, or its answer was wrong
  double spread = 0;    // (largest - smallest) / median
  double temperature_c = 0;
  double clock_mhz = 0;
  std::string governor;
  double load_1min = 0;
  bool throttled = false;
  rpc::Instant taken_at;
  std::string detail;
};

// What outlives the tracker. A baseline is of one kernel on one machine.
struct GoldenBaseline {
  std::string kernel;
  std::string fingerprint;
  double time_ns = 0;  // 0: none yet
  bool operator==(const GoldenBaseline&) const = default;
};

class GoldenTrend {
 public:
  static constexpr size_t kKept = 64;
  static constexpr size_t kForBaseline = 5;  // the baseline is their median
  static constexpr size_t kForDrift = 3;     // the drift is of their median

  explicit GoldenTrend(GoldenBaseline baseline = {}) : baseline_(std::move(baseline)) {}

  // False: it was added before (an agent tells again what it told in an earlier session). A sample of another
  // kernel or machine begins anew.
  bool add(const GoldenSample& sample, const std::string& fingerprint);

  const GoldenBaseline& baseline() const { return baseline_; }
  // The last measured ones' median over the baseline, less 1; 0 while there is no baseline.
  double drift() const;
  // Whether a sample lies within `tolerance`, or its own spread, of the baseline. One that could not
  // be measured does not; without a baseline every other one does.
  bool agrees(const GoldenSample& sample, double tolerance) const;
  // Oldest first.
  const std::deque<GoldenSample>& samples() const { return samples_; }
  // With the last samples only, those that the drift is of.
  GoldenTrend latest() const;

 private:
  double median_of_last(size_t count) const;

  GoldenBaseline baseline_;
  std::deque<GoldenSample> samples_;
};

}  // namespace tf::tracker
