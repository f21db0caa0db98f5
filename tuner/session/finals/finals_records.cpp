#include "tuner/session/finals/finals_records.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/statistics/race.h"
#include "base/status.h"
#include "base/unix_time.h"
#include "compiler/driver/wire.h"
#include "compiler/schedule/schedule.h"
#include "tuner/session/finals/finals.h"
#include "tuner/session/finals/finals_run.h"
#include "tuner/session/loop/record_times.h"
#include "tuner/session/loop/record_wire.h"

namespace tf::session {
namespace {

using database::Measurement;
using tunefarm::kernel::v1::BuildRequest;

constexpr uint64_t kTickets = 1'000'000;  // more than a run or a turn has trials

// A task's final re-measurements, turn by turn. What was measured only once may have been lucky: once those
// that took part have been measured again, one that did not may look the fastest. Then it has to meet the
// last winner, too.
struct FinalsState {
  size_t task = 0;
  std::set<std::string> settled;      // schedules that were re-measured
  std::optional<Measurement> winner;  // who won the last one
  bool is_over = false;               // of the last round of finals nothing came at all
};

// The times of interleaved trials are of shortest samples already (see record).
Estimate estimate_of(const Measurement& record) {
  if (!record.interleaved) return estimate(database::runs_ns(record.samples));
  const double ns = record.interleaved->ns;
  const database::Interval bounds = record.interval_ns().value_or(database::Interval());
  return {.median_ns = ns, .low_ns = bounds.low_ns, .high_ns = bounds.high_ns, .least_ns = ns};
}

// Of those that were not re-measured yet, and look as fast as the last winner, if there is one: who are too
// close to call, the ones with the shortest samples first. The last of the best, if it is the untuned
// schedule, which they all have to beat, is among them if it comes near. One or none: there is nothing to
// decide.
std::vector<Measurement> finalists(std::vector<Measurement> best, const FinalsState& state) {
  std::erase_if(best, [&](const Measurement& each) {
    return state.settled.contains(each.schedule) ||
           (state.winner && estimate_of(each).least_ns > state.winner->interleaved->ns);
  });
  std::vector<Estimate> estimates;
  std::ranges::transform(best, std::back_inserter(estimates), estimate_of);
  std::vector<size_t> in = Finals::finalists(estimates);
  const bool is_untuned_out =
      !in.empty() && best.back().untuned && std::ranges::count(in, best.size() - 1) == 0;
  if (is_untuned_out && Finals::finalists(std::array{estimates[in.front()], estimates.back()}).size() == 2) {
    if (in.size() == Finals::kFinalists) in.pop_back();
    in.push_back(best.size() - 1);
  }
  std::vector<Measurement> chosen;
  for (const size_t i : in) chosen.push_back(std::move(best[i]));
  return chosen;
}

database::BestQuery query_of(const TaskState& task, const SessionOptions& options) {
  return {.problem = task.problem(),
          .device_class = options.device_class,
          .allowed_numerics = options.allowed_numerics,
          .semantics_version = schedule::kSemanticsVersion};
}

// Of the best records of the task and that of the untuned schedule; in a later turn, those that the last
// winner has to meet, and the last winner.
absl::StatusOr<std::vector<Measurement>> finalists_of(const TaskState& task, const FinalsState& state,
                                                      const SessionOptions& options, database::Store& store) {
  database::BestQuery query = query_of(task, options);
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> best, store.top(query, Finals::kLookedAt));
  query.of = database::BestQuery::Of::kUntuned;
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> untuned, store.top(query, 1));
  if (!untuned.empty()) {
    // Its latest row may be of another run, to which it was one schedule of many.
    query.of = database::BestQuery::Of::kEvery;
    query.schedule = untuned.front().schedule;
    TF_ASSIGN_OR_RETURN(untuned, store.top(query, 1));
    std::erase_if(best, [&](const Measurement& each) { return each.schedule == *query.schedule; });
    for (Measurement& each : untuned) {
      each.untuned = true;
      best.push_back(std::move(each));
    }
  }
  std::vector<Measurement> in = finalists(std::move(best), state);
  if (in.empty() || !state.winner) return in;
  if (in.size() == Finals::kFinalists) in.pop_back();
  in.push_back(*state.winner);
  return in;
}

TaskFinals finals_of(const TaskState& task, size_t index, const std::vector<Measurement>& finalists,
                     const SessionOptions& options) {
  TaskFinals task_finals{.task = index};
  for (const Measurement& each : finalists) {
    const BuildRequest request =
        driver::kernel_request(task.task().kernel, options.target.text(), each.schedule);
    Measurement subject{.problem = task.problem(),
                        .schedule = each.schedule,
                        .sketch_hash = each.sketch_hash,
                        .choices = each.choices,
                        .untuned = each.untuned,
                        .device = {.device_class = options.device_class},
                        .job_id = options.job_id};
    task_finals.finalists.push_back({std::make_shared<const BuildRequest>(request), std::move(subject)});
  }
  return task_finals;
}

// All trials of one that was re-measured as one measurement, or else the one that it failed. Its device
// throttled if it did in any of them.
Measurement row_of(const Played& played) {
  Measurement row = played.trials.back();
  if (!played.score) return row;
  row.samples.clear();
  for (const Measurement& trial : played.trials) {
    row.samples.insert(row.samples.end(), trial.samples.begin(), trial.samples.end());
    row.device.throttled = row.device.throttled || trial.device.throttled;
  }
  return row;
}

