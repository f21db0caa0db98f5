#include "tuner/session/network_trial.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/status.h"
#include "tuner/session/network_records.h"

namespace tf::session {
namespace {

using Clock = std::chrono::steady_clock;
using driver::Rounds;

// From so many rounds on, the bounds of a median are its 95% ones.
constexpr size_t kFewestRounds = 6;
constexpr int kMostRounds = 300;

// A plan and its build.
struct Side {
  records::Plan plan;
  driver::Run run;
};

// Where both builds have the same kernel, between the same layouts, by different schedules.
struct Contest {
  std::string key;
  size_t untuned = 0, tuned = 0;  // tasks
  Rivals rivals;
};

// Of each round, what the task's calls took together. Parts of a run are the whole and then its calls.
std::vector<double> task_ns(const graph::Program& program, size_t task, const Rounds& rounds) {
  std::vector<double> sums_ns(rounds.size(), 0);
  for (size_t round = 0; round < rounds.size(); ++round) {
    for (size_t call = 0; call < program.calls.size() && call + 1 < rounds[round].size(); ++call)
      if (static_cast<size_t>(program.calls[call].task) == task) sums_ns[round] += rounds[round][call + 1];
  }
  return sums_ns;
}

uint32_t calls_of(const graph::Program& program, size_t task) {
  return static_cast<uint32_t>(std::ranges::count_if(
      program.calls, [&](const graph::Call& call) { return static_cast<size_t>(call.task) == task; }));
}

// One trial: what is built, run and found out, and what is left to try.
class Trial {
 public:
  Trial(const graph::Graph& network, NetworkBench& bench, const NetworkTrialOptions& options,
        const NetworkRecords& records)
      : network_(network), bench_(bench), options_(options), records_(records) {}

  absl::Status build_untuned() {
    TF_ASSIGN_OR_RETURN(untuned_.plan, records::plan_untuned(network_, options_.target));
    return build(untuned_);
  }

  // Builds by what the source says and runs that beside the untuned build.
  absl::Status try_out(NetworkSource::Which which) {
    contests_.clear();
    tuned_.run = nullptr;  // the process of the build before
    NetworkSource source(records_, which);
    TF_ASSIGN_OR_RETURN(tuned_.plan,
                        records::plan_network(source, network_, options_.target, options_.threads));
    TF_RETURN_IF_ERROR(build(tuned_));
    NetworkTrial tried;
    TF_RETURN_IF_ERROR(find_contests(tried));
    TF_ASSIGN_OR_RETURN(const std::vector<Rounds> rounds, run());
    TF_RETURN_IF_ERROR(judge(rounds[0], rounds[1], tried));
    result_ = std::move(tried);
    return absl::OkStatus();
  }

  // Whether the last one lost any kernel that is now built otherwise.
  bool has_changed() const { return has_lost_; }
  const NetworkTrial& result() const { return result_; }

 private:
  bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }
  // Whether what takes so long is over before the deadline.
  absl::Status has_time_for(Clock::duration duration) const {
    if (is_stopped()) return absl::CancelledError("interrupted");
    if (options_.deadline - Clock::now() > duration) return absl::OkStatus();
    return absl::DeadlineExceededError(
        "there was not the time for it: give --minutes more, or time both builds by `compiler bench`");
  }

  absl::Status build(Side& side) {
    TF_RETURN_IF_ERROR(has_time_for(build_took_));
    const Clock::time_point began = Clock::now();
    TF_ASSIGN_OR_RETURN(side.run, bench_.build(side.plan));
    build_took_ = Clock::now() - began;
    return absl::OkStatus();
  }

