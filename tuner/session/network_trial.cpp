#include "tuner/session/network_trial.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/paired.h"
#include "base/status.h"
#include "tuner/session/network_records.h"

namespace tf::session {
namespace {

using Clock = std::chrono::steady_clock;
using driver::Rounds;

// A visit to both builds. What the samples of one process have in common, no number of them takes away
// (base/race.h): each visit has processes of its own, and its mean is one sample. New processes, on a machine
// that has just started them, are slow at first, and more so whoever runs first: so the first round does not
// count. Of the others each build begins one. For what lasts longer than a round, who begins the visit
// changes from one to the next: what that gives the one is taken again in the median.
constexpr int kUncountedRounds = 1, kRounds = kUncountedRounds + 2;
// After so many visits it may be enough: from six on the bounds of a median are its 95% ones, twelve bear
// that one of six was disturbed. Few looks, for each may err.
constexpr size_t kLooks[] = {6, 12, 24, 48};
constexpr size_t kFewestVisits = kLooks[0], kMostVisits = kLooks[3];

// A plan and its build.
struct Side {
  records::Plan plan;
  NetworkBench::Open open;
};

// Where both builds have the same kernel, between the same layouts, by different schedules.
struct Contest {
  std::string key;
  size_t untuned = 0, tuned = 0;  // tasks
  Rivals rivals;
};

// Parts of a run are the whole and then its calls.
KernelTimes times_of_task(const Side& side, size_t task, const Rounds& visits) {
  KernelTimes times{.visits_ns = std::vector<double>(visits.size(), 0)};
  const std::vector<graph::Call>& calls = side.plan.program.calls;
  for (size_t call = 0; call < calls.size(); ++call) {
    if (static_cast<size_t>(calls[call].task) != task) continue;
    ++times.calls;
    for (size_t visit = 0; visit < visits.size(); ++visit)
      if (call + 1 < visits[visit].size()) times.visits_ns[visit] += visits[visit][call + 1];
  }
  return times;
}

// Part by part.
std::vector<double> mean_of(std::span<const std::vector<double>> rounds) {
  std::vector<double> mean(rounds.front().size(), 0);
  for (const std::vector<double>& parts_ns : rounds)
    for (size_t part = 0; part < mean.size(); ++part)
      mean[part] += parts_ns[part] / static_cast<double>(rounds.size());
  return mean;
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

  // Builds by what the source says and runs that beside the untuned build. An error that is that build's own
  // is its failure().
  absl::Status try_out(NetworkSource::Which which) {
    contests_.clear();
    failure_ = absl::OkStatus();
    NetworkSource source(records_, which);
    TF_ASSIGN_OR_RETURN(tuned_.plan,
                        records::plan_network(source, network_, options_.target, options_.threads));
    TF_RETURN_IF_ERROR(build(tuned_));
    NetworkTrial tried;
    TF_RETURN_IF_ERROR(find_contests(tried));
    has_lost_ = false;
    tried.all_untuned = tried.tuned == 0 && calls_the_same();
    if (!tried.all_untuned) {  // else a ratio would be of one build to itself
      TF_ASSIGN_OR_RETURN(const std::vector<Rounds> visits, visit_both());
      TF_RETURN_IF_ERROR(judge(visits[0], visits[1], tried));
      note_what_ran();
    }
    result_ = std::move(tried);
    return absl::OkStatus();
  }

  // Why the tuned build last tried does not run; OK if it does.
  const absl::Status& failure() const { return failure_; }

  // Records as failures the schedule of the tuned build that it does not run for, or the new ones of those
  // that are left when it is too late to look further. Nothing if it does run after all.
  absl::Status blame() {
    TF_ASSIGN_OR_RETURN(const bool after_all, runs(tuned_));
    if (after_all) return absl::OkStatus();
    std::vector<size_t> suspects;
    for (size_t i = 0; i < tuned_.plan.choices.size(); ++i)
      if (tuned_.plan.choices[i]) suspects.push_back(i);
    while (suspects.size() > 1) {
      const std::vector<size_t> half(suspects.begin(), suspects.begin() + std::ssize(suspects) / 2);
      const absl::StatusOr<bool> is_innocent = runs_with(half);
      if (absl::IsDeadlineExceeded(is_innocent.status())) return blame_new(suspects);
      TF_RETURN_IF_ERROR(is_innocent.status());
      suspects = *is_innocent ? std::vector(suspects.begin() + std::ssize(half), suspects.end()) : half;
    }
    return blame(suspects);
  }

  // The same without looking for it: all new schedules of the tuned build.
  absl::Status blame_all() {
    TF_ASSIGN_OR_RETURN(const bool after_all, runs(tuned_));
    if (after_all) return absl::OkStatus();
    std::vector<size_t> all(tuned_.plan.choices.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return blame_new(all);
  }

  // Whether the last one lost any kernel that is now built otherwise.
  bool has_changed() const { return has_lost_; }
  // Of the last one that came to a verdict or needed none; without visits if none did.
  absl::StatusOr<NetworkTrial> result() const {
    NetworkTrial result = result_;
    result.failed = failed_;
    for (const auto& [key, untuned] : lost_) {
      const database::BestQuery query = records_.query_of(untuned.problem);
      TF_ASSIGN_OR_RETURN(const std::optional<database::Measurement> best, records_.store().best(query));
      ++(best && best->schedule == untuned.schedule ? result.put_back : result.untried);
    }
    return result;
  }

 private:
  bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }
  // Whether what takes so long is over before the deadline.
  absl::Status has_time_for(Clock::duration duration) const {
    if (is_stopped()) return absl::CancelledError("interrupted");
    if (options_.deadline - Clock::now() > duration) return absl::OkStatus();
    return absl::DeadlineExceededError(
        "there was not enough time; increase --minutes, or time both builds with `compiler bench`");
  }

  absl::Status build(Side& side) {
    TF_RETURN_IF_ERROR(has_time_for(build_took_));
    const Clock::time_point began = Clock::now();
    TF_ASSIGN_OR_RETURN(side.open, bench_.build(side.plan));
    build_took_ = Clock::now() - began;
    return absl::OkStatus();
  }

  // Whether it can be opened and run.
  absl::StatusOr<bool> runs(const Side& side) const {
    const absl::StatusOr<driver::Run> run = side.open();
    const absl::Status status = run.ok() ? (*run)().status() : run.status();
    if (absl::IsCancelled(status)) return status;
    return status.ok();
  }

  // The same of the tuned build with only these of its schedules.
  absl::StatusOr<bool> runs_with(std::span<const size_t> kept) {
    Side side{tuned_.plan, nullptr};
    for (size_t i = 0; i < side.plan.choices.size(); ++i)
      if (std::ranges::find(kept, i) == kept.end()) side.plan.choices[i].reset();
    TF_RETURN_IF_ERROR(build(side));
    return runs(side);
  }

  using Ran = std::pair<std::string, std::string>;  // a task's key, its schedule
  Ran ran(size_t task) const {
    return {graph::task_key(tuned_.plan.program.tasks[task]), tuned_.plan.choices[task]->schedule};
  }
  // Of builds that came to a verdict.
  void note_what_ran() {
    for (size_t i = 0; i < tuned_.plan.choices.size(); ++i)
      if (tuned_.plan.choices[i]) have_run_.insert(ran(i));
    for (const Contest& contest : contests_)
      have_run_.emplace(contest.key, contest.rivals.untuned.schedule);  // by the untuned build
  }

  // Those that have not run through all visits of another build: what did is not to blame without a look. If
  // all have, it may as well be the machine, which ran out of memory, say.
  absl::Status blame_new(std::vector<size_t> suspects) {
    std::erase_if(suspects, [&](size_t suspect) {
      return !tuned_.plan.choices[suspect] || have_run_.contains(ran(suspect));
    });
    if (!suspects.empty()) return blame(suspects);
    return absl::AbortedError(
        absl::StrCat("the tuned network fails: ", std::string(failure_.message()),
                     "; each schedule ran in it before, so none was recorded as a failure"));
  }

  absl::Status blame(std::span<const size_t> suspects) {
    for (const size_t suspect : suspects) {
      if (!tuned_.plan.choices[suspect]) continue;
      TF_ASSIGN_OR_RETURN(const database::DeviceState device, bench_.device());
      TF_RETURN_IF_ERROR(records_.record_failure(*tuned_.plan.choices[suspect], failure_, device));
      ++failed_;
    }
    return absl::OkStatus();
  }

  absl::Status find_contests(NetworkTrial& tried) {
    std::map<std::string, size_t> known;
    for (size_t i = 0; i < untuned_.plan.program.tasks.size(); ++i)
      known.emplace(graph::task_key(untuned_.plan.program.tasks[i]), i);
    tried.kernels = static_cast<int>(tuned_.plan.program.tasks.size());
    for (size_t i = 0; i < tuned_.plan.program.tasks.size(); ++i) {
      if (!tuned_.plan.choices[i]) continue;
      TF_ASSIGN_OR_RETURN(database::Measurement tuned, records_.record_of(*tuned_.plan.choices[i]));
      TF_ASSIGN_OR_RETURN(std::optional<database::Measurement> untuned, records_.untuned_of(tuned.problem));
      if (untuned && untuned->schedule == tuned.schedule) continue;
      ++tried.tuned;
      std::string key = graph::task_key(tuned_.plan.program.tasks[i]);
      const auto found = known.find(key);
      if (found == known.end()) {
        ++tried.other_layouts;
      } else if (!untuned || !(untuned->problem == tuned.problem)) {
        ++tried.unmeasured;
      } else {
        contests_.push_back({std::move(key), found->second, i, {std::move(tuned), *std::move(untuned)}});
      }
    }
    return absl::OkStatus();
  }

  // Whether both builds call the same kernels in the same order, by whichever schedules.
  bool calls_the_same() const {
    const graph::Program &untuned = untuned_.plan.program, &tuned = tuned_.plan.program;
    const auto key = [](const graph::Program& program, const graph::Call& call) {
      return graph::task_key(program.tasks[static_cast<size_t>(call.task)]);
    };
    return std::equal(untuned.calls.begin(), untuned.calls.end(), tuned.calls.begin(), tuned.calls.end(),
                      [&](const graph::Call& one, const graph::Call& other) {
                        return key(untuned, one) == key(tuned, other);
                      });
  }

  // One entry a visit.
  absl::StatusOr<std::vector<Rounds>> visit_both() {
    std::vector<Rounds> visits(2);
    while (visits[0].size() < kMostVisits && has_time_for({}).ok()) {
      TF_RETURN_IF_ERROR(visit(visits));
      if (std::ranges::count(kLooks, visits[0].size()) > 0 && is_settled(visits[0], visits[1])) break;
    }
    if (is_stopped() || visits[0].size() < kFewestVisits) TF_RETURN_IF_ERROR(has_time_for({}));
    return visits;
  }

  // Adds one, unless it was over before.
  absl::Status visit(std::vector<Rounds>& visits) {
    const size_t first = visits[0].size() % 2, second = 1 - first;  // of visits, as they are opened and run
    std::vector<driver::Run> both;
    for (const size_t side : {first, second}) {
      TF_ASSIGN_OR_RETURN(driver::Run opened, side == 0 ? open_untuned() : open_tuned());
      both.push_back(std::move(opened));
    }
    TF_ASSIGN_OR_RETURN(
        const std::vector<Rounds> rounds,
        driver::run_in_turns(both, {.rounds = kRounds, .is_over = [&] { return !has_time_for({}).ok(); }}));
    if (rounds[0].size() < kRounds) return absl::OkStatus();
    visits[first].push_back(mean_of(std::span(rounds[0]).subspan(kUncountedRounds)));
    visits[second].push_back(mean_of(std::span(rounds[1]).subspan(kUncountedRounds)));
    return absl::OkStatus();
  }

  absl::StatusOr<driver::Run> open_untuned() const {
    TF_ASSIGN_OR_RETURN(const driver::Run opened, of_untuned(untuned_.open()));
    return driver::Run([opened] { return of_untuned(opened()); });
  }
  absl::StatusOr<driver::Run> open_tuned() {
    TF_ASSIGN_OR_RETURN(const driver::Run opened, of_tuned(tuned_.open()));
    return driver::Run([this, opened] { return of_tuned(opened()); });
  }

  // What the untuned build's process says. No schedule is to blame for its error.
  template <typename T>
  static absl::StatusOr<T> of_untuned(absl::StatusOr<T> answer) {
    if (answer.ok() || absl::IsCancelled(answer.status())) return answer;
    return absl::InternalError(
        absl::StrCat("the untuned network fails: ", std::string(answer.status().message())));
  }

  // What the tuned build's process says: its error is the build's.
  template <typename T>
  absl::StatusOr<T> of_tuned(absl::StatusOr<T> answer) {
    if (!absl::IsCancelled(answer.status())) failure_.Update(answer.status());
    return answer;
  }

  Estimate ratio(const Contest& contest, const Rounds& untuned, const Rounds& tuned) const {
    return ratio_of_calls(times_of_task(tuned_, contest.tuned, tuned),
                          times_of_task(untuned_, contest.untuned, untuned));
  }

  // Whether what the wrong schedule of any kernel may still cost is nothing to the network.
  bool is_settled(const Rounds& untuned, const Rounds& tuned) const {
    constexpr double kNothing = 0.0005;  // of the network's time, a kernel
    const double network_ns = estimate(driver::times_of(untuned)).median_ns;
    return std::ranges::all_of(contests_, [&](const Contest& contest) {
      const double kernel_ns =
          estimate(times_of_task(untuned_, contest.untuned, untuned).visits_ns).median_ns;
      const Estimate tuned_share = ratio(contest, untuned, tuned);
      return std::min(tuned_share.high_ns - 1, 1 - tuned_share.low_ns) * kernel_ns < kNothing * network_ns;
    });
  }

  absl::Status judge(const Rounds& untuned, const Rounds& tuned, NetworkTrial& tried) {
    const std::vector<double> untuned_ns = driver::times_of(untuned), tuned_ns = driver::times_of(tuned);
    const Paired paired = compare_paired(untuned_ns, tuned_ns);
    tried.untuned_ns = paired.first;
    tried.tuned_ns = paired.other;
    tried.ratio = paired.ratio;
    tried.visits = static_cast<int>(untuned.size());
    TF_ASSIGN_OR_RETURN(const database::DeviceState device, bench_.device());
    for (const Contest& contest : contests_) {
      const bool is_faster = ratio(contest, untuned, tuned).high_ns < 1;
      tried.faster += is_faster;
      tried.lost += !is_faster;
      lost_.erase(contest.key);
      if (!is_faster) lost_.emplace(contest.key, contest.rivals.untuned);
      has_lost_ = has_lost_ || !is_faster;
      TF_RETURN_IF_ERROR(records_.record(contest.rivals, times_of_task(tuned_, contest.tuned, tuned),
                                         times_of_task(untuned_, contest.untuned, untuned), device));
    }
    return absl::OkStatus();
  }

  const graph::Graph& network_;
  NetworkBench& bench_;
  const NetworkTrialOptions& options_;
  const NetworkRecords& records_;
  Side untuned_, tuned_;
  Clock::duration build_took_{};
  std::vector<Contest> contests_;
  // Of the kernels that were not surely faster when they were last tried, by their keys, the untuned record.
  std::map<std::string, database::Measurement> lost_;
  bool has_lost_ = false;  // one of the last try
  std::set<Ran> have_run_;
  absl::Status failure_;  // of the tuned build
  int failed_ = 0;
  NetworkTrial result_;
};

}  // namespace

double network_trial_seconds(const Progress& progress) {
  // The untuned build, the fastest one, and the one of those that lost none; two of them visited, until two
  // looks have been taken.
  constexpr double kBuilds = 3, kTries = 2, kVisits = kLooks[1];
  constexpr double kLinkSeconds = 1, kOpenSeconds = 0.1,
                   kSlowBuilds = 4;  // beside kernels; a second, as long as nothing is known
  double kernels = 0, network_ns = 0;
  for (const TaskProgress& task : progress.tasks) {
    if (task.weight <= 0) continue;
    ++kernels;
    network_ns += task.weight * (task.best_ns + std::max(task.best_ns, task.untuned_ns));
  }
  // A trial builds a kernel, too.
  const double rate = progress.trials_per_second > 0 ? progress.trials_per_second : kSlowBuilds;
  return kBuilds * (kLinkSeconds + kernels / rate) +
         kTries * kVisits * (2 * kOpenSeconds + kRounds * driver::kTurn * network_ns * 1e-9);
}

absl::StatusOr<NetworkTrial> try_network(const graph::Graph& network, database::Store& store,
                                         NetworkBench& bench, const NetworkTrialOptions& options) {
  TF_ASSIGN_OR_RETURN(database::DeviceState here, bench.device());
  const NetworkRecords records(store, options, std::move(here));
  Trial trial(network, bench, options, records);
  TF_RETURN_IF_ERROR(trial.build_untuned());
  constexpr int kTries = 4;  // what replaces a loser may lose, or fail
  NetworkSource::Which which = NetworkSource::Which::kFastest;
  absl::Status failure;
  for (int i = 0; i < kTries; ++i) {
    const absl::Status tried = trial.try_out(which);
    if (!trial.failure().ok()) {
      failure = trial.failure();
      TF_RETURN_IF_ERROR(i + 1 < kTries ? trial.blame() : trial.blame_all());
    } else {
      if (absl::IsDeadlineExceeded(tried) && i > 0) break;  // what came of those before stands
      TF_RETURN_IF_ERROR(tried);
      if (!trial.has_changed()) break;
      which = NetworkSource::Which::kBest;
    }
  }
  TF_ASSIGN_OR_RETURN(const NetworkTrial result, trial.result());
  if (result.visits > 0 || result.all_untuned) return result;
  return absl::AbortedError(
      absl::StrCat("the tuned network fails: ", std::string(failure.message()), "; ", result.failed,
                   " of its schedules were recorded as failures; builds do not use them"));
}

}  // namespace tf::session
