#include "tests/bench/search/replay/run.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status.h"
#include "tuner/search/strategies.h"

namespace tf::replay {
namespace {

constexpr char kRemembers[] = "@others";

// How a strategy is driven: so many candidates under way at once, results between two trainings, and from the
// start of one until its model ranks. Ansor's round is the first two, and it waits for its model; the others
// are driven as a session on two CPUs drives them, in whole rounds (tuner/session/loop/pipeline.cpp, and
// tuning_loop.cpp, whose models are of 32 results, and rank from the 24th result after).
struct Cadence {
  size_t in_flight, train_every, train_for;
};
Cadence cadence_of(search::Kind kind) {
  return kind == search::Kind::kAnsorLike ? Cadence{search::kAnsorLikeRound, search::kAnsorLikeRound, 0}
                                          : Cadence{14, 28, 28};
}

SamplingPolicy own_policy(search::Kind kind) {
  return kind == search::Kind::kAnsorLike ? SamplingPolicy::kFixed : SamplingPolicy::kRacing;
}

bool learns(search::Kind kind) {
  return kind == search::Kind::kEvolutionary || kind == search::Kind::kAnsorLike;
}

// As a session's.
model::XGBoostOptions booster_options(const Run::Options& options) {
  const search::Kind kind = options.contender.kind;
  model::XGBoostOptions chosen = search::booster_options(kind, options.seed);
  if (options.memory != nullptr && !search::is_baseline(kind)) chosen.prior = options.memory->prior;
  return chosen;
}

}  // namespace

std::string Contender::name() const {
  const std::string strategy(search::kind_name(kind));
  return absl::StrCat(strategy, policy == own_policy(kind) ? "" : "-",
                      policy == own_policy(kind) ? "" : std::string(policy_name(policy)),
                      remembers ? kRemembers : "");
}

absl::StatusOr<Contender> contender_from_name(const std::string& name) {
  if (absl::EndsWith(name, kRemembers)) {
    TF_ASSIGN_OR_RETURN(Contender contender,
                        contender_from_name(name.substr(0, name.size() - strlen(kRemembers))));
    contender.remembers = true;
    return contender;
  }
  const std::vector<std::string> parts = absl::StrSplit(name, absl::MaxSplits('-', 1));
  TF_ASSIGN_OR_RETURN(const search::Kind kind, search::kind_from_name(parts[0]));
  if (parts.size() == 1) return Contender{kind, own_policy(kind)};
  for (const SamplingPolicy policy : {SamplingPolicy::kFixed, SamplingPolicy::kRacing}) {
    if (parts[1] == policy_name(policy)) return Contender{kind, policy};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no sampling is called '", parts[1], "' (of '", name, "'): use fixed or racing"));
}

Run::Run(const Options& options)
    : options_(options),
      session_{.target = options.target,
               .threads = options.threads,
               .strategy = options.contender.kind,
               .seed = options.seed},
      model_(booster_options(options)) {}

absl::StatusOr<std::unique_ptr<Run>> Run::create(const session::Task& task, const Options& options) {
  std::unique_ptr<Run> run(new Run(options));
  TF_ASSIGN_OR_RETURN(run->task_, session::TaskState::create(
                                      task, run->session_, &run->model_, options.seed,
                                      options.memory ? &options.memory->history : nullptr, options.measured));
  return run;
}

std::vector<database::Measurement> Run::advance(const Pool& pool) {
  while (!finished_) {
    if (waiting_.empty()) propose();
    std::vector<database::Measurement> lacking;
    std::vector<const Entry*> known;
    for (const Proposal& proposal : waiting_) {
      known.push_back(pool.find(proposal.subject.schedule));
      if (known.back() == nullptr) lacking.push_back(proposal.subject);
    }
    if (!lacking.empty()) return lacking;
    // All of them started when the best was what it was.
    const Best best = believed_;
    for (size_t i = 0; i < waiting_.size(); ++i) observe(waiting_[i].candidate, *known[i], best);
    waiting_.clear();
    learn();
    finished_ = finished_ || steps_.size() >= static_cast<size_t>(options_.trials);
  }
  return {};
}

void Run::propose() {
  const size_t left = static_cast<size_t>(options_.trials) - steps_.size();
  const size_t wanted = std::min(cadence_of(options_.contender.kind).in_flight, left);
  while (waiting_.size() < wanted) {
    std::optional<space::Candidate> candidate = task_->next();
    if (!candidate) break;
    database::Measurement subject = task_->subject_of(*candidate);
    waiting_.push_back({*std::move(candidate), std::move(subject)});
  }
  finished_ = waiting_.empty();
}

void Run::observe(const space::Candidate& candidate, const Entry& entry, const Best& best) {
  const Spent spent = measure(entry, options_.contender.policy, best);
  std::optional<session::Time> time;
  if (spent.seen.median_ns > 0 || spent.told.seconds > 0) time = spent.told;
  task_->observe(candidate, time);
  trials_seconds_ += spent.device_seconds;
  if (time && !time->lower_bound) {
    if (options_.contender.policy == SamplingPolicy::kRacing) arrivals_.push_back({&entry, spent.seen});
    if (believed_.seconds == 0 || time->seconds < believed_.seconds) {
      believed_ = {.seconds = time->seconds, .noise = time->noise};
      believed_to_take_ = entry.seconds;
    }
  }
  steps_.push_back(step());
}

// Who races ends with a final re-measurement, whose trials are of later replicates: other processes, at other
// times.
Step Run::step() const {
  if (arrivals_.empty()) return {.device_seconds = trials_seconds_, .best_seconds = believed_to_take_};
  const ReplayedFinals replayed = run_finals(arrivals_, replicate_of_round);
  return {.device_seconds = trials_seconds_ + replayed.device_seconds,
          .best_seconds = replayed.winner->seconds,
          .finals_trials = static_cast<double>(replayed.trials)};
}

void Run::learn() {
  if (!learns(options_.contender.kind)) return;
  const Cadence cadence = cadence_of(options_.contender.kind);
  adopt(cadence.train_for);
  if (!lesson_.empty() || steps_.size() - steps_at_training_ < cadence.train_every) return;
  steps_at_training_ = steps_.size();
  task_->append_examples(lesson_);
  adopt(cadence.train_for);
}

// What is being learned ranks from so many results on after it began.
void Run::adopt(size_t train_for) {
  if (lesson_.empty() || steps_.size() - steps_at_training_ < train_for) return;
  const absl::Status trained = model_.train(std::exchange(lesson_, {}));
  TF_CHECK(trained.ok()) << trained.message();
  task_->rerank();
}

Source Run::source() const {
  if (options_.contender.remembers) return Source::kRemembered;
  if (!learns(options_.contender.kind)) return Source::kRandom;
  return 2 * steps_.size() < static_cast<size_t>(options_.trials) ? Source::kEarly : Source::kLate;
}

}  // namespace tf::replay
