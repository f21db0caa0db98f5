#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "database/record_json.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_rows.h"
#include "database/store_errors.h"
#include "database/which_count.h"

namespace tf::database::rows {
namespace {

// The row of a problem whose workload is known, made if need be.
absl::StatusOr<int64_t> need_problem(Connection& db, const tensor::KernelKey& problem) {
  TF_ASSIGN_OR_RETURN(std::optional<int64_t> known, problem_id(db, problem));
  if (known) return *known;
  int64_t workload_id = 0;
  {
    TF_ASSIGN_OR_RETURN(Statement find, db.prepare("SELECT id FROM workloads WHERE key = ?"));
    find.bind_blob(digest_bytes(problem.workload));
    TF_ASSIGN_OR_RETURN(bool found, find.step());
    if (!found) return workload_missing(problem.workload);
    workload_id = find.integer(0);
  }
  TF_ASSIGN_OR_RETURN(Statement add,
                      db.prepare("INSERT INTO problems (workload_id, binding, in_layouts, out_layouts, "
                                 "target, threads, reuse_distance_bytes) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  const std::string in_layouts = tensor::join_layouts(problem.in_layouts),
                    out_layouts = tensor::join_layouts(problem.out_layouts);
  add.bind(workload_id).bind_text(problem.binding).bind_text(in_layouts).bind_text(out_layouts);
  add.bind_text(problem.target).bind(int64_t{problem.threads});
  add.bind(static_cast<int64_t>(problem.reuse_distance_bytes));
  TF_RETURN_IF_ERROR(add.run());
  return db.last_insert_id();
}

absl::StatusOr<std::optional<int64_t>> find_lease(Connection& db, const LeaseStamp& lease) {
  // Of an altered file, only what the row itself says counts.
  TF_ASSIGN_OR_RETURN(Statement find,
                      db.prepare("SELECT m.id FROM leases l JOIN lease_results r ON r.lease = l.id "
                                 "JOIN measurements m ON m.id = r.measurement_id AND m.lease_id = l.lease_id "
                                 "AND m.epoch = l.epoch AND m.sequence = r.sequence "
                                 "WHERE l.lease_id = ? AND l.epoch = ? AND r.sequence = ?"));
  find.bind_text(lease.lease_id)
      .bind(static_cast<int64_t>(lease.epoch))
      .bind(static_cast<int64_t>(lease.sequence));
  TF_ASSIGN_OR_RETURN(bool found, find.step());
  if (!found) return std::nullopt;
  return find.integer(0);
}

// The row of a lease, made if need be.
absl::StatusOr<int64_t> need_lease(Connection& db, const LeaseStamp& lease) {
  {
    TF_ASSIGN_OR_RETURN(Statement find, db.prepare("SELECT id FROM leases WHERE lease_id = ? AND epoch = ?"));
    find.bind_text(lease.lease_id).bind(static_cast<int64_t>(lease.epoch));
    TF_ASSIGN_OR_RETURN(const bool found, find.step());
    if (found) return find.integer(0);
  }
  TF_ASSIGN_OR_RETURN(Statement add, db.prepare("INSERT INTO leases (lease_id, epoch) VALUES (?, ?)"));
  add.bind_text(lease.lease_id).bind(static_cast<int64_t>(lease.epoch));
  TF_RETURN_IF_ERROR(add.run());
  return db.last_insert_id();
}

absl::Status add_result(Connection& db, const LeaseStamp& stamp, int64_t measurement_id) {
  TF_ASSIGN_OR_RETURN(const int64_t lease, need_lease(db, stamp));
  TF_ASSIGN_OR_RETURN(
      Statement add,
      db.prepare("INSERT INTO lease_results (lease, sequence, measurement_id) VALUES (?, ?, ?)"));
  return add.bind(lease).bind(static_cast<int64_t>(stamp.sequence)).bind(measurement_id).run();
}

absl::StatusOr<std::optional<int64_t>> find_digest(Connection& db, const Digest& digest) {
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare("SELECT id FROM measurements WHERE digest = ?"));
  find.bind_blob(digest_bytes(digest));
  TF_ASSIGN_OR_RETURN(bool found, find.step());
  if (!found) return std::nullopt;
  return find.integer(0);
}

// Refuses a result of an older epoch than the slot has seen, and remembers a newer one.
absl::Status pass_fence(Connection& db, const LeaseStamp& lease) {
  if (lease.slot.empty()) return absl::OkStatus();
  int64_t highest = -1;
  {
    TF_ASSIGN_OR_RETURN(Statement find, db.prepare("SELECT epoch FROM fences WHERE slot = ?"));
    find.bind_text(lease.slot);
    TF_ASSIGN_OR_RETURN(bool found, find.step());
    if (found) highest = find.integer(0);
  }
  const auto epoch = static_cast<int64_t>(lease.epoch);
  if (epoch < highest) return fenced(lease, static_cast<uint64_t>(highest));
  if (epoch == highest) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(Statement raise, db.prepare("INSERT INTO fences (slot, epoch) VALUES (?, ?) "
                                                  "ON CONFLICT (slot) DO UPDATE SET epoch = excluded.epoch"));
  raise.bind_text(lease.slot).bind(epoch);
  return raise.run();
}

// Where an imported record stands among the rows that are there (which_count.h).
absl::StatusOr<int64_t> imported_after(Connection& db, const Measurement& m, int64_t problem) {
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare(imported_after_statement(m.untuned)));
  const Digest schedule = sha256(m.schedule);
  find.bind(problem).bind(m.finished_unix_ns);
  find.bind_blob(digest_bytes(schedule)).bind_blob(digest_bytes(schedule));
  if (m.untuned) find.bind(problem).bind(m.finished_unix_ns);
  TF_RETURN_IF_ERROR(find.step().status());
  return find.integer(0);
}

absl::Status add_row(Connection& db, const Measurement& m, int64_t problem, const Digest& digest,
                     std::optional<int64_t> imported_after) {
  TF_ASSIGN_OR_RETURN(
      Statement add,
      db.prepare(
          "INSERT INTO measurements (digest, problem_id, schedule, schedule_digest, semantics_version, "
          "sketch_hash, slot_values, numerics, outcome, detail, samples, median_ns, cache_mode, max_error, "
          "device_class, fingerprint, model, clock_mhz, temperature_c, throttled, governor, load_1min, "
          "artifact_digest, code_digest, slot, lease_id, epoch, sequence, job_id, finished_unix_ns, low_ns, "
          "high_ns, untuned, match_unix_ns, match_low_ns, match_high_ns, imported_after) VALUES (?, ?, ?, ?, "
          "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
          "?)"));
  const Digest schedule = sha256(m.schedule);
  const std::string slots = absl::StrJoin(m.choices, ","), numerics = absl::StrJoin(m.numerics, ",");
  const std::string samples = encode_samples(m.samples);
  const std::optional<double> median = m.median_ns();
  add.bind_blob(digest_bytes(digest)).bind(problem).bind_text(m.schedule).bind_blob(digest_bytes(schedule));
  add.bind(int64_t{m.semantics_version}).bind_text(m.sketch_hash).bind_text(slots).bind_text(numerics);
  add.bind(static_cast<int64_t>(m.outcome)).bind_text(m.detail).bind_blob(samples);
  median ? add.bind(*median) : add.bind_null();
  add.bind(static_cast<int64_t>(m.cache_mode)).bind(m.max_error).bind_text(m.device.device_class);
  add.bind_text(m.device.fingerprint).bind_text(m.device.model).bind(m.device.clock_mhz);
  add.bind(m.device.temperature_c).bind(int64_t{m.device.throttled}).bind_text(m.device.governor);
  add.bind(m.device.load_1min).bind_text(m.artifact_digest).bind_text(m.code_digest);
  if (m.lease) {
    add.bind_text(m.lease->slot).bind_text(m.lease->lease_id).bind(static_cast<int64_t>(m.lease->epoch));
    add.bind(static_cast<int64_t>(m.lease->sequence));
  } else {
    add.bind_null().bind_null().bind_null().bind_null();
  }
  add.bind(m.job_id).bind(m.finished_unix_ns);
  const std::optional<Interval> interval = m.interval_ns();
  interval ? add.bind(interval->low_ns).bind(interval->high_ns) : add.bind_null().bind_null();
  add.bind(int64_t{m.untuned});
  if (m.interleaved) {
    const auto& [low_ns, high_ns] = m.interleaved->interval_ns;
    add.bind(m.interleaved->began_unix_ns).bind(low_ns).bind(high_ns);
  } else {
    add.bind_null().bind_null().bind_null();
  }
  imported_after ? add.bind(*imported_after) : add.bind_null();
  return add.run();
}

}  // namespace

absl::Status add_workload(Connection& db, const Workload& workload) {
  TF_ASSIGN_OR_RETURN(Statement add,
                      db.prepare("INSERT INTO workloads (key, text, op, flops) VALUES (?, ?, ?, ?) "
                                 "ON CONFLICT (key) DO NOTHING"));
  const Digest key = workload.key();
  add.bind_blob(digest_bytes(key)).bind_text(workload.text).bind_text(workload.op).bind(workload.flops);
  return add.run();
}

absl::StatusOr<InsertResult> insert(Connection& db, const Measurement& measurement, Origin origin) {
  if (const absl::Status possible = check(measurement); !possible.ok()) return refused(possible);
  std::optional<int64_t> known;
  // What is on disk already is acknowledged again whatever its epoch: the sender only missed the first
  // answer.
  if (measurement.lease) {
    TF_ASSIGN_OR_RETURN(known, find_lease(db, *measurement.lease));
  }
  const Digest digest = record_digest(measurement);
  if (!known) {
    TF_ASSIGN_OR_RETURN(known, find_digest(db, digest));
  }
  if (known) return InsertResult{.id = *known, .duplicate = true};
  if (measurement.lease && origin == Origin::kLive) TF_RETURN_IF_ERROR(pass_fence(db, *measurement.lease));
  TF_ASSIGN_OR_RETURN(int64_t problem, need_problem(db, measurement.problem));
  std::optional<int64_t> after;
  if (origin == Origin::kImport) {
    TF_ASSIGN_OR_RETURN(after, imported_after(db, measurement, problem));
  }
  TF_RETURN_IF_ERROR(add_row(db, measurement, problem, digest, after));
  const int64_t id = db.last_insert_id();
  if (measurement.lease) TF_RETURN_IF_ERROR(add_result(db, *measurement.lease, id));
  return InsertResult{.id = id};
}

absl::Status add_attempt(Connection& db, const Attempt& attempt) {
  TF_ASSIGN_OR_RETURN(int64_t problem, need_problem(db, attempt.problem));
  TF_ASSIGN_OR_RETURN(
      Statement add,
      db.prepare("INSERT INTO attempts (problem_id, schedule, artifact_digest, status_code, detail, "
                 "lease_id, epoch, job_id, time_unix_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  add.bind(problem)
      .bind_text(attempt.schedule)
      .bind_text(attempt.artifact_digest)
      .bind_text(attempt.status_code);
  add.bind_text(attempt.detail).bind_text(attempt.lease_id).bind(static_cast<int64_t>(attempt.epoch));
  add.bind(attempt.job_id).bind(attempt.time_unix_ns);
  return add.run();
}

absl::StatusOr<int64_t> add_job(Connection& db, const Job& job) {
  TF_ASSIGN_OR_RETURN(
      Statement add,
      db.prepare(
          "INSERT INTO jobs (model_name, model_digest, model_path, target, device, options, state, detail, "
          "status_code, created_unix_ns, started_unix_ns, finished_unix_ns, submitter) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  add.bind_text(job.model_name).bind_text(job.model_digest).bind_text(job.model_path).bind_text(job.target);
  add.bind_text(job.device)
      .bind_text(job.options)
      .bind(static_cast<int64_t>(job.state))
      .bind_text(job.detail);
  add.bind(int64_t{job.status_code})
      .bind(job.created_unix_ns)
      .bind(job.started_unix_ns)
      .bind(job.finished_unix_ns)
      .bind_text(job.submitter);
  TF_RETURN_IF_ERROR(add.run());
  return db.last_insert_id();
}

absl::Status update_job(Connection& db, const Job& job) {
  TF_ASSIGN_OR_RETURN(std::vector<Job> found, jobs(db, job.id));
  if (found.empty()) return unknown_job(job.id);
  const JobState before = found.front().state;
  if (is_final(before) && job.state != before) return final_job(found.front());
  TF_ASSIGN_OR_RETURN(
      Statement update,
      db.prepare("UPDATE jobs SET state = ?, detail = ?, status_code = ?, started_unix_ns = ?, "
                 "finished_unix_ns = ? WHERE id = ?"));
  update.bind(static_cast<int64_t>(job.state)).bind_text(job.detail).bind(int64_t{job.status_code});
  update.bind(job.started_unix_ns);
  update.bind(job.finished_unix_ns).bind(job.id);
  return update.run();
}

absl::Status save_job_tasks(Connection& db, const std::vector<JobTask>& tasks) {
  for (const JobTask& task : tasks) {
    TF_ASSIGN_OR_RETURN(int64_t problem, need_problem(db, task.problem));
    TF_ASSIGN_OR_RETURN(
        Statement save,
        db.prepare("INSERT INTO job_tasks (job_id, task_index, problem_id, label, weight, trials, "
                   "best_ns, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (job_id, task_index) "
                   "DO UPDATE SET problem_id = excluded.problem_id, label = excluded.label, weight = "
                   "excluded.weight, trials = excluded.trials, best_ns = excluded.best_ns, state = "
                   "excluded.state"));
    save.bind(task.job_id).bind(int64_t{task.index}).bind(problem).bind_text(task.label).bind(task.weight);
    save.bind(task.trials).bind(task.best_ns).bind_blob(task.state);
    TF_RETURN_IF_ERROR(save.run());
  }
  return absl::OkStatus();
}

absl::Status save_verdict(Connection& db, const NetworkVerdict& verdict, Origin origin) {
  std::string sql =
      "INSERT INTO network_verdicts (key, decided_unix_ns, line) VALUES (?, ?, ?) ON CONFLICT (key) DO "
      "UPDATE "
      "SET decided_unix_ns = excluded.decided_unix_ns, line = excluded.line";
  if (origin == Origin::kImport) sql += " WHERE decided_unix_ns < excluded.decided_unix_ns";
  TF_ASSIGN_OR_RETURN(Statement save, db.prepare(sql));
  const std::string line = to_json(verdict);  // bound, not copied
  save.bind_blob(digest_bytes(verdict.key)).bind(verdict.decided_unix_ns).bind_text(line);
  return save.run();
}

}  // namespace tf::database::rows
