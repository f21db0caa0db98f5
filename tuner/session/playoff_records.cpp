#include "tuner/session/playoff_records.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/race.h"
#include "base/status.h"
#include "base/unix_time.h"
#include "compiler/schedule/schedule.h"
#include "tuner/session/playoff.h"
#include "tuner/session/playoff_run.h"
#include "tuner/session/record_proto.h"
#include "tuner/session/record_times.h"
#include "tuner/session/requests_proto.h"

namespace tf::session {
namespace {

using database::Measurement;

constexpr uint64_t kTickets = 1'000'000;  // more than a run or a turn has trials

// A task's play-offs, turn by turn. What was measured only once may have been lucky: once those that took
// part have been measured again, one that did not may look the fastest. Then it has to meet the champion,
// too.
struct Season {
  size_t task = 0;
  std::set<std::string> settled;        // schedules that had their match
  std::optional<Measurement> champion;  // who won the last one
};

// Those that are too close to call, the fastest first, and the champion.
std::vector<Measurement> finalists(std::vector<Measurement> best, const Season& season) {
  std::vector<Estimate> estimates;
  for (const Measurement& each : best) {
    const database::Interval bounds = each.interval_ns().value_or(database::Interval());
    estimates.push_back({each.median_ns().value_or(0), bounds.low_ns, bounds.high_ns});
  }
  std::vector<Measurement> in;
  for (const size_t i : Playoff::finalists(estimates)) in.push_back(std::move(best[i]));
  const auto is_champion = [&](const Measurement& each) {
    return each.schedule == season.champion->schedule;
  };
  if (!season.champion || std::ranges::any_of(in, is_champion)) return in;
  if (in.size() == Playoff::kFinalists) in.pop_back();
  in.push_back(*season.champion);
  return in;
}

// Of the best few records of the task and that of the untuned schedule, which they have to beat.
absl::StatusOr<std::vector<Measurement>> finalists_of(const TaskState& task, const Season& season,
                                                      const SessionOptions& options, database::Store& store) {
  database::BestQuery query{.problem = task.problem(),
                            .device_class = options.device_class,
                            .allowed_numerics = options.allowed_numerics,
                            .semantics_version = schedule::kSemanticsVersion};
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> best, store.top(query, Playoff::kFinalists));
  query.of = database::BestQuery::Of::kUntuned;
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> untuned, store.top(query, 1));
  const auto is_untuned = [&](const Measurement& each) { return each.schedule == untuned[0].schedule; };
  if (!untuned.empty() && std::ranges::none_of(best, is_untuned)) {
    if (best.size() == Playoff::kFinalists) best.pop_back();
    best.push_back(std::move(untuned.front()));
  }
  return finalists(std::move(best), season);
}

Pairing pairing_of(const TaskState& task, size_t index, const std::vector<Measurement>& finalists,
                   const SessionOptions& options) {
  Pairing pairing{.task = index};
  for (const Measurement& each : finalists) {
    pairing.contenders.push_back({candidate_request(task.task(), options.target.text(), each.schedule),
                                  Subject{task.problem(), each.schedule, each.sketch_hash, each.slot_values,
                                          options.device_class, options.job_id, each.untuned}});
  }
  return pairing;
}

// All trials of one that stood its match as one measurement, or else the one that it failed. Its device
// throttled if it did in any of them.
Measurement row_of(const Played& played) {
  Measurement row = played.trials.back();
  if (!played.standing) return row;
  row.samples.clear();
  for (const Measurement& trial : played.trials) {
    row.samples.insert(row.samples.end(), trial.samples.begin(), trial.samples.end());
    row.device.throttled = row.device.throttled || trial.device.throttled;
  }
  return row;
}

// The winner's time is its own, unless the last champion took part: then that one's stays what it was, so
// that times of all matches of a season are on one scale.
double winner_ns(const std::vector<Played>& ranking, const Season& season) {
  for (const Played& played : ranking) {
    if (season.champion && played.standing && played.trials.back().schedule == season.champion->schedule)
      return *season.champion->median_ns() / played.standing->ratio;
  }
  return row_of(ranking.front()).median_ns().value_or(0);
}

