#include "tuner/session/playoff_records.h"

#include <algorithm>
#include <utility>

#include "base/race.h"
#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tuner/session/playoff.h"
#include "tuner/session/playoff_run.h"
#include "tuner/session/record_proto.h"
#include "tuner/session/record_times.h"
#include "tuner/session/requests_proto.h"

namespace tf::session {
namespace {

// All of its trials as one measurement.
absl::Status record_played(const Played& played, const database::Measurement& before,
                           const SessionOptions& options, TaskState& task, measure::Runner& runner,
                           database::Store& store) {
  const Subject subject{task.problem(),     before.schedule,      before.sketch_hash,
                        before.slot_values, options.device_class, options.job_id};
  database::Measurement row = record_of(subject, *played.built, *played.results.back());
  row.samples.clear();
  for (const auto& result : played.results) {
    const database::Measurement trial = record_of(subject, *played.built, *result);
    row.samples.insert(row.samples.end(), trial.samples.begin(), trial.samples.end());
  }
  const absl::StatusOr<database::InsertResult> inserted = store.insert(row);
  if (absl::IsAborted(inserted.status())) return absl::OkStatus();  // of a lease that is fenced off
  TF_RETURN_IF_ERROR(inserted.status());
  for (const auto& result : played.results) runner.acknowledge(*result);
  task.observe(row, time_of(row));
  return absl::OkStatus();
}

// The best few records of a task, with the untuned schedule's among them if it is anywhere near.
absl::StatusOr<std::vector<database::Measurement>> best_of(const TaskState& task,
                                                           const SessionOptions& options,
                                                           database::Store& store) {
  constexpr size_t kNear = 64;
  const database::BestQuery query{.problem = task.problem(),
                                  .device_class = options.device_class,
                                  .allowed_numerics = options.allowed_numerics,
                                  .semantics_version = schedule::kSemanticsVersion};
  TF_ASSIGN_OR_RETURN(std::vector<database::Measurement> best, store.top(query, kNear));
  if (best.size() <= Playoff::kFinalists) return best;
  if (task.untuned()) {
    const std::string untuned = task.subject_of(*task.untuned()).schedule;
    const auto found =
        std::find_if(best.begin() + Playoff::kFinalists, best.end(),
                     [&](const database::Measurement& each) { return each.schedule == untuned; });
    if (found != best.end()) std::swap(best[Playoff::kFinalists - 1], *found);
  }
  best.resize(Playoff::kFinalists);
  return best;
}

// Those that were tried, by the time that they take of the network's, the most first.
std::vector<size_t> order_of(const TriedTasks& tried) {
  std::vector<size_t> order;
  for (size_t i = 0; i < tried.tasks.size(); ++i)
    if (tried.trials[i] > 0) order.push_back(i);
  const auto seconds = [&](size_t i) {
    return tried.tasks[i]->task().weight * tried.tasks[i]->best_seconds();
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return seconds(a) > seconds(b); });
  return order;
}

}  // namespace

absl::Status decide_best(const TriedTasks& tried, const SessionOptions& options, Pipeline& pipeline,
                         measure::Runner& runner, database::Store& store, const std::atomic<bool>& stop,
                         std::chrono::steady_clock::time_point deadline) {
  const std::string target = options.target.text();
  const auto tasks = tried.tasks;
  std::vector<std::vector<database::Measurement>> best(tasks.size());
  std::vector<Match> matches;
  for (const size_t i : order_of(tried)) {
    TF_ASSIGN_OR_RETURN(best[i], best_of(*tasks[i], options, store));
    Match& match = matches.emplace_back(i);
    for (const database::Measurement& record : best[i])
      match.contenders.push_back(
          {candidate_request(tasks[i]->task(), target, record.schedule), estimate(runs_ns(record))});
  }
  for (const Played& played : play_off(pipeline, matches, stop, deadline)) {
    TF_RETURN_IF_ERROR(record_played(played, best[played.task][played.contender], options,
                                     *tasks[played.task], runner, store));
  }
  return absl::OkStatus();
}

}  // namespace tf::session