  absl::Status find_contests(NetworkTrial& tried) {
    std::map<std::string, size_t> known;
    for (size_t i = 0; i < untuned_.plan.program.tasks.size(); ++i)
      known.emplace(graph::task_key(untuned_.plan.program.tasks[i]), i);
    tried.kernels = static_cast<int>(tuned_.plan.program.tasks.size());
    for (size_t i = 0; i < tuned_.plan.program.tasks.size(); ++i) {
      if (!tuned_.plan.choices[i]) continue;
      TF_ASSIGN_OR_RETURN(std::optional<Rivals> rivals, records_.rivals(*tuned_.plan.choices[i]));
      if (!rivals) continue;
      ++tried.tuned;
      std::string key = graph::task_key(tuned_.plan.program.tasks[i]);
      const auto found = known.find(key);
      if (found == known.end()) {
        ++tried.other_layouts;
      } else {
        contests_.push_back({std::move(key), found->second, i, *std::move(rivals)});
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Rounds>> run() {
    const driver::Run runs[] = {untuned_.run, tuned_.run};
    const auto is_over = [&] { return !has_time_for({}).ok(); };
    const auto is_enough = [&](std::span<const Rounds> rounds) {
      return rounds[0].size() >= kFewestRounds && is_settled(rounds[0], rounds[1]);
    };
    TF_ASSIGN_OR_RETURN(
        std::vector<Rounds> rounds,
        driver::run_in_turns(runs, {.rounds = kMostRounds, .is_over = is_over, .is_enough = is_enough}));
    if (is_stopped() || rounds[0].size() < kFewestRounds) TF_RETURN_IF_ERROR(has_time_for({}));
    return rounds;
  }

  Estimate ratio(const Contest& contest, const Rounds& untuned, const Rounds& tuned) const {
    return ratio_of(task_ns(tuned_.plan.program, contest.tuned, tuned),
                    task_ns(untuned_.plan.program, contest.untuned, untuned));
  }

  // Whether what the wrong schedule of any kernel may still cost is nothing to the network.
  bool is_settled(const Rounds& untuned, const Rounds& tuned) const {
    constexpr size_t kLookEvery = 4;     // rounds: looking takes time, too
    constexpr double kNothing = 0.0005;  // of the network's time, a kernel
    if (untuned.size() % kLookEvery != 0) return false;
    const double network_ns = estimate(driver::times_of(untuned)).median_ns;
    return std::ranges::all_of(contests_, [&](const Contest& contest) {
      const double kernel_ns = estimate(task_ns(untuned_.plan.program, contest.untuned, untuned)).median_ns;
      const Estimate tuned_share = ratio(contest, untuned, tuned);
      return std::min(tuned_share.high_ns - 1, 1 - tuned_share.low_ns) * kernel_ns < kNothing * network_ns;
    });
  }

  absl::Status judge(const Rounds& untuned, const Rounds& tuned, NetworkTrial& tried) {
    const std::vector<double> untuned_ns = driver::times_of(untuned), tuned_ns = driver::times_of(tuned);
    tried.untuned_ns = estimate(untuned_ns).median_ns;
    tried.tuned_ns = estimate(tuned_ns).median_ns;
    tried.ratio = ratio_of(tuned_ns, untuned_ns);
    tried.rounds = static_cast<int>(untuned.size());
    TF_ASSIGN_OR_RETURN(const database::DeviceState device, bench_.device());
    has_lost_ = false;
    for (const Contest& contest : contests_) {
      const bool is_faster = ratio(contest, untuned, tuned).high_ns < 1;
      tried.faster += is_faster;
      if (!is_faster) lost_.insert(contest.key);
      has_lost_ = has_lost_ || !is_faster;
      TF_RETURN_IF_ERROR(records_.record(contest.rivals, task_ns(tuned_.plan.program, contest.tuned, tuned),
                                         task_ns(untuned_.plan.program, contest.untuned, untuned),
                                         calls_of(tuned_.plan.program, contest.tuned), device));
    }
    tried.put_back = static_cast<int>(lost_.size());
    return absl::OkStatus();
  }

  const graph::Graph& network_;
  NetworkBench& bench_;
  const NetworkTrialOptions& options_;
  const NetworkRecords& records_;
  Side untuned_, tuned_;
  Clock::duration build_took_{};
  std::vector<Contest> contests_;
  std::set<std::string> lost_;  // keys of kernels, of all tries
  bool has_lost_ = false;       // one of the last try
  NetworkTrial result_;
};

}  // namespace

double network_trial_seconds(const Progress& progress) {
  // The untuned build, the fastest one, and the one of those that lost none; two of them run, so often.
  constexpr double kBuilds = 3, kTries = 2, kRounds = 30;
  constexpr double kLinkSeconds = 1,
                   kSlowBuilds = 4;  // beside kernels; a second, as long as nothing is known
  double kernels = 0, network_ns = 0;
  for (const TaskProgress& task : progress.tasks) {
    if (task.weight <= 0) continue;
    ++kernels;
    network_ns += task.weight * (task.best_ns + std::max(task.best_ns, task.untuned_ns));
  }
  // A trial builds a kernel, too.
  const double rate = progress.trials_per_second > 0 ? progress.trials_per_second : kSlowBuilds;
  return kBuilds * (kLinkSeconds + kernels / rate) + kTries * kRounds * driver::kTurn * network_ns * 1e-9;
}

absl::StatusOr<NetworkTrial> try_network(const graph::Graph& network, database::Store& store,
                                         NetworkBench& bench, const NetworkTrialOptions& options) {
  TF_ASSIGN_OR_RETURN(database::DeviceState here, bench.device());
  const NetworkRecords records(store, options, std::move(here));
  Trial trial(network, bench, options, records);
  TF_RETURN_IF_ERROR(trial.build_untuned());
  TF_RETURN_IF_ERROR(trial.try_out(NetworkSource::Which::kFastest));
  constexpr int kMoreTries = 3;  // what replaces a loser may lose
  for (int i = 0; i < kMoreTries && trial.has_changed(); ++i) {
    const absl::Status again = trial.try_out(NetworkSource::Which::kBest);
    if (absl::IsDeadlineExceeded(again)) break;  // the one before stands
    TF_RETURN_IF_ERROR(again);
  }
  return trial.result();
}

}  // namespace tf::session
