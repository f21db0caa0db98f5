#include "tuner/session/loop/tuning_loop.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/driver/wire.h"
#include "compiler/schedule/schedule.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tuner/session/allocate/expected_improvement.h"
#include "tuner/session/finals/finals_records.h"
#include "tuner/session/history/transfer_learning.h"
#include "tuner/session/loop/record_times.h"
#include "tuner/session/loop/record_wire.h"

namespace tf::session {
namespace {

constexpr int kMaxUnmeasuredInARow = 24;  // from there on the device, not the candidates, is the trouble
constexpr int kMaxRefusals = 3;           // of a task whose candidates were all refused
constexpr auto kDrainLimit = std::chrono::seconds(60);
// Results between two trainings of the cost model, and from the start of one until its model is used: a
// number of results, not a time, so that the same results give the same proposals. It is long past by then.
constexpr int64_t kTrainEvery = 32;
constexpr int64_t kTrainFor = 24;
// Later on, once there are so many times more results than new ones: learning takes longer and changes less.
constexpr int64_t kTrainShare = 8, kTrainForShare = 16;
constexpr auto kReportEvery = std::chrono::milliseconds(250);

}  // namespace

absl::StatusOr<Progress> TuningLoop::run(const std::atomic<bool>& stop) {
  PipelineOptions pipeline_options;
  pipeline_options.threads = options_.threads;
  pipeline_options.takes_turns = options_.takes_turns;
  pipeline_options.cpu = &cpu_;
  const std::string reference_target = options_.reference_target.value_or(options_.target).text();
  for (const auto& task : tasks_) {
    pipeline_options.tasks.push_back({std::make_shared<const tunefarm::kernel::v1::BuildRequest>(
                                          driver::reference_request(task->task().kernel, reference_target)),
                                      task->task().kernel.reuse_distance_bytes});
  }
  Pipeline pipeline(builder_, runner_, std::move(pipeline_options));
  // This thread searches: the pipeline's threads, which only hand on what devices wait for, go first.
  make_way();
  // On a device's own CPUs nothing is learned while the untuned schedules are timed.
  if (options_.has_no_cpu) model_.wait(stop);
  for (size_t i = 0; i < tasks_.size(); ++i) {
    pipeline.set_incumbent(static_cast<int>(i), tasks_[i]->incumbent());
    for (const std::string& digest : tasks_[i]->known_code())
      pipeline.add_known_code(static_cast<int>(i), digest);
  }
  Clock::time_point reported = Clock::now();
  std::optional<Clock::time_point> draining_since;
  absl::Status failure;
  for (;;) {
    const Clock::time_point now = Clock::now();
    meter_.note_slots(runner_.slots(), now);
    if (!draining_since && (stop.load() || is_enough())) draining_since = now;
    if (stop.load() && !progress_.has_finishing()) {
      withdraw_waiting(pipeline);
      reported = {};  // whoever waits is told at once
    }
    absl::StatusOr<bool> more = step(pipeline, draining_since.has_value());
    if (!more.ok()) failure = more.status();
    if (failure.ok() && !*more) progress_.set_nothing_new(!draining_since);
    if (!failure.ok() || !*more) break;
    if (draining_since && now - *draining_since > kDrainLimit) break;  // a device that stays away
    if (now - reported >= kReportEvery) {
      reported = now;
      update_progress();
      report_(progress_);
    }
  }
  update_progress();  // nothing new is tried from here on
  const bool has_finals = ends_with_finals() && !stop.load();
  if (has_finals && failure.ok() && in_flight_.empty()) {
    failure = run_finals(pipeline, stop);
  } else {
    progress_.set_undecided(has_finals && progress_.trials() > 0);
  }
  // What still runs was left behind on purpose; its results would have nowhere to go.
  if (!in_flight_.empty()) {
    builder_.cancel();
    runner_.cancel();
  }
  progress_.set_phase(PHASE_OVER);
  update_progress();
  report_(progress_);
  TF_RETURN_IF_ERROR(failure);
  TF_RETURN_IF_ERROR(save_tasks());
  return progress_;
}

absl::Status TuningLoop::run_finals(Pipeline& pipeline, const std::atomic<bool>& stop) {
  const std::vector<ExpectedImprovement> expected = improvements();
  const std::vector<int64_t> tried = contested(tasks_, expected, tried_);
  const std::vector<double> runs = runs_of(expected);
  if (std::ranges::all_of(tried, [](int64_t trials) { return trials == 0; })) return absl::OkStatus();
  progress_.set_phase(PHASE_FINALS);
  update_progress();
  report_(progress_);
  // What is expected of tasks costs more, and is not asked any more.
  const auto tell_time = [this, told = Clock::now()]() mutable {
    if (Clock::now() - told < kReportEvery) return;
    told = Clock::now();
    meter_.note_slots(runner_.slots());
    meter_.describe(progress_);
    report_(progress_);
  };
  TF_ASSIGN_OR_RETURN(const FinalsOutcome played,
                      decide_best({tasks_, tried, runs}, options_, pipeline, runner_, store_,
                                  {.stop = stop,
                                   .is_late = [&] { return Clock::now() >= last_begin(pipeline.depth()); },
                                   .devices = [this] { return runner_.slots(); },
                                   .throttling = throttling_,
                                   .retry_delay = options_.retry_delay,
                                   .meanwhile = tell_time}));
  progress_.set_not_measured(progress_.not_measured() + static_cast<int32_t>(played.attempts));
  progress_.set_undecided(played.undecided && !stop.load());
  return absl::OkStatus();
}

// Hands out work and takes what has come; false when nothing is left to do.
absl::StatusOr<bool> TuningLoop::step(Pipeline& pipeline, bool draining) {
  turn_ = cpu_.take();
  absl::StatusOr<bool> is_more = step_in_turn(pipeline, draining);
  turn_ = {};
  return is_more;
}

absl::StatusOr<bool> TuningLoop::step_in_turn(Pipeline& pipeline, bool draining) {
  if (draining) waiting_.clear();
  submit_due(pipeline);
  fill(pipeline, draining);
  if (in_flight_.empty() && waiting_.empty()) return false;
  if (!is_next_here()) {
    std::optional<Finished> finished;
    {
      const WithoutTurn waiting(turn_);
      finished = pipeline.next(kReportEvery);
    }
    if (!finished) return true;
    arrive(pipeline, *std::move(finished));
  }
  TF_RETURN_IF_ERROR(take_arrived(pipeline, draining));
  return true;
}

bool TuningLoop::is_next_here() const {
  return !in_flight_.empty() && arrived_.contains(in_flight_.begin()->second.ticket);
}

// Results are taken in the order of places, which are given as candidates are handed out, and changed when
// the model has learned, by what it knows then. Each makes room for one more: whatever the threads do, a
// proposal knows the same results.
absl::Status TuningLoop::take_arrived(Pipeline& pipeline, bool draining) {
  while (is_next_here()) {
    auto arrival = arrived_.extract(in_flight_.begin()->second.ticket);
    TF_RETURN_IF_ERROR(take(pipeline, std::move(arrival.mapped())));
    if (trials_left() > 0) fill(pipeline, draining);
  }
  return absl::OkStatus();
}

// Of the first one in flight.
absl::Status TuningLoop::take(Pipeline& pipeline, Finished finished) {
  InFlight flight = std::move(in_flight_.begin()->second);
  in_flight_.erase(in_flight_.begin());
  --under_way_[static_cast<size_t>(flight.task)];
  if (!finished.status.ok()) return not_measured(std::move(flight), std::move(finished));
  if (is_duplicate(flight, finished)) {
    pipeline.let_go(finished);  // where it was measured all the same
    take_duplicate(flight, finished);
    return absl::OkStatus();
  }
  if (throttling_.spoils(finished)) {
    runner_.acknowledge(*finished.result);
    finished.status = absl::UnavailableError(kThrottled);
    unmeasured_in_a_row_ = 0;  // the device answers, however hot
    TF_RETURN_IF_ERROR(note_attempt(flight, finished));
    try_again(std::move(flight), std::move(finished));
    return absl::OkStatus();
  }
  absl::Status recorded = record(flight, finished);
  if (absl::IsAborted(recorded)) {
    // Its lease is fenced off: what was measured does not count, so it is measured again.
    finished.status = std::move(recorded);
    return not_measured(std::move(flight), std::move(finished));
  }
  TF_RETURN_IF_ERROR(recorded);
  pipeline.set_incumbent(flight.task, tasks_[static_cast<size_t>(flight.task)]->incumbent());
  const int64_t due = model_.is_learning() ? std::max(kTrainFor, results_at_training_ / kTrainForShare)
                                           : std::max(kTrainEvery, results_ / kTrainShare);
  if (results_ - results_at_training_ >= due) learn(pipeline);
  return absl::OkStatus();
}

void TuningLoop::observe(const InFlight& flight, const database::Measurement& measurement,
                         const std::optional<model::CodeFacts>& code) {
  tasks_[static_cast<size_t>(flight.task)]->observe(flight.candidate, time_of(measurement), code);
  if (!measurement.code_digest.empty()) told_codes_.emplace(flight.task, measurement.code_digest);
  ++results_;
  const auto index = static_cast<size_t>(flight.task);
  duplicates_in_a_row_[index] = 0;
  count(index, measurement);
}

// Of those with the same code it is the first one to be told whose trial it was, whichever of them a device
// measured.
bool TuningLoop::is_duplicate(const InFlight& flight, const Finished& finished) const {
  if (finished.result == nullptr || finished.work.priority == Priority::kInFull) return finished.is_duplicate;
  return told_codes_.contains({flight.task, finished.work.built->code_digest()});
}

// A trial of this run or of an earlier one of the job.
void TuningLoop::count(size_t task, const database::Measurement& measurement) {
  progress_.set_trials(progress_.trials() + 1);
  TaskProgress& of_task = *progress_.mutable_tasks(static_cast<int>(task));
  of_task.set_trials(of_task.trials() + 1);
  ++tried_[task];
  if (!is_failure(measurement.outcome)) return;
  progress_.set_failures(progress_.failures() + 1);
  ++(*progress_.mutable_failed_by())[std::string(database::outcome_name(measurement.outcome))];
}

// No trial: nothing was measured, and the budget pays for nothing.
void TuningLoop::take_duplicate(const InFlight& flight, const Finished& finished) {
  const auto index = static_cast<size_t>(flight.task);
  std::optional<Time> time;
  if (finished.result) {
    time = time_of(record_of(flight.subject, *finished.work.built, *finished.result));
  } else if (const TaskState::Tried* known =
                 tasks_[index]->result_of_code(finished.work.built->code_digest())) {
    time = known->time;
  }
  tasks_[index]->observe(flight.candidate, time, code_of(*finished.work.built));
  progress_.set_duplicates(progress_.duplicates() + 1);
  ++duplicates_in_a_row_[index];
}

absl::Status TuningLoop::record(const InFlight& flight, const Finished& finished) {
  const database::Measurement measurement =
      finished.result ? record_of(flight.subject, *finished.work.built, *finished.result)
                      : record_of(flight.subject, *finished.work.built);
  TF_ASSIGN_OR_RETURN(database::InsertResult inserted, store_.insert(measurement));
  if (finished.result) {
    runner_.acknowledge(*finished.result);
    if (finished.result->timed_until_ns() > 0)
      meter_.count_timed(finished.result->slot(), finished.result->timed_from_ns(),
                         finished.result->timed_until_ns());
  }
  const auto index = static_cast<size_t>(flight.task);
  unmeasured_in_a_row_ = 0;
  refusals_[index] = 0;
  if (inserted.duplicate) return absl::OkStatus();
  observe(flight, measurement, code_of(*finished.work.built));
  meter_.count_trial(measurement);
  return absl::OkStatus();
}

absl::Status TuningLoop::note_attempt(const InFlight& flight, const Finished& finished) {
  progress_.set_not_measured(progress_.not_measured() + 1);
  return store_.add_attempt(attempt_of(flight.subject, finished.work.artifact.digest, finished.status));
}

void TuningLoop::try_again(InFlight flight, Finished finished) {
  const auto delay = absl::ToChronoMilliseconds(options_.retry_delay * ++finished.work.tries);
  waiting_.emplace(Clock::now() + delay, Waiting{std::move(flight), std::move(finished.work)});
}

absl::Status TuningLoop::not_measured(InFlight flight, Finished finished) {
  const int task = flight.task;
  TF_RETURN_IF_ERROR(note_attempt(flight, finished));
  const bool is_lost = measure::may_retry(finished.status);
  if (is_lost && ++unmeasured_in_a_row_ >= kMaxUnmeasuredInARow) {
    return absl::UnavailableError(absl::StrCat(
        "gave up after ", unmeasured_in_a_row_,
        " consecutive attempts without a measurement: ", std::string(finished.status.message())));
  }
  if (may_try_again(finished)) {
    try_again(std::move(flight), std::move(finished));
    return absl::OkStatus();
  }
  if (is_lost) return absl::OkStatus();
  if (absl::IsInvalidArgument(finished.status) || absl::IsFailedPrecondition(finished.status)) {
    return give_up(task, finished.status);
  }
  return finished.status;  // a missing device, a lost right: no candidate will fare better
}

// A device that refuses one task's candidates, or its reference, may well measure the others.
absl::Status TuningLoop::give_up(int task, const absl::Status& why) {
  if (++refusals_[static_cast<size_t>(task)] < kMaxRefusals) return absl::OkStatus();
  progress_.mutable_tasks(task)->set_given_up(printable_lines(std::string(why.message())));
  const bool any_left = std::ranges::any_of(
      progress_.tasks(), [](const TaskProgress& other) { return other.given_up().empty(); });
  return any_left ? absl::OkStatus() : why;
}

// Starts the next training, or uses what the last one gave.
void TuningLoop::learn(Pipeline& pipeline) {
  if (model_.is_learning()) {
    // Without it costs speed of search, not correctness: the model before goes on ranking.
    {
      const WithoutTurn waiting(turn_);
      if (!model_.adopt()) return;
    }
    share_best(tasks_);
    for (const auto& task : tasks_) task->rerank();
    rank_in_flight(pipeline);
    return;
  }
  results_at_training_ = results_;
  model_.start(learned());
}

absl::Status TuningLoop::save_tasks() {
  if (options_.job_id == 0) return absl::OkStatus();
  std::vector<database::JobTask> rows;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const TaskProgress& shown = progress_.tasks(static_cast<int>(i));
    database::JobTask row;
    row.job_id = options_.job_id;
    row.index = static_cast<int32_t>(i);
    row.problem = tasks_[i]->problem();
    row.label = shown.label();
    row.weight = shown.weight();
    row.trials = shown.trials();
    row.best_ns = shown.best_ns();
    rows.push_back(std::move(row));
  }
  return store_.save_job_tasks(rows);
}

}  // namespace tf::session
