#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "database/sqlite_connection.h"
#include "database/sqlite_rows.h"
#include "database/store_errors.h"

namespace tf::database {
namespace {

// One order of columns for every query that yields measurements; read_measurement reads it.
constexpr char kSelectMeasurement[] =
    "SELECT m.id, w.key, p.binding, p.in_layouts, p.out_layouts, p.target, p.threads, "
    "p.reuse_distance_bytes, m.schedule, "
    "m.semantics_version, m.sketch_hash, m.slot_values, m.numerics, m.outcome, m.detail, m.samples, "
    "m.cache_mode, "
    "m.max_error, m.device_class, m.fingerprint, m.model, m.clock_mhz, m.temperature_c, m.throttled, "
    "m.governor, "
    "m.load_1min, m.artifact_digest, m.code_digest, m.slot, m.lease_id, m.epoch, m.sequence, m.job_id, "
    "m.finished_unix_ns FROM measurements m JOIN problems p ON p.id = m.problem_id "
    "JOIN workloads w ON w.id = p.workload_id ";

constexpr char kSelectProblem[] =
    "SELECT w.key, p.binding, p.in_layouts, p.out_layouts, p.target, p.threads, p.reuse_distance_bytes "
    "FROM problems p JOIN workloads w ON w.id = p.workload_id ";

WorkloadKey read_key(const std::string& blob) {
  WorkloadKey key;
  std::memcpy(key.digest.bytes.data(), blob.data(), std::min(blob.size(), key.digest.bytes.size()));
  return key;
}

// Seven columns from `first` on.
Problem read_problem(const Statement& row, int first) {
  return {.workload = read_key(row.blob(first)),
          .binding = row.text(first + 1),
          .in_layouts = split_layouts(row.text(first + 2)),
          .out_layouts = split_layouts(row.text(first + 3)),
          .target = row.text(first + 4),
          .threads = static_cast<uint32_t>(row.integer(first + 5)),
          .reuse_distance_bytes = static_cast<uint64_t>(row.integer(first + 6))};
}

std::vector<std::string> split_list(const std::string& text) {
  if (text.empty()) return {};
  return absl::StrSplit(text, ',');
}

absl::StatusOr<Measurement> read_measurement(const Statement& row) {
  Measurement m;
  int column = 8;
  m.id = row.integer(0);
  m.problem = read_problem(row, 1);
  m.schedule = row.text(column++);
  m.semantics_version = static_cast<uint32_t>(row.integer(column++));
  m.sketch_hash = row.text(column++);
  for (const std::string& text : split_list(row.text(column++))) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(text, &value)) {
      return absl::DataLossError(absl::StrCat("measurement ", m.id, " has the slot value \"", text, "\""));
    }
    m.slot_values.push_back(value);
  }
  m.numerics = split_list(row.text(column++));
  m.outcome = static_cast<Outcome>(row.integer(column++));
  m.detail = row.text(column++);
  TF_ASSIGN_OR_RETURN(m.samples, decode_samples(row.blob(column++)));
  m.cache_mode = static_cast<CacheMode>(row.integer(column++));
  m.max_error = row.real(column++);
  m.device.device_class = row.text(column++);
  m.device.fingerprint = row.text(column++);
  m.device.model = row.text(column++);
  m.device.clock_mhz = row.real(column++);
  m.device.temperature_c = row.real(column++);
  m.device.throttled = row.integer(column++) != 0;
  m.device.governor = row.text(column++);
  m.device.load_1min = row.real(column++);
  m.artifact_digest = row.text(column++);
  m.code_digest = row.text(column++);
  if (!row.is_null(column + 1)) {
    m.lease = LeaseStamp{.slot = row.text(column),
                         .lease_id = row.text(column + 1),
                         .epoch = static_cast<uint64_t>(row.integer(column + 2)),
                         .sequence = static_cast<uint64_t>(row.integer(column + 3))};
  }
  m.job_id = row.integer(column + 4);
  m.finished_unix_ns = row.integer(column + 5);
  return m;
}

