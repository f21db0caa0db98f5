#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "database/record_json.h"
#include "database/sqlite/row_values.h"
#include "database/sqlite/sqlite_rows.h"
#include "database/store_errors.h"
#include "database/which_count.h"

namespace tf::database::rows {
namespace {

struct ProblemRow {
  int64_t id = 0;
  uint64_t reuse_distance_bytes = 0;
};

// Problems of the same kernel, at all reuse distances.
absl::StatusOr<std::vector<ProblemRow>> problems_of_kernel(Connection& db, const tensor::KernelKey& problem) {
  const auto read = [](const Statement& row) -> absl::StatusOr<ProblemRow> {
    return ProblemRow{row.integer(0), static_cast<uint64_t>(row.integer(1))};
  };
  return db.select(
      "SELECT p.id, p.reuse_distance_bytes FROM problems p JOIN workloads w ON w.id = p.workload_id WHERE "
      "w.key = ? AND p.binding = ? AND p.in_layouts = ? AND p.out_layouts = ? AND p.target = ? AND "
      "p.threads = ?",
      read, digest_bytes(problem.workload), problem.binding, tensor::join_layouts(problem.in_layouts),
      tensor::join_layouts(problem.out_layouts), problem.target, problem.threads);
}

absl::StatusOr<std::vector<Measurement>> top_of(Connection& db, int64_t problem, const BestQuery& query,
                                                size_t limit) {
  std::vector<Measurement> out;
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare(top_statement(query)));
  find.bind(problem);
  if (query.device_class) find.bind(*query.device_class);
  if (query.semantics_version) find.bind(*query.semantics_version);
  const Digest schedule = sha256(query.schedule.value_or(""));
  if (query.schedule) find.bind(digest_bytes(schedule), digest_bytes(schedule));
  const std::string counting_answer =
      absl::StrCat("SELECT ", counting_answer_sql("m", query.of == BestQuery::Of::kUntuned),
                   " FROM measurements m WHERE m.id = ?");
  std::map<Program, int64_t> counting;  // the rows of a program are read once, however many they are
  while (out.size() < limit) {
    TF_ASSIGN_OR_RETURN(bool row, find.step());
    if (!row) break;
    TF_ASSIGN_OR_RETURN(Measurement m, read_measurement(find));
    const auto [known, is_new] = counting.try_emplace({.schedule = m.schedule,
                                                       .device_class = m.device.device_class,
                                                       .semantics_version = m.semantics_version});
    if (is_new) {
      TF_ASSIGN_OR_RETURN(known->second, db.query_int(counting_answer, m.id));
    }
    if (known->second == m.id && numerics_allowed(m.numerics, query.allowed_numerics))
      out.push_back(std::move(m));
  }
  return out;
}

// What narrows a scan to those of Filter::which.
std::string which_condition(Filter::Which which) {
  if (which == Filter::Which::kAll) return "";
  const std::string stands = absl::StrCat(counting_answer_sql("m"), " IS NOT NULL");
  return which == Filter::Which::kOk ? absl::StrCat(" AND m.outcome = 1 AND ", stands)
                                     : absl::StrCat(" AND (m.outcome != 1 OR ", stands, ")");
}

// What of a filter narrows a scan, but for the problem; bind_filter binds its parameters.
std::string filter_condition(const Filter& filter) {
  std::string sql;
  if (filter.workload) sql += " AND w.key = ?";
  if (filter.job_id) sql += *filter.job_id != 0 ? " AND m.job_id != 0 AND m.job_id = ?" : " AND m.job_id = ?";
  return sql + which_condition(filter.which);
}

void bind_filter(Statement& find, const Filter& filter) {
  if (filter.workload) find.bind(digest_bytes(*filter.workload));
  if (filter.job_id) find.bind(*filter.job_id);
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> problem_id(Connection& db, const tensor::KernelKey& problem) {
  TF_ASSIGN_OR_RETURN(const std::vector<ProblemRow> found, problems_of_kernel(db, problem));
  for (const ProblemRow& row : found)
    if (row.reuse_distance_bytes == problem.reuse_distance_bytes) return row.id;
  return std::nullopt;
}

std::string top_statement(const BestQuery& query) {
  const bool untuned = query.of == BestQuery::Of::kUntuned;
  // A narrow question has few rows: the plus keeps it from those that are ordered by time, which are all.
  const std::string plus = query.schedule || untuned ? "+" : "";
  std::string sql = absl::StrCat(kSelectMeasurement, "WHERE m.problem_id = ? AND ", plus,
                                 "m.outcome = 1 AND ", plus, "m.median_ns > 0");
  if (query.device_class) sql += " AND m.device_class = ?";
  if (query.semantics_version) sql += " AND m.semantics_version = ?";
  if (query.schedule) absl::StrAppend(&sql, " AND ", of_schedule_sql("m", "?"));
  if (untuned) sql += " AND m.untuned = 1";
  return absl::StrCat(sql, " ORDER BY ", untuned ? counting_order_sql("m", " DESC") : "m.median_ns, m.id");
}

absl::StatusOr<std::vector<Measurement>> top(Connection& db, const BestQuery& query, size_t limit) {
  TF_ASSIGN_OR_RETURN(std::vector<ProblemRow> problems, problems_of_kernel(db, query.problem));
  std::ranges::sort(problems, tensor::nearer_to(query.problem.reuse_distance_bytes),
                    &ProblemRow::reuse_distance_bytes);
  for (const ProblemRow& problem : problems) {
    TF_ASSIGN_OR_RETURN(std::vector<Measurement> found, top_of(db, problem.id, query, limit));
    if (!found.empty()) return found;
  }
  return std::vector<Measurement>();
}

absl::StatusOr<Workload> find_workload(Connection& db, const std::string& key_or_prefix) {
  TF_RETURN_IF_ERROR(check_key_prefix(key_or_prefix));
  TF_ASSIGN_OR_RETURN(
      std::vector<Workload> found,
      db.select(absl::StrCat(kSelectWorkload, "WHERE substr(lower(hex(key)), 1, ?) = ? LIMIT 2"),
                read_workload, key_or_prefix.size(), key_or_prefix));
  if (found.empty()) return unknown_workload(key_or_prefix);
  if (found.size() > 1) return ambiguous_workload(key_or_prefix);
  return std::move(found.front());
}

absl::StatusOr<std::vector<Workload>> workloads(Connection& db) {
  return db.select(absl::StrCat(kSelectWorkload, "ORDER BY id"), read_workload);
}

absl::StatusOr<std::vector<tensor::KernelKey>> problems(Connection& db) {
  return db.select(
      absl::StrCat(kSelectProblem,
                   "WHERE EXISTS (SELECT 1 FROM measurements m WHERE m.problem_id = p.id) ORDER BY p.id"),
      read_problem);
}

absl::StatusOr<std::vector<Measurement>> page(Connection& db, const Filter& filter, int64_t after_id,
                                              size_t limit) {
  TF_ASSIGN_OR_RETURN(Statement find,
                      db.prepare(absl::StrCat(kSelectMeasurement, "WHERE m.id > ?", filter_condition(filter),
                                              " ORDER BY m.id LIMIT ?")));
  find.bind(after_id);
  bind_filter(find, filter);
  find.bind(limit);
  std::vector<Measurement> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, find.step());
    if (!row) return out;
    TF_ASSIGN_OR_RETURN(out.emplace_back(), read_measurement(find));
  }
}

