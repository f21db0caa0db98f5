#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "database/record_json.h"
#include "database/sqlite/sqlite_rows.h"
#include "database/store_errors.h"
#include "database/which_count.h"

namespace tf::database::rows {
namespace {

// The row of a problem whose workload is known, made if need be.
absl::StatusOr<int64_t> need_problem(Connection& db, const tensor::KernelKey& problem) {
  TF_ASSIGN_OR_RETURN(std::optional<int64_t> known, problem_id(db, problem));
  if (known) return *known;
  TF_ASSIGN_OR_RETURN(
      const std::optional<int64_t> workload,
      db.find("SELECT id FROM workloads WHERE key = ?", integer_of, digest_bytes(problem.workload)));
  if (!workload) return workload_missing(problem.workload);
  TF_RETURN_IF_ERROR(
      db.run("INSERT INTO problems (workload_id, binding, in_layouts, out_layouts, target, threads, "
             "reuse_distance_bytes) VALUES (?, ?, ?, ?, ?, ?, ?)",
             *workload, problem.binding, tensor::join_layouts(problem.in_layouts),
             tensor::join_layouts(problem.out_layouts), problem.target, problem.threads,
             problem.reuse_distance_bytes));
  return db.last_insert_id();
}

absl::StatusOr<std::optional<int64_t>> find_lease(Connection& db, const LeaseStamp& lease) {
  // Of an altered file, only what the row itself says counts.
  return db.find(
      "SELECT m.id FROM leases l JOIN lease_results r ON r.lease = l.id JOIN measurements m ON "
      "m.id = r.measurement_id AND m.lease_id = l.lease_id AND m.epoch = l.epoch AND "
      "m.sequence = r.sequence WHERE l.lease_id = ? AND l.epoch = ? AND r.sequence = ?",
      integer_of, lease.lease_id, lease.epoch, lease.sequence);
}

// The row of a lease, made if need be.
absl::StatusOr<int64_t> need_lease(Connection& db, const LeaseStamp& lease) {
  TF_ASSIGN_OR_RETURN(const std::optional<int64_t> known,
                      db.find("SELECT id FROM leases WHERE lease_id = ? AND epoch = ?", integer_of,
                              lease.lease_id, lease.epoch));
  if (known) return *known;
  TF_RETURN_IF_ERROR(
      db.run("INSERT INTO leases (lease_id, epoch) VALUES (?, ?)", lease.lease_id, lease.epoch));
  return db.last_insert_id();
}

absl::Status add_result(Connection& db, const LeaseStamp& stamp, int64_t measurement_id) {
  TF_ASSIGN_OR_RETURN(const int64_t lease, need_lease(db, stamp));
  return db.run("INSERT INTO lease_results (lease, sequence, measurement_id) VALUES (?, ?, ?)", lease,
                stamp.sequence, measurement_id);
}

// Refuses a result of an older epoch than the slot has seen, and remembers a newer one.
absl::Status pass_fence(Connection& db, const LeaseStamp& lease) {
  if (lease.slot.empty()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const std::optional<int64_t> highest,
                      db.find("SELECT epoch FROM fences WHERE slot = ?", integer_of, lease.slot));
  const auto epoch = static_cast<int64_t>(lease.epoch);
  if (highest && epoch < *highest) return fenced(lease, static_cast<uint64_t>(*highest));
  if (epoch == highest) return absl::OkStatus();
  return db.run(
      "INSERT INTO fences (slot, epoch) VALUES (?, ?) ON CONFLICT (slot) DO UPDATE SET epoch = "
      "excluded.epoch",
      lease.slot, epoch);
}

// Where an imported record stands among the rows that are there (which_count.h).
absl::StatusOr<int64_t> imported_after(Connection& db, const Measurement& m, int64_t problem) {
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare(imported_after_statement(m.untuned)));
  const Digest schedule = sha256(m.schedule);
  find.bind(problem, m.finished_unix_ns, digest_bytes(schedule), digest_bytes(schedule));
  if (m.untuned) find.bind(problem, m.finished_unix_ns);
  TF_RETURN_IF_ERROR(find.step().status());
  return find.integer(0);
}

// Of a value that may be absent.
template <typename Whole, typename Part>
std::optional<Part> part(const std::optional<Whole>& whole, Part Whole::*member) {
  return whole ? std::optional<Part>((*whole).*member) : std::nullopt;
}

absl::Status add_row(Connection& db, const Measurement& m, int64_t problem, const Digest& digest,
                     std::optional<int64_t> imported_after) {
  const Digest schedule = sha256(m.schedule);
  const std::optional<Interval> interval = m.interval_ns();
  const std::optional<Interval> met = part(m.interleaved, &Interleaved::interval_ns);
  return db.run(
      "INSERT INTO measurements (digest, problem_id, schedule, schedule_digest, semantics_version, "
      "sketch_hash, slot_values, numerics, outcome, detail, samples, median_ns, cache_mode, max_error, "
      "device_class, fingerprint, model, clock_mhz, temperature_c, throttled, governor, load_1min, "
      "artifact_digest, code_digest, slot, lease_id, epoch, sequence, job_id, finished_unix_ns, low_ns, "
      "high_ns, untuned, match_unix_ns, match_low_ns, match_high_ns, imported_after) VALUES (?, ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?)",
      digest_bytes(digest), problem, m.schedule, digest_bytes(schedule), m.semantics_version, m.sketch_hash,
      absl::StrJoin(m.choices, ","), absl::StrJoin(m.numerics, ","), m.outcome, m.detail,
      Blob{encode_samples(m.samples)}, m.median_ns(), m.cache_mode, m.max_error, m.device.device_class,
      m.device.fingerprint, m.device.model, m.device.clock_mhz, m.device.temperature_c, m.device.throttled,
      m.device.governor, m.device.load_1min, m.artifact_digest, m.code_digest,
      part(m.lease, &LeaseStamp::slot), part(m.lease, &LeaseStamp::lease_id),
      part(m.lease, &LeaseStamp::epoch), part(m.lease, &LeaseStamp::sequence), m.job_id, m.finished_unix_ns,
      part(interval, &Interval::low_ns), part(interval, &Interval::high_ns), m.untuned,
      part(m.interleaved, &Interleaved::began_unix_ns), part(met, &Interval::low_ns),
      part(met, &Interval::high_ns), imported_after);
}

}  // namespace