Workload read_workload(const Statement& row) {
  return {.text = row.text(0), .op = row.text(1), .flops = row.real(2)};
}

}  // namespace

std::string encode_samples(const std::vector<Sample>& samples) {
  static_assert(std::endian::native == std::endian::little, "the blob is little-endian");
  std::string blob;
  blob.reserve(samples.size() * 12);
  for (const Sample& sample : samples) {
    blob.append(reinterpret_cast<const char*>(&sample.total_ns), 8);
    blob.append(reinterpret_cast<const char*>(&sample.iterations), 4);
  }
  return blob;
}

absl::StatusOr<std::vector<Sample>> decode_samples(std::string_view blob) {
  if (blob.size() % 12 != 0) {
    return absl::DataLossError(
        absl::StrCat("a samples blob has ", blob.size(), " bytes, which 12 does not divide"));
  }
  std::vector<Sample> samples(blob.size() / 12);
  for (size_t i = 0; i < samples.size(); ++i) {
    std::memcpy(&samples[i].total_ns, blob.data() + i * 12, 8);
    std::memcpy(&samples[i].iterations, blob.data() + i * 12 + 8, 4);
  }
  return samples;
}

namespace rows {

namespace {

struct ProblemRow {
  int64_t id = 0;
  uint64_t reuse_distance_bytes = 0;
};

// Problems of the same kernel, at all reuse distances.
absl::StatusOr<std::vector<ProblemRow>> problems_of_kernel(Connection& db, const Problem& problem) {
  TF_ASSIGN_OR_RETURN(
      Statement find,
      db.prepare("SELECT p.id, p.reuse_distance_bytes FROM problems p JOIN workloads w ON w.id = "
                 "p.workload_id WHERE w.key = ? AND p.binding = ? AND p.in_layouts = ? AND "
                 "p.out_layouts = ? AND p.target = ? AND p.threads = ?"));
  const std::string in_layouts = join_layouts(problem.in_layouts),
                    out_layouts = join_layouts(problem.out_layouts);
  find.bind_blob(digest_bytes(problem.workload.digest)).bind_text(problem.binding).bind_text(in_layouts);
  find.bind_text(out_layouts).bind_text(problem.target).bind(int64_t{problem.threads});
  std::vector<ProblemRow> found;
  for (;;) {
    TF_ASSIGN_OR_RETURN(const bool row, find.step());
    if (!row) return found;
    found.push_back({find.integer(0), static_cast<uint64_t>(find.integer(1))});
  }
}

absl::StatusOr<std::vector<Measurement>> top_of(Connection& db, int64_t problem, const BestQuery& query,
                                                size_t limit) {
  std::vector<Measurement> out;
  std::string sql =
      absl::StrCat(kSelectMeasurement, "WHERE m.problem_id = ? AND m.outcome = 1 AND m.median_ns > 0");
  if (query.device_class) sql += " AND m.device_class = ?";
  if (query.semantics_version) sql += " AND m.semantics_version = ?";
  // What was measured again counts by its last measurement.
  sql +=
      " AND NOT EXISTS (SELECT 1 FROM measurements n WHERE n.problem_id = m.problem_id AND n.schedule_digest "
      "= "
      "m.schedule_digest AND n.id > m.id AND n.outcome = 1 AND n.median_ns > 0 AND n.device_class = "
      "m.device_class AND n.semantics_version = m.semantics_version)";
  sql += " ORDER BY m.median_ns, m.id";
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare(sql));
  find.bind(problem);
  if (query.device_class) find.bind_text(*query.device_class);
  if (query.semantics_version) find.bind(int64_t{*query.semantics_version});
  while (out.size() < limit) {
    TF_ASSIGN_OR_RETURN(bool row, find.step());
    if (!row) break;
    TF_ASSIGN_OR_RETURN(Measurement m, read_measurement(find));
    if (numerics_allowed(m.numerics, query.allowed_numerics)) out.push_back(std::move(m));
  }
  return out;
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> problem_id(Connection& db, const Problem& problem) {
  TF_ASSIGN_OR_RETURN(const std::vector<ProblemRow> found, problems_of_kernel(db, problem));
  for (const ProblemRow& row : found)
    if (row.reuse_distance_bytes == problem.reuse_distance_bytes) return row.id;
  return std::nullopt;
}

absl::StatusOr<std::vector<Measurement>> top(Connection& db, const BestQuery& query, size_t limit) {
  TF_ASSIGN_OR_RETURN(std::vector<ProblemRow> problems, problems_of_kernel(db, query.problem));
  std::ranges::sort(problems, nearer_to(query.problem.reuse_distance_bytes),
                    &ProblemRow::reuse_distance_bytes);
  for (const ProblemRow& problem : problems) {
    TF_ASSIGN_OR_RETURN(std::vector<Measurement> found, top_of(db, problem.id, query, limit));
    if (!found.empty()) return found;
  }
  return std::vector<Measurement>();
}

absl::StatusOr<Workload> find_workload(Connection& db, const std::string& key_or_prefix) {
  TF_RETURN_IF_ERROR(check_key_prefix(key_or_prefix));
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare("SELECT text, op, flops FROM workloads WHERE "
                                                 "substr(lower(hex(key)), 1, ?) = ? LIMIT 2"));
  find.bind(static_cast<int64_t>(key_or_prefix.size())).bind_text(key_or_prefix);
  TF_ASSIGN_OR_RETURN(bool found, find.step());
  if (!found) return unknown_workload(key_or_prefix);
  Workload workload = read_workload(find);
  TF_ASSIGN_OR_RETURN(bool second, find.step());
  if (second) return ambiguous_workload(key_or_prefix);
  return workload;
}

absl::StatusOr<std::vector<Workload>> workloads(Connection& db) {
  TF_ASSIGN_OR_RETURN(Statement all, db.prepare("SELECT text, op, flops FROM workloads ORDER BY id"));
  std::vector<Workload> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, all.step());
    if (!row) return out;
    out.push_back(read_workload(all));
  }
}