absl::StatusOr<std::vector<int64_t>> ids_of_problems(Connection& db, const Filter& filter) {
  std::optional<int64_t> problem;
  if (filter.problem) {
    TF_ASSIGN_OR_RETURN(problem, problem_id(db, *filter.problem));
    if (!problem) return std::vector<int64_t>();
  }
  if (problem)
    return db.select("SELECT id FROM measurements WHERE problem_id = ? ORDER BY id", integer_of, *problem);
  return db.select(
      "SELECT m.id FROM workloads w JOIN problems p ON p.workload_id = w.id JOIN measurements m ON "
      "m.problem_id = p.id WHERE w.key = ? ORDER BY m.id",
      integer_of, digest_bytes(*filter.workload));
}

absl::StatusOr<std::vector<Measurement>> matching(Connection& db, const Filter& filter,
                                                  std::span<const int64_t> ids) {
  std::vector<Measurement> out;
  const std::string sql = absl::StrCat(kSelectMeasurement, "WHERE m.id = ?", filter_condition(filter));
  for (const int64_t id : ids) {
    TF_ASSIGN_OR_RETURN(Statement find, db.prepare(sql));
    find.bind(id);
    bind_filter(find, filter);
    TF_ASSIGN_OR_RETURN(const bool row, find.step());
    if (!row) continue;
    TF_ASSIGN_OR_RETURN(Measurement m, read_measurement(find));
    // An index in somebody's file may say anything.
    if (!filter.problem || m.problem == *filter.problem) out.push_back(std::move(m));
  }
  return out;
}

