#include "tuner/session/playoff_records.h"

#include <algorithm>
#include <set>
#include <string>
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

// What was measured only once may have been lucky: once those that took part have been measured again, one
// that did not may look the fastest. Then it has to meet them, too.
constexpr int kTurns = 2;
constexpr uint64_t kTickets = 1'000'000;  // more than a turn has trials

// All of its trials as one measurement.
absl::Status record_played(const Played& played, const database::Measurement& before,
                           const SessionOptions& options, TaskState& task, measure::Runner& runner,
                           database::Store& store) {
  const Subject subject{task.problem(),       before.schedule, before.sketch_hash, before.slot_values,
                        options.device_class, options.job_id,  before.untuned};
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

// The best few records of a task and that of the untuned schedule, which they have to beat.
absl::StatusOr<std::vector<database::Measurement>> best_of(const TaskState& task,
                                                           const SessionOptions& options,
                                                           database::Store& store) {
  database::BestQuery query{.problem = task.problem(),
                            .device_class = options.device_class,
                            .allowed_numerics = options.allowed_numerics,
                            .semantics_version = schedule::kSemanticsVersion};
  TF_ASSIGN_OR_RETURN(std::vector<database::Measurement> best, store.top(query, Playoff::kFinalists));
  query.only_untuned = true;
  TF_ASSIGN_OR_RETURN(std::vector<database::Measurement> untuned, store.top(query, 1));
  const auto is_untuned = [](const database::Measurement& record) { return record.untuned; };
  if (untuned.empty() || std::ranges::any_of(best, is_untuned)) return best;
  if (best.size() == Playoff::kFinalists) best.pop_back();
  best.push_back(std::move(untuned.front()));
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
  std::vector<std::set<std::string>> settled(tasks.size());  // schedules that had their match
  for (int turn = 0; turn < kTurns; ++turn) {
    std::vector<std::vector<database::Measurement>> best(tasks.size());
    std::vector<Match> matches;
    for (const size_t i : order_of(tried)) {
      TF_ASSIGN_OR_RETURN(best[i], best_of(*tasks[i], options, store));
      if (best[i].empty() || !settled[i].insert(best[i].front().schedule).second) continue;
      Match& match = matches.emplace_back(i);
      for (const database::Measurement& record : best[i])
        match.contenders.push_back({candidate_request(tasks[i]->task(), target, record.schedule),
                                    estimate(database::runs_ns(record.samples))});
    }
    const std::vector<Played> all =
        play_off(pipeline, matches, stop, deadline, kTickets * static_cast<uint64_t>(turn));
    for (const Played& played : all) {
      const database::Measurement& before = best[played.task][played.contender];
      TF_RETURN_IF_ERROR(record_played(played, before, options, *tasks[played.task], runner, store));
      settled[played.task].insert(before.schedule);
    }
    if (all.empty()) break;
  }
  return absl::OkStatus();
}

}  // namespace tf::session
