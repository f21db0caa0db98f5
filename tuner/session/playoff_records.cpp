#include "tuner/session/playoff_records.h"

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
  const Subject subject{before.problem,     before.schedule,      before.sketch_hash,
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

}  // namespace

absl::Status decide_best(const TriedTasks& tried, const SessionOptions& options, Pipeline& pipeline,
                         measure::Runner& runner, database::Store& store, const std::atomic<bool>& stop) {
  const std::string target = options.target.text();
  const auto tasks = tried.tasks;
  std::vector<std::vector<database::Measurement>> best(tasks.size());
  std::vector<std::vector<Contender>> contenders(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tried.trials[i] == 0) continue;
    const database::BestQuery query{.problem = tasks[i]->problem(),
                                    .device_class = options.device_class,
                                    .allowed_numerics = options.allowed_numerics,
                                    .semantics_version = schedule::kSemanticsVersion};
    TF_ASSIGN_OR_RETURN(best[i], store.top(query, Playoff::kFinalists));
    for (const database::Measurement& record : best[i])
      contenders[i].push_back(
          {candidate_request(tasks[i]->task(), target, record.schedule), estimate(runs_ns(record))});
  }
  for (const Played& played : play_off(pipeline, contenders, stop)) {
    TF_RETURN_IF_ERROR(record_played(played, best[played.task][played.contender], options,
                                     *tasks[played.task], runner, store));
  }
  return absl::OkStatus();
}

}  // namespace tf::session
