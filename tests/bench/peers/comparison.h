#pragma once
// Owns: taking turns, and what follows from the times of neighbouring turns. A shared machine drifts, so that
// only times of one short window compare: in each round every contender runs for some milliseconds, and the
// ratios are of one round's times. Does not know: who the contenders are.

#include <functional>
#include <span>
#include <string>
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
  // In each round, by the same threads: their FMA rate, GFLOP/s, and the time to move the kernel's bytes.
  std::vector<double> peak_gflops, memory_ns;
};
struct TurnOptions {
  int rounds = 15;
  double turn_ms = 10;  // timed, of each contender in a round; at least one run
  const tf_runtime* runtime = nullptr;
  std::function<void()> move_bytes;  // memory_traffic of the kernel
};
// Buffers are hot: each contender runs again and again on its own, first some runs without the clock.
Turns take_turns(std::span<const Contender> contenders, const TurnOptions& options);

// The ratios' median: how many times as fast `ours` is as `theirs`.
Median times_as_fast(const std::vector<double>& ours_ns, const std::vector<double>& theirs_ns);

// The right answer: its row-major elements, and how to get one of them.
struct Answer {
  int64_t elements = 0;
  std::function<bench::Expected(int64_t index)> at;
};

// Runs everybody once and compares a thousand elements of each answer with the right one, each within the
// contender's own tolerance. FAILED_PRECONDITION names the first that is wrong.
absl::Status check_answers(const std::string& kernel, const Answer& right,
                           std::span<const Contender> contenders);

double geometric_mean(std::span<const double> values);  // 0 if there are none

}  // namespace tf::peers