absl::StatusOr<std::vector<Problem>> problems(Connection& db) {
  TF_ASSIGN_OR_RETURN(Statement all,
                      db.prepare(absl::StrCat(kSelectProblem,
                                              "WHERE EXISTS (SELECT 1 FROM measurements m WHERE "
                                              "m.problem_id = p.id) ORDER BY p.id")));
  std::vector<Problem> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, all.step());
    if (!row) return out;
    out.push_back(read_problem(all, 0));
  }
}

absl::StatusOr<std::vector<Measurement>> page(Connection& db, const Filter& filter, int64_t after_id,
                                              size_t limit) {
  std::vector<Measurement> out;
  std::optional<int64_t> problem;
  if (filter.problem) {
    TF_ASSIGN_OR_RETURN(problem, problem_id(db, *filter.problem));
    if (!problem) return out;
  }
  std::string sql = absl::StrCat(kSelectMeasurement, "WHERE m.id > ?");
  if (problem) sql += " AND m.problem_id = ?";
  if (filter.workload) sql += " AND w.key = ?";
  if (filter.job_id) sql += *filter.job_id != 0 ? " AND m.job_id != 0 AND m.job_id = ?" : " AND m.job_id = ?";
  if (filter.only_ok) sql += " AND m.outcome = 1";
  sql += " ORDER BY m.id LIMIT ?";
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare(sql));
  find.bind(after_id);
  if (problem) find.bind(*problem);
  if (filter.workload) find.bind_blob(digest_bytes(filter.workload->digest));
  if (filter.job_id) find.bind(*filter.job_id);
  find.bind(static_cast<int64_t>(limit));
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, find.step());
    if (!row) return out;
    TF_ASSIGN_OR_RETURN(Measurement m, read_measurement(find));
    out.push_back(std::move(m));
  }
}