absl::Status record(const std::vector<Played>& ranking, int64_t began_unix_ns, Season& season,
                    TaskState& task, measure::Runner& runner, database::Store& store) {
  if (ranking.empty()) return absl::OkStatus();
  const double scale_ns = winner_ns(ranking, season);
  for (const Played& played : ranking) {
    Measurement row = row_of(played);
    if (played.standing) {
      const auto& [contender, ratio, low, high] = *played.standing;
      row.match = database::Match{began_unix_ns, scale_ns * ratio, {scale_ns * low, scale_ns * high}};
      if (&played == &ranking.front()) season.champion = row;
    }
    season.settled.insert(row.schedule);
    const absl::Status inserted = store.insert(row).status();
    if (absl::IsAborted(inserted)) continue;  // of a lease that is fenced off
    TF_RETURN_IF_ERROR(inserted);
    for (const auto& result : played.results) runner.acknowledge(*result);
    task.observe(row, time_of(row));
  }
  return absl::OkStatus();
}

// A trial that does not count: none came of it, or one whose device throttled.
absl::Status note_spoiled(const Subject& subject, const Finished& finished, measure::Runner& runner,
                          database::Store& store) {
  if (finished.result) runner.acknowledge(*finished.result);
  const absl::Status why = finished.status.ok() ? absl::UnavailableError(kThrottled) : finished.status;
  return store.add_attempt(attempt_of(subject, finished.work.artifact.digest, why));
}

// Those that were tried, by the time that they take of the network's, the most first.
std::vector<Season> seasons_of(const TriedTasks& tried) {
  std::vector<Season> seasons;
  for (size_t i = 0; i < tried.tasks.size(); ++i)
    if (tried.trials[i] > 0) seasons.push_back({.task = i});
  std::ranges::stable_sort(seasons, std::greater(), [&](const Season& season) {
    const TaskState& task = *tried.tasks[season.task];
    return task.task().weight * task.best_seconds();
  });
  return seasons;
}

}  // namespace

absl::StatusOr<int64_t> decide_best(const TriedTasks& tried, const SessionOptions& options,
                                    Pipeline& pipeline, measure::Runner& runner, database::Store& store,
                                    const PlayOffLimits& limits) {
  std::vector<Season> seasons = seasons_of(tried);
  int64_t attempts = 0;
  absl::Status noted;
  PlayOffListener listener;
  listener.spoiled = [&](const Subject& subject, const Finished& finished) {
    ++attempts;
    noted.Update(note_spoiled(subject, finished, runner, store));
  };
  // Else the farm would wait for it for as long as it holds the lease.
  listener.late = [&](const Finished& finished) {
    if (finished.result && !finished.is_twin) runner.acknowledge(*finished.result);
  };
  for (uint64_t turn = 0;; ++turn) {
    std::vector<Pairing> pairings;
    std::vector<Season*> playing;
    for (Season& season : seasons) {
      const TaskState& task = *tried.tasks[season.task];
      TF_ASSIGN_OR_RETURN(const std::vector<Measurement> in, finalists_of(task, season, options, store));
      // Each turn settles one more at least, so that there is a last one.
      if (in.size() < 2 || !season.settled.insert(in.front().schedule).second) continue;
      pairings.push_back(pairing_of(task, season.task, in, options));
      playing.push_back(&season);
    }
    if (pairings.empty()) return attempts;
    const int64_t began_unix_ns = now_unix_ns();
    listener.decided = [&](size_t i, const std::vector<Played>& ranking) {
      TF_RETURN_IF_ERROR(noted);
      return record(ranking, began_unix_ns, *playing[i], *tried.tasks[playing[i]->task], runner, store);
    };
    TF_RETURN_IF_ERROR(play_off(pipeline, pairings, limits, listener, kTickets * (1 + turn)));
    TF_RETURN_IF_ERROR(noted);
  }
}

}  // namespace tf::session
