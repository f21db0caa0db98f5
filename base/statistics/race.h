#pragma once
// Owns: the statistics of racing: what samples of a run time tell, and when they tell enough. Pure values; no
// clocks. Does not know kernels, devices or who runs next.
//
// Noise on a machine is one-sided and has long tails: mostly a run takes its time, now and then much longer.
// So what is told of a time, and tested while samples come, is a median, and of a sample we only assume that
// it exceeds its kernel's median by the share d or more with a probability of at most exceedance(d). What the
// samples of one process have in common (where its buffers lie, say) is no such noise: more of them do not
// make it smaller. kShared bounds it.
// Trials minutes apart are another matter: others on the machine may slow down most samples of one, and the
// shortest has the least of that (Chen and Revels, "Robust benchmarking in noisy environments", 2016).
// Between processes of one candidate it differs by 0.7 times as much as the median does (of one thread, in
// the median of ten kernels in tests/bench/search). So who of many is the fastest is asked of shortest
// samples: of each trial's, for in one process a kernel may be faster than in most.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tf {

inline constexpr double kNoiseFloor = 0.01;  // no machine is calmer
inline constexpr double kNoiseCeiling = 1;   // what is noisier tells no more
inline constexpr double kShared = 0.02;

// Half at 0, an eighth at `noise`, falling with the square from there: what recorded samples of kernels stay
// below (tests/unit/base/race_test.cpp).
inline double exceedance(double share, double noise) {
  const double ratio = 1 + std::max(0.0, share) / noise;
  return 0.5 / (ratio * ratio);
}

// A sequential test of "its median is at most the incumbent's". Each sample is turned into a p-value by
// exceedance() and that into an e-value, whose product over the samples is a test martingale: the probability
// that it ever reaches 1/error for a candidate that is no slower is at most `error`, however often one looks
// (Ville's inequality; the calibrator is equation 2 of Vovk and Wang, "E-values: calibration, combination and
// applications", Annals of Statistics 49, 2021). A candidate of twice the time is stopped by its first
// sample, one of 1.1 times by its third or fourth, one that is as fast hardly ever.
class SlowerTest {
 public:
  // incumbent_ns 0: nothing is slower.
  SlowerTest(double incumbent_ns, double noise, double error = 0.01)
      : incumbent_ns_(incumbent_ns), noise_(std::max(noise, kNoiseFloor)), enough_(-std::log(error)) {}

  void add(double run_ns) {
    if (incumbent_ns_ > 0) evidence_ += std::log(e_value(run_ns / (incumbent_ns_ * (1 + kShared)) - 1));
  }
  bool is_slower() const { return incumbent_ns_ > 0 && evidence_ >= enough_; }

 private:
  double e_value(double share) const {
    if (share <= 0) return 0.5;  // the calibrator at p = 1
    const double p = exceedance(share, noise_), log_p = std::log(p);
    return (1 - p + p * log_p) / (p * log_p * log_p);
  }

  double incumbent_ns_, noise_, enough_;
  double evidence_ = 0;  // the logarithm of the product
};

// The greatest time that SlowerTest refutes as the median after all of these samples; 0 if there is none.
inline double lower_bound_ns(std::span<const double> runs_ns, double noise, double error = 0.01) {
  if (runs_ns.empty()) return 0;
  auto refutes = [&](double ns) {
    SlowerTest test(ns, noise, error);
    for (double run_ns : runs_ns) test.add(run_ns);
    return test.is_slower();
  };
  double low = *std::min_element(runs_ns.begin(), runs_ns.end()) / 1024;
  double high = *std::max_element(runs_ns.begin(), runs_ns.end());
  if (!(low > 0) || !refutes(low)) return 0;
  for (int step = 0; step < 60; ++step) {
    const double middle = std::sqrt(low * high);
    (refutes(middle) ? low : high) = middle;
  }
  return low;
}

struct Estimate {
  double median_ns = 0;            // 0: no samples
  double low_ns = 0, high_ns = 0;  // 95% bounds of the median
  double noise = kNoiseFloor;      // of one sample, as exceedance() takes it
  double least_ns = 0;             // the shortest sample
};

// Of samples, in any order. The bounds are order statistics (David and Nagaraja, "Order statistics", 7.1),
// the outermost where there are fewer than six samples, and never closer than half of the noise.
inline Estimate estimate(std::vector<double> runs_ns) {
  Estimate out;
  const size_t n = runs_ns.size();
  if (n == 0) return out;
  std::sort(runs_ns.begin(), runs_ns.end());
  out.least_ns = runs_ns.front();
  out.median_ns = n % 2 == 1 ? runs_ns[n / 2] : (runs_ns[n / 2 - 1] + runs_ns[n / 2]) / 2;
  std::vector<double> shares;
  for (double run_ns : runs_ns) shares.push_back(std::abs(std::log(run_ns / out.median_ns)));
  std::sort(shares.begin(), shares.end());
  out.noise = std::clamp(shares[(3 * n) / 4 == n ? n - 1 : (3 * n) / 4], kNoiseFloor, kNoiseCeiling);
  size_t outside = 0;  // samples left out at each end: P(at most so many of n below the median) <= 2.5%
  double term = std::pow(0.5, static_cast<double>(n)), below = term;
  while (below <= 0.025 && outside + 1 < (n + 1) / 2) {
    term *= static_cast<double>(n - outside) / static_cast<double>(outside + 1);
    if (below + term > 0.025) break;
    below += term;
    ++outside;
  }
  const double least = 1 + out.noise / 2;
  out.low_ns = std::min(runs_ns[outside], out.median_ns / least);
  out.high_ns = std::max(runs_ns[n - 1 - outside], out.median_ns * least);
  return out;
}

// Of times as shares of the others' that were taken beside them, one for one.
inline Estimate ratio_of(std::span<const double> runs_ns, std::span<const double> others_ns) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(runs_ns.size(), others_ns.size()); ++i)
    ratios.push_back(runs_ns[i] / others_ns[i]);
  return estimate(std::move(ratios));
}

}  // namespace tf