absl::StatusOr<Measurement> find_record(Connection& db, const Digest& digest) {
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare(absl::StrCat(kSelectMeasurement, "WHERE m.digest = ?")));
  find.bind_blob(digest_bytes(digest));
  TF_ASSIGN_OR_RETURN(bool found, find.step());
  if (!found) return unknown_record(digest);
  return read_measurement(find);
}

absl::StatusOr<bool> is_measured(Connection& db, const Problem& problem, const std::string& schedule) {
  TF_ASSIGN_OR_RETURN(std::optional<int64_t> id, problem_id(db, problem));
  if (!id) return false;
  TF_ASSIGN_OR_RETURN(
      Statement find,
      db.prepare("SELECT 1 FROM measurements WHERE problem_id = ? AND schedule_digest = ? LIMIT 1"));
  const Digest digest = sha256(schedule);
  find.bind(*id).bind_blob(digest_bytes(digest));
  return find.step();
}

absl::StatusOr<int64_t> count_attempts(Connection& db, int64_t job_id) {
  TF_ASSIGN_OR_RETURN(Statement count, db.prepare("SELECT count(*) FROM attempts WHERE job_id = ?"));
  count.bind(job_id);
  TF_RETURN_IF_ERROR(count.step().status());
  return count.integer(0);
}

absl::StatusOr<int64_t> count_trials(Connection& db, int64_t job_id) {
  TF_ASSIGN_OR_RETURN(Statement count,
                      db.prepare("SELECT count(*) FROM (SELECT DISTINCT problem_id, schedule_digest "
                                 "FROM measurements WHERE job_id != 0 AND job_id = ?)"));
  count.bind(job_id);
  TF_RETURN_IF_ERROR(count.step().status());
  return count.integer(0);
}

absl::StatusOr<std::vector<Job>> jobs(Connection& db, std::optional<int64_t> id) {
  TF_ASSIGN_OR_RETURN(Statement find,
                      db.prepare(absl::StrCat(
                          "SELECT id, model_name, model_digest, model_path, target, device, options, "
                          "state, detail, status_code, created_unix_ns, started_unix_ns, finished_unix_ns "
                          "FROM jobs ",
                          id ? "WHERE id = ?" : "ORDER BY id")));
  if (id) find.bind(*id);
  std::vector<Job> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, find.step());
    if (!row) return out;
    out.push_back({.id = find.integer(0),
                   .model_name = find.text(1),
                   .model_digest = find.text(2),
                   .model_path = find.text(3),
                   .target = find.text(4),
                   .device = find.text(5),
                   .options = find.text(6),
                   .state = static_cast<JobState>(find.integer(7)),
                   .detail = find.text(8),
                   .status_code = static_cast<int32_t>(find.integer(9)),
                   .created_unix_ns = find.integer(10),
                   .started_unix_ns = find.integer(11),
                   .finished_unix_ns = find.integer(12)});
  }
}

absl::StatusOr<std::vector<JobTask>> job_tasks(Connection& db, int64_t job_id) {
  TF_ASSIGN_OR_RETURN(
      Statement find,
      db.prepare(
          "SELECT t.job_id, t.task_index, t.label, t.weight, t.trials, t.best_ns, t.state, w.key, p.binding, "
          "p.in_layouts, p.out_layouts, p.target, p.threads, p.reuse_distance_bytes FROM job_tasks t JOIN "
          "problems p ON p.id = t.problem_id JOIN workloads w ON w.id = p.workload_id WHERE t.job_id = ? "
          "ORDER BY t.task_index"));
  find.bind(job_id);
  std::vector<JobTask> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, find.step());
    if (!row) return out;
    out.push_back({.job_id = find.integer(0),
                   .index = static_cast<int32_t>(find.integer(1)),
                   .problem = read_problem(find, 7),
                   .label = find.text(2),
                   .weight = find.real(3),
                   .trials = find.integer(4),
                   .best_ns = find.real(5),
                   .state = find.blob(6)});
  }
}

}  // namespace rows
}  // namespace tf::database
