#pragma once
// Owns: taking turns, and what follows from the times of neighbouring turns. A shared machine drifts, so that
// only times of one short window compare: in each round every contender runs for some milliseconds, and the
// ratios are of one round's times. Does not know: who the contenders are.

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "compiler/runtime/kernel_abi.h"
#include "tests/bench/kernels/kernel_table.h"
#include "tests/bench/peers/contender.h"

namespace tf::peers {

// A median with its 95% bounds: the order statistics x(k) and x(n+1-k), k the largest with
// P(Binomial(n, 1/2) < k) <= 0.025 (Conover, Practical Nonparametric Statistics, 3.2). Fewer than 6 values
// have no such k: the bounds are then the least and the greatest.
struct Median {
  double value = 0, low = 0, high = 0;
};
Median median_of(std::vector<double> values);

struct Turns {
  // Nanoseconds of one run: [contender][round].
  std::vector<std::vector<double>> ns;
  // The FMA rate of the same threads in each round, GFLOP/s.
  std::vector<double> peak_gflops;
};
struct TurnOptions {
  int rounds = 15;
  double turn_ms = 10;  // timed, of each contender in a round; at least one run
  const tf_runtime* runtime = nullptr;
};
// Buffers are hot: each contender runs again and again on its own, first some runs without the clock.
Turns take_turns(std::span<const Contender> contenders, const TurnOptions& options);

// The ratios' median: how many times as fast `ours` is as `theirs`.
Median times_as_fast(const std::vector<double>& ours_ns, const std::vector<double>& theirs_ns);

// Runs everybody once and compares a thousand elements of each answer with double precision, each within its
// own tolerance. FAILED_PRECONDITION names the first that is wrong.
absl::Status check_answers(const bench::Kernel& kernel, const bench::Operands& operands,
                           std::span<const Contender> contenders);

double geometric_mean(std::span<const double> values);  // 0 if there are none

}  // namespace tf::peers