absl::StatusOr<Measurement> find_record(Connection& db, const Digest& digest) {
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare(absl::StrCat(kSelectMeasurement, "WHERE m.digest = ?")));
  TF_ASSIGN_OR_RETURN(const bool found, find.bind(digest_bytes(digest)).step());
  if (!found) return unknown_record(digest);
  TF_ASSIGN_OR_RETURN(Measurement record, read_measurement(find));
  if (record_digest(record) == digest) return record;
  return damaged_row(find, "measurements", record.id, absl::DataLossError("it does not match its digest"));
}

absl::StatusOr<Measurement> find_row(Connection& db, int64_t row) {
  TF_ASSIGN_OR_RETURN(const std::optional<Measurement> found,
                      db.find(absl::StrCat(kSelectMeasurement, "WHERE m.id = ?"), read_measurement, row));
  if (!found) return unknown_row(row);
  return *found;
}

absl::StatusOr<bool> is_measured(Connection& db, const tensor::KernelKey& problem,
                                 const std::string& schedule) {
  TF_ASSIGN_OR_RETURN(std::optional<int64_t> id, problem_id(db, problem));
  if (!id) return false;
  const Digest digest = sha256(schedule);
  TF_ASSIGN_OR_RETURN(const std::optional<int64_t> found,
                      db.find(absl::StrCat("SELECT 1 FROM measurements m WHERE m.problem_id = ? AND ",
                                           of_schedule_sql("m", "?"), " LIMIT 1"),
                              integer_of, *id, digest_bytes(digest), digest_bytes(digest)));
  return found.has_value();
}

absl::StatusOr<int64_t> count_attempts(Connection& db, int64_t job_id) {
  return db.query_int("SELECT count(*) FROM attempts WHERE job_id = ?", job_id);
}

absl::StatusOr<int64_t> count_trials(Connection& db, int64_t job_id) {
  return db.query_int(
      "SELECT count(*) FROM (SELECT DISTINCT problem_id, schedule_digest FROM measurements "
      "WHERE job_id != 0 AND job_id = ? AND match_unix_ns IS NULL)",
      job_id);
}

absl::StatusOr<std::vector<Job>> jobs(Connection& db, std::optional<int64_t> id) {
  if (id) return db.select(absl::StrCat(kSelectJob, "WHERE id = ?"), read_job, *id);
  return db.select(absl::StrCat(kSelectJob, "ORDER BY id"), read_job);
}

absl::StatusOr<std::vector<JobTask>> job_tasks(Connection& db, int64_t job_id) {
  return db.select(absl::StrCat(kSelectJobTask, "WHERE t.job_id = ? ORDER BY t.task_index"), read_job_task,
                   job_id);
}

absl::StatusOr<std::string> job_network(Connection& db, int64_t job_id) {
  const auto read = [](const Statement& row) -> absl::StatusOr<std::string> { return row.text(0); };
  TF_ASSIGN_OR_RETURN(const std::optional<std::string> found,
                      db.find("SELECT network FROM job_networks WHERE job_id = ?", read, job_id));
  return found.value_or("");
}

absl::StatusOr<std::vector<NetworkVerdict>> verdicts(Connection& db) {
  const auto read = [](const Statement& row) -> absl::StatusOr<NetworkVerdict> {
    const absl::StatusOr<JsonLine> line = parse_json_line(row.text(1));
    const auto* verdict = line.ok() ? std::get_if<NetworkVerdict>(&*line) : nullptr;
    if (verdict) return *verdict;
    return damaged_row(row, "network_verdicts", row.integer(0),
                       line.ok() ? absl::DataLossError("it is not a verdict") : line.status());
  };
  return db.select("SELECT rowid, line FROM network_verdicts ORDER BY decided_unix_ns DESC, key", read);
}

}  // namespace tf::database::rows
