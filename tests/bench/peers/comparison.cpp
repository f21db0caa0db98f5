#include "tests/bench/peers/comparison.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/runtime/peak.h"

namespace tf::peers {
namespace {

double now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::nano>(now).count();
}

// Nanoseconds of one run, over enough runs to fill `budget_ns`.
double time_run(const Contender& contender, double budget_ns, double estimate_ns) {
  const int64_t runs = std::max<int64_t>(1, std::llround(budget_ns / estimate_ns));
  const double start = now_ns();
  for (int64_t i = 0; i < runs; ++i) contender.run();
  return (now_ns() - start) / static_cast<double>(runs);
}

}  // namespace

Median median_of(std::vector<double> values) {
  TF_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  // Logarithms, as 0.5^n is 0 from n = 1075 on.
  double log_term = -static_cast<double>(n) * std::numbers::ln2;  // of P(Binomial = k)
  double below = std::exp(log_term);                              // P(Binomial <= k)
  size_t k = 0;
  while (below <= 0.025) {
    log_term += std::log(static_cast<double>(n - k) / static_cast<double>(k + 1));
    below += std::exp(log_term);
    ++k;
  }
  const size_t low = k == 0 ? 0 : k - 1;
  return {
      .value = (values[(n - 1) / 2] + values[n / 2]) / 2, .low = values[low], .high = values[n - 1 - low]};
}

Turns take_turns(std::span<const Contender> contenders, const TurnOptions& options) {
  Turns turns;
  turns.ns.resize(contenders.size());
  const double budget_ns = options.turn_ms * 1e6;
  // Other libraries' threads spin for a while after their last run: with more than one thread a turn begins
  // with runs that are not timed for as long as the timed ones.
  const double warm_up_ns = options.runtime->threads > 1 ? budget_ns : budget_ns / 10;
  std::vector<double> estimate_ns;
  for (const Contender& contender : contenders) {
    contender.run();
    estimate_ns.push_back(time_run(contender, 1, 1));
  }
  const Contender traffic{"memory", "", 0, options.move_bytes, nullptr};
  traffic.run();
  double traffic_ns = time_run(traffic, 1, 1);
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      const size_t at = (i + static_cast<size_t>(round)) % contenders.size();  // nobody is always first
      estimate_ns[at] = time_run(contenders[at], warm_up_ns, estimate_ns[at]);
      turns.ns[at].push_back(time_run(contenders[at], budget_ns, estimate_ns[at]));
    }
    traffic_ns = time_run(traffic, warm_up_ns, traffic_ns);
    turns.memory_ns.push_back(time_run(traffic, budget_ns, traffic_ns));
    turns.peak_gflops.push_back(tf_peak_gflops_threads(options.runtime, 5'000'000));
  }
  return turns;
}

Median times_as_fast(const std::vector<double>& ours_ns, const std::vector<double>& theirs_ns) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours_ns.size(); ++i) ratios.push_back(theirs_ns[i] / ours_ns[i]);
  return median_of(std::move(ratios));
}

absl::Status check_answers(const std::string& kernel, const Answer& right,
                           std::span<const Contender> contenders) {
  std::mt19937_64 random(2);
  std::uniform_int_distribution<int64_t> place(0, right.elements - 1);
  std::vector<int64_t> places = {0, right.elements - 1};
  while (places.size() < 1000) places.push_back(place(random));
  std::vector<bench::Expected> expected;
  for (const int64_t at : places) expected.push_back(right.at(at));
  for (const Contender& contender : contenders) {
    contender.run();
    std::vector<float> answer(static_cast<size_t>(right.elements), std::numeric_limits<float>::quiet_NaN());
    contender.read_out(answer);
    for (size_t i = 0; i < places.size(); ++i) {
      const double value = answer[static_cast<size_t>(places[i])];
      if (std::abs(value - expected[i].value) <= contender.tolerance * expected[i].magnitude) continue;
      return absl::FailedPreconditionError(absl::StrCat(kernel, ": ", contender.name, " (", contender.note,
                                                        ") gives ", value, " at element ", places[i],
                                                        ", not ", expected[i].value));
    }
  }
  return absl::OkStatus();
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return 0;
  double logs = 0;
  for (const double value : values) logs += std::log(value);
  return std::exp(logs / static_cast<double>(values.size()));
}

}  // namespace tf::peers
