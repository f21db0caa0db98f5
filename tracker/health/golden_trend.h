#pragma once
// Owns: the golden kernel's times on one slot: the last ones, the baseline that the slot itself set, and
// whether it is slower than that. Pure. Does not know: what follows from it.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// What a sample says of the slot.
enum class GoldenVerdict {
  kInPlace,
  kOff,       // the first time, or within moments of it
  kOffAgain,  // still
};

class GoldenTrend {
 public:
  static constexpr size_t kKept = 64;
  static constexpr size_t kForBaseline = 5;   // the baseline is their median
  static constexpr size_t kForDrift = 3;      // the drift is of their median
  static constexpr double kMostExcuse = 0.2;  // how much slower a sample may be because its runs differed
  static constexpr double kMostSpread = 1;    // beyond it times mean nothing
  static constexpr absl::Duration kOffAgainAfter = absl::Seconds(5);  // from the first that was off

  explicit GoldenTrend(GoldenBaseline baseline = {}) : baseline_(std::move(baseline)) {}

  // What it says; nothing if it was added before (an agent tells again what it told in an earlier session). A
  // sample is off if it could not be measured, or if it is slower than the baseline by more than
  // `tolerance`, or by more than its own spread as far as that is an excuse. One with a spread beyond
  // kMostSpread is off, too, and counts for no baseline and no drift. Without a baseline such a sample says
  // nothing (what else runs on a device that is new to us need not be its fault), and any other time is
  // in place. Being faster is no fault: when the last ones all were, by more than `tolerance`, they set a new
  // baseline. A sample of another kernel or machine begins anew.
  std::optional<GoldenVerdict> add(const GoldenSample& sample, const std::string& fingerprint,
                                   double tolerance);
  // The next ones set another baseline.
  void begin_anew();

  const GoldenBaseline& baseline() const { return baseline_; }
  // The last measured ones' median over the baseline, less 1; 0 while there is no baseline.
  double drift() const;
  // The last sample was off.
  bool is_off() const { return off_since_.has_value(); }
  // Oldest first.
  const std::deque<GoldenSample>& samples() const { return samples_; }
  // With the last samples only, those that the drift is of.
  GoldenTrend latest() const;

 private:
  std::vector<int64_t> last_measured_ns(size_t most) const;
  double median_of_last(size_t most) const;
  void set_baseline(double tolerance);
  bool is_in_place(const GoldenSample& sample, double tolerance) const;

  GoldenBaseline baseline_;
  std::deque<GoldenSample> samples_;
  std::optional<rpc::Instant> off_since_;
};

}  // namespace tf::tracker
