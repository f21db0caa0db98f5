#include "tuner/session/network/network_trial.h"

#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/statistics/paired.h"
#include "base/status.h"
#include "base/unix_time.h"
#include "compiler/records/records_source.h"

namespace tf::session {
namespace {

using Clock = std::chrono::steady_clock;
using database::NetworkVerdict;
using driver::Rounds;

// New processes are slow at first, so the first round does not count.
constexpr size_t kUncounted = 1;
// After so many rounds that count it may be enough. Few looks, for each may err.
constexpr size_t kLooks[] = {12, 24, 48, 96};
constexpr size_t kFewest = 6, kMost = kLooks[3];

std::span<const double> counted_rounds(const Rounds& rounds) {
  return std::span(rounds).subspan(std::min(kUncounted, rounds.size()));
}

Paired compare(std::span<const Rounds> rounds) {
  return compare_paired(counted_rounds(rounds[0]), counted_rounds(rounds[1]));
}

bool is_enough(std::span<const Rounds> rounds) {
  constexpr double kNothing = 0.015;  // wide: the bounds of a ratio that is nothing to the network
  if (std::ranges::count(kLooks, rounds[0].size() - kUncounted) == 0) return false;
  const Estimate ratio = compare(rounds).ratio;
  return verdict_of(ratio) != Verdict::kNotMeasurable || ratio.high_ns - ratio.low_ns < kNothing;
}

class Trial {
 public:
  Trial(NetworkBench& bench, const NetworkTrialOptions& options) : bench_(bench), options_(options) {}

  absl::Status run(const UntunedNetwork& untuned, records::Plan& tuned, NetworkTrial& trial) {
    TF_RETURN_IF_ERROR(has_time());
    TF_ASSIGN_OR_RETURN(const driver::Run first, of_untuned(untuned.open()));
    TF_ASSIGN_OR_RETURN(const NetworkBench::Open open, bench_.build(tuned, options_.deadline));
    const absl::StatusOr<driver::Run> other = of_tuned(open());
    const absl::Status both = other.ok() ? run_both(first, *other, trial) : other.status();
    if (failure_.ok()) return both;
    trial.verdict.why = absl::StrCat("the tuned network fails: ", failure_.message());
    return absl::OkStatus();
  }

 private:
  bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }
  absl::Status has_time() const {
    if (is_stopped()) return absl::CancelledError("interrupted");
    if (Clock::now() < options_.deadline) return absl::OkStatus();
    return absl::DeadlineExceededError(
        "there was not enough time; increase --minutes, or time both builds with `compiler bench`");
  }

  absl::Status run_both(const driver::Run& untuned, const driver::Run& tuned, NetworkTrial& trial) {
    const driver::Run runs[] = {[&] { return of_untuned(untuned()); }, [&] { return of_tuned(tuned()); }};
    TF_ASSIGN_OR_RETURN(const std::vector<Rounds> rounds,
                        driver::run_in_turns(runs, {.rounds = static_cast<int>(kUncounted + kMost),
                                                    .is_over = [this] { return !has_time().ok(); },
                                                    .is_enough = is_enough}));
    const size_t count = counted_rounds(rounds[0]).size();
    if (is_stopped() || count < kFewest) TF_RETURN_IF_ERROR(has_time());
    const Paired paired = compare(rounds);
    trial.untuned_ns = paired.first;
    trial.tuned_ns = paired.other;
    trial.ratio = paired.ratio;
    trial.rounds = static_cast<int>(count);
    const Verdict verdict = verdict_of(paired.ratio);
    if (verdict == Verdict::kFaster) trial.verdict.takes = NetworkVerdict::Takes::kFastest;
    trial.verdict.why =
        absl::StrFormat("the tuned network is %s: ratio %.3f (95%%: %.3f to %.3f)", verdict_words(verdict),
                        paired.ratio.median_ns, paired.ratio.low_ns, paired.ratio.high_ns);
    return absl::OkStatus();
  }

  template <typename T>
  static absl::StatusOr<T> of_untuned(absl::StatusOr<T> answer) {
    if (answer.ok() || absl::IsCancelled(answer.status()) || absl::IsDeadlineExceeded(answer.status()))
      return answer;
    return absl::InternalError(absl::StrCat("the untuned network fails: ", answer.status().message()));
  }

  // Its error is the tuned build's own, and what the verdict is about.
  template <typename T>
  absl::StatusOr<T> of_tuned(absl::StatusOr<T> answer) {
    if (!absl::IsCancelled(answer.status())) failure_.Update(answer.status());
    return answer;
  }

  NetworkBench& bench_;
  const NetworkTrialOptions& options_;
  absl::Status failure_;  // of the tuned build
};

}  // namespace

double network_trial_seconds(const Progress& progress) {
  constexpr double kRounds = kUncounted + kLooks[1];  // most are decided by then
  constexpr double kLinkSeconds = 1, kOpenSeconds = 0.1,
                   kSlowBuilds = 4;  // beside kernels; a second, as long as nothing is known
  double kernels = 0, network_ns = 0;
  for (const TaskProgress& task : progress.tasks()) {
    if (task.weight() <= 0) continue;
    ++kernels;
    network_ns += task.weight() * (task.best_ns() + std::max(task.best_ns(), task.untuned_ns()));
  }
  // A trial builds a kernel, too.
  const double rate = progress.trials_per_second() > 0 ? progress.trials_per_second() : kSlowBuilds;
  return kLinkSeconds + 2 * kOpenSeconds + kernels / rate + kRounds * driver::kTurn * network_ns * 1e-9;
}

absl::StatusOr<NetworkTrial> try_network(const graph::Graph& network, const UntunedNetwork& untuned,
                                         database::Store& store, NetworkBench& bench,
                                         const NetworkTrialOptions& options) {
  records::BestSource fastest(store, options.device_class, options.allowed_numerics,
                              NetworkVerdict::Takes::kFastest);
  TF_ASSIGN_OR_RETURN(records::Plan tuned,
                      records::plan_network(fastest, network, options.target, options.threads));
  const auto key_of = [&](const graph::Program& program) {
    return records::verdict_key(program, options.device_class, options.target, options.threads,
                                options.allowed_numerics);
  };
  NetworkTrial trial{.verdict = {.key = key_of(untuned.plan.program),
                                 .device_class = options.device_class,
                                 .target = options.target.text(),
                                 .threads = static_cast<uint32_t>(options.threads),
                                 .name = options.name,
                                 .numerics = options.allowed_numerics}};
  const records::Plan* const plans[] = {&untuned.plan, &tuned};
  for (const records::Plan* plan : plans)
    for (const graph::Task& task : plan->program.tasks)
      trial.verdict.kernels.insert({tensor::workload_key(task.kernel.workload)});
  const bool is_untuned =
      std::ranges::all_of(tuned.choices, [](const auto& choice) { return !choice || choice->is_untuned; });
  if (is_untuned && key_of(tuned.program) == trial.verdict.key) {  // and the same kernels
    trial.verdict.why = "no schedule looks faster than the untuned ones";
  } else {
    TF_RETURN_IF_ERROR(Trial(bench, options).run(untuned, tuned, trial));
  }
  trial.verdict.decided_unix_ns = now_unix_ns();
  TF_RETURN_IF_ERROR(store.save_verdict(trial.verdict, database::Origin::kLive));
  return trial;
}

}  // namespace tf::session