absl::Status add_workload(Connection& db, const Workload& workload) {
  const Digest key = workload.key();
  return db.run(
      "INSERT INTO workloads (key, text, op, flops) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
      digest_bytes(key), workload.text, workload.op, workload.flops);
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
    TF_ASSIGN_OR_RETURN(
        known, db.find("SELECT id FROM measurements WHERE digest = ?", integer_of, digest_bytes(digest)));
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
  return db.run(
      "INSERT INTO attempts (problem_id, schedule, artifact_digest, status_code, detail, lease_id, epoch, "
      "job_id, time_unix_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      problem, attempt.schedule, attempt.artifact_digest, attempt.status_code, attempt.detail,
      attempt.lease_id, attempt.epoch, attempt.job_id, attempt.time_unix_ns);
}

absl::StatusOr<int64_t> add_job(Connection& db, const Job& job) {
  TF_RETURN_IF_ERROR(db.run(
      "INSERT INTO jobs (model_name, model_digest, model_path, target, device, options, state, detail, "
      "status_code, created_unix_ns, started_unix_ns, finished_unix_ns, submitter) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      job.model_name, job.model_digest, job.model_path, job.target, job.device, job.options, job.state,
      job.detail, job.status_code, job.created_unix_ns, job.started_unix_ns, job.finished_unix_ns,
      job.submitter));
  return db.last_insert_id();
}

absl::Status update_job(Connection& db, const Job& job) {
  TF_ASSIGN_OR_RETURN(std::vector<Job> found, jobs(db, job.id));
  if (found.empty()) return unknown_job(job.id);
  const JobState before = found.front().state;
  if (is_final(before) && job.state != before) return final_job(found.front());
  return db.run(
      "UPDATE jobs SET state = ?, detail = ?, status_code = ?, started_unix_ns = ?, finished_unix_ns = ? "
      "WHERE id = ?",
      job.state, job.detail, job.status_code, job.started_unix_ns, job.finished_unix_ns, job.id);
}

absl::Status save_job_tasks(Connection& db, const std::vector<JobTask>& tasks) {
  for (const JobTask& task : tasks) {
    TF_ASSIGN_OR_RETURN(int64_t problem, need_problem(db, task.problem));
    TF_RETURN_IF_ERROR(db.run(
        "INSERT INTO job_tasks (job_id, task_index, problem_id, label, weight, trials, best_ns, state) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (job_id, task_index) DO UPDATE SET "
        "problem_id = excluded.problem_id, label = excluded.label, weight = excluded.weight, "
        "trials = excluded.trials, best_ns = excluded.best_ns, state = excluded.state",
        task.job_id, task.index, problem, task.label, task.weight, task.trials, task.best_ns,
        Blob{task.state}));
  }
  return absl::OkStatus();
}

absl::Status save_job_network(Connection& db, int64_t job_id, const std::string& network) {
  return db.run(
      "INSERT INTO job_networks (job_id, network) VALUES (?, ?) ON CONFLICT (job_id) DO UPDATE SET network = "
      "excluded.network",
      job_id, network);
}

absl::Status save_verdict(Connection& db, const NetworkVerdict& verdict, Origin origin) {
  std::string sql =
      "INSERT INTO network_verdicts (key, decided_unix_ns, line) VALUES (?, ?, ?) ON CONFLICT (key) DO "
      "UPDATE SET decided_unix_ns = excluded.decided_unix_ns, line = excluded.line";
  if (origin == Origin::kImport) sql += " WHERE decided_unix_ns < excluded.decided_unix_ns";
  return db.run(sql, digest_bytes(verdict.key), verdict.decided_unix_ns, to_json(verdict));
}

}  // namespace tf::database::rows