// The winner's time is its own, by the shortest samples of its trials, unless the last winner took part:
// then that one's stays what it was, so that times of all final re-measurements of a task are on one scale.
double winner_ns(const std::vector<Played>& ranking, const FinalsState& state) {
  for (const Played& played : ranking) {
    if (state.winner && played.score && played.trials.back().schedule == state.winner->schedule)
      return state.winner->interleaved->ns / played.score->ratio;
  }
  return ranking.front().score ? ranking.front().score->ns : 0;
}

absl::Status record(const std::vector<Played>& ranking, int64_t began_unix_ns, FinalsState& state,
                    TaskState& task, measure::Runner& runner, database::Store& store) {
  state.is_over = ranking.empty();
  if (ranking.empty()) return absl::OkStatus();
  const double scale_ns = winner_ns(ranking, state);
  for (const Played& played : ranking) {
    Measurement row = row_of(played);
    const bool is_winner = state.winner && state.winner->schedule == row.schedule;
    if (const auto& score = played.score) {
      row.interleaved = database::Interleaved{
          began_unix_ns, scale_ns * score->ratio, {scale_ns * score->low, scale_ns * score->high}};
      if (&played == &ranking.front()) state.winner = row;
    } else if (is_winner) {
      state.winner.reset();
    }
    state.settled.insert(row.schedule);
    const absl::Status inserted = store.insert(row).status();
    if (absl::IsAborted(inserted)) continue;  // of a lease that is fenced off
    TF_RETURN_IF_ERROR(inserted);
    for (const auto& result : played.results) runner.acknowledge(*result);
    task.observe(row, time_of(row));
  }
  return absl::OkStatus();
}

// A trial that does not count: none came of it, or one whose device throttled.
absl::Status note_spoiled(const Measurement& subject, const Finished& finished, measure::Runner& runner,
                          database::Store& store) {
  if (finished.result) runner.acknowledge(*finished.result);
  const absl::Status why = finished.status.ok() ? absl::UnavailableError(kThrottled) : finished.status;
  return store.add_attempt(attempt_of(subject, finished.work.artifact.digest, why));
}

// Whether the fastest is so by a single trial, and a re-measurement that was due came to nothing.
absl::StatusOr<bool> is_undecided(const TaskState& task, const FinalsState& state,
                                  const SessionOptions& options, database::Store& store) {
  if (!state.is_over) return false;
  TF_ASSIGN_OR_RETURN(const std::vector<Measurement> best, store.top(query_of(task, options), 1));
  return !best.empty() && !best.front().interleaved;
}

// Those that were tried, by the time that they take of the network's, the most first.
std::vector<FinalsState> states_of(const TriedTasks& tried) {
  std::vector<FinalsState> states;
  for (size_t i = 0; i < tried.tasks.size(); ++i)
    if (tried.trials[i] > 0) states.push_back({.task = i});
  std::ranges::stable_sort(states, std::greater(), [&](const FinalsState& state) {
    return tried.runs[state.task] * tried.tasks[state.task]->best_seconds();
  });
  return states;
}

}  // namespace

absl::StatusOr<FinalsOutcome> decide_best(const TriedTasks& tried, const SessionOptions& options,
                                          Pipeline& pipeline, measure::Runner& runner, database::Store& store,
                                          const FinalsLimits& limits) {
  std::vector<FinalsState> states = states_of(tried);
  FinalsOutcome played;
  absl::Status noted;
  FinalsListener listener;
  listener.spoiled = [&](const Measurement& subject, const Finished& finished) {
    ++played.attempts;
    noted.Update(note_spoiled(subject, finished, runner, store));
  };
  for (uint64_t turn = 0;; ++turn) {
    std::vector<TaskFinals> all_finals;
    std::vector<FinalsState*> playing;
    for (FinalsState& state : states) {
      if (state.is_over) continue;
      const TaskState& task = *tried.tasks[state.task];
      TF_ASSIGN_OR_RETURN(const std::vector<Measurement> in, finalists_of(task, state, options, store));
      if (in.size() < 2) continue;
      // Whatever comes of it, each turn settles one more at least, so that there is a last one.
      state.settled.insert(in.front().schedule);
      all_finals.push_back(finals_of(task, state.task, in, options));
      playing.push_back(&state);
    }
    if (all_finals.empty()) break;
    const int64_t began_unix_ns = now_unix_ns();
    listener.decided = [&](size_t i, const std::vector<Played>& ranking) {
      TF_RETURN_IF_ERROR(noted);
      return record(ranking, began_unix_ns, *playing[i], *tried.tasks[playing[i]->task], runner, store);
    };
    TF_RETURN_IF_ERROR(run_finals(pipeline, all_finals, limits, listener, kTickets * (1 + turn)));
    TF_RETURN_IF_ERROR(noted);
  }
  for (const FinalsState& state : states) {
    TF_ASSIGN_OR_RETURN(const bool is_open, is_undecided(*tried.tasks[state.task], state, options, store));
    played.undecided = played.undecided || is_open;
  }
  return played;
}

}  // namespace tf::session
