#pragma once
// Owns: the comparison of two builds that were timed in turns, with one estimator for every command that
// prints one: the first's time is the median of its rounds, the ratio the median of the ratios of each round,
// and the other's time the first's times that ratio. So times and ratio cannot contradict each other, and
// what disturbs a whole round cancels out. Pure. Does not know: what was timed.

#include <span>
#include <string_view>
#include <vector>

#include "base/statistics/race.h"

namespace tf {

struct Paired {
  double first = 0, other = 0;  // of one run, in the unit of the samples
  Estimate ratio;               // other to first
};

// Samples are one a round, in the same order.
inline Paired compare_paired(std::span<const double> first, std::span<const double> other) {
  Paired paired;
  paired.first = estimate(std::vector<double>(first.begin(), first.end())).median_ns;
  paired.ratio = ratio_of(other, first);
  paired.other = paired.first * paired.ratio.median_ns;
  return paired;
}

enum class Verdict { kFaster, kSlower, kNotMeasurable };

// By the 95% bounds of the ratio.
inline Verdict verdict_of(const Estimate& ratio) {
  if (ratio.high_ns < 1) return Verdict::kFaster;
  return ratio.low_ns > 1 ? Verdict::kSlower : Verdict::kNotMeasurable;
}

// What stands between "tuned is" and a full stop.
inline std::string_view verdict_words(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kNotMeasurable:
      break;
  }
  return "not measurably faster or slower";
}

}  // namespace tf
