#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "database/record_json.h"
#include "database/sqlite/row_values.h"
#include "database/sqlite/sqlite_connection.h"
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
  TF_ASSIGN_OR_RETURN(
      Statement find,
      db.prepare("SELECT p.id, p.reuse_distance_bytes FROM problems p JOIN workloads w ON w.id = "
                 "p.workload_id WHERE w.key = ? AND p.binding = ? AND p.in_layouts = ? AND "
                 "p.out_layouts = ? AND p.target = ? AND p.threads = ?"));
  const std::string in_layouts = tensor::join_layouts(problem.in_layouts),
                    out_layouts = tensor::join_layouts(problem.out_layouts);
  find.bind_blob(digest_bytes(problem.workload)).bind_text(problem.binding).bind_text(in_layouts);
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
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare(top_statement(query)));
  find.bind(problem);
  if (query.device_class) find.bind_text(*query.device_class);
  if (query.semantics_version) find.bind(int64_t{*query.semantics_version});
  const Digest schedule = sha256(query.schedule.value_or(""));
  if (query.schedule) find.bind_blob(digest_bytes(schedule)).bind_blob(digest_bytes(schedule));
  while (out.size() < limit) {
    TF_ASSIGN_OR_RETURN(bool row, find.step());
    if (!row) break;
    TF_ASSIGN_OR_RETURN(Measurement m, read_measurement(find));
    if (numerics_allowed(m.numerics, query.allowed_numerics)) out.push_back(std::move(m));
  }
  return out;
}

// What narrows a scan to those of Filter::which.
std::string which_condition(Filter::Which which) {
  if (which == Filter::Which::kAll) return "";
  // The plus as in top_statement: a program has few rows.
  const std::string stands =
      absl::StrCat("EXISTS (SELECT 1 FROM measurements a WHERE ", same_program_sql("a", "m"),
                   " AND +a.outcome = 1 AND +a.median_ns > 0 AND ", counts_sql("a"), ")");
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
  if (filter.workload) find.bind_blob(digest_bytes(*filter.workload));
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
  absl::StrAppend(&sql, " AND ", counts_sql("m", untuned ? " AND n.untuned = 1" : ""));
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
      Statement find,
      db.prepare(absl::StrCat(kSelectWorkload, "WHERE substr(lower(hex(key)), 1, ?) = ? LIMIT 2")));
  find.bind(static_cast<int64_t>(key_or_prefix.size())).bind_text(key_or_prefix);
  TF_ASSIGN_OR_RETURN(bool found, find.step());
  if (!found) return unknown_workload(key_or_prefix);
  TF_ASSIGN_OR_RETURN(Workload workload, read_workload(find));
  TF_ASSIGN_OR_RETURN(bool second, find.step());
  if (second) return ambiguous_workload(key_or_prefix);
  return workload;
}

absl::StatusOr<std::vector<Workload>> workloads(Connection& db) {
  TF_ASSIGN_OR_RETURN(Statement all, db.prepare(absl::StrCat(kSelectWorkload, "ORDER BY id")));
  std::vector<Workload> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, all.step());
    if (!row) return out;
    TF_ASSIGN_OR_RETURN(out.emplace_back(), read_workload(all));
  }
}

absl::StatusOr<std::vector<tensor::KernelKey>> problems(Connection& db) {
  TF_ASSIGN_OR_RETURN(Statement all,
                      db.prepare(absl::StrCat(kSelectProblem,
                                              "WHERE EXISTS (SELECT 1 FROM measurements m WHERE "
                                              "m.problem_id = p.id) ORDER BY p.id")));
  std::vector<tensor::KernelKey> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, all.step());
    if (!row) return out;
    TF_ASSIGN_OR_RETURN(out.emplace_back(), read_problem(all));
  }
}

absl::StatusOr<std::vector<Measurement>> page(Connection& db, const Filter& filter, int64_t after_id,
                                              size_t limit) {
  TF_ASSIGN_OR_RETURN(Statement find,
                      db.prepare(absl::StrCat(kSelectMeasurement, "WHERE m.id > ?", filter_condition(filter),
                                              " ORDER BY m.id LIMIT ?")));
  find.bind(after_id);
  bind_filter(find, filter);
  find.bind(static_cast<int64_t>(limit));
  std::vector<Measurement> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, find.step());
    if (!row) return out;
    TF_ASSIGN_OR_RETURN(out.emplace_back(), read_measurement(find));
  }
}

absl::StatusOr<std::vector<int64_t>> ids_of_problems(Connection& db, const Filter& filter) {
  std::vector<int64_t> ids;
  std::optional<int64_t> problem;
  if (filter.problem) {
    TF_ASSIGN_OR_RETURN(problem, problem_id(db, *filter.problem));
    if (!problem) return ids;
  }
  TF_ASSIGN_OR_RETURN(
      Statement find,
      db.prepare(problem ? "SELECT id FROM measurements WHERE problem_id = ? ORDER BY id"
                         : "SELECT m.id FROM workloads w JOIN problems p ON p.workload_id = w.id "
                           "JOIN measurements m ON m.problem_id = p.id WHERE w.key = ? "
                           "ORDER BY m.id"));
  problem ? find.bind(*problem) : find.bind_blob(digest_bytes(*filter.workload));
  for (;;) {
    TF_ASSIGN_OR_RETURN(const bool row, find.step());
    if (!row) return ids;
    ids.push_back(find.integer(0));
  }
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
  find.bind_blob(digest_bytes(digest));
  TF_ASSIGN_OR_RETURN(bool found, find.step());
  if (!found) return unknown_record(digest);
  TF_ASSIGN_OR_RETURN(Measurement record, read_measurement(find));
  if (record_digest(record) == digest) return record;
  return damaged_row(find, "measurements", record.id, absl::DataLossError("it does not match its digest"));
}

absl::StatusOr<bool> is_measured(Connection& db, const tensor::KernelKey& problem,
                                 const std::string& schedule) {
  TF_ASSIGN_OR_RETURN(std::optional<int64_t> id, problem_id(db, problem));
  if (!id) return false;
  TF_ASSIGN_OR_RETURN(Statement find,
                      db.prepare(absl::StrCat("SELECT 1 FROM measurements m WHERE m.problem_id = ? AND ",
                                              of_schedule_sql("m", "?"), " LIMIT 1")));
  const Digest digest = sha256(schedule);
  find.bind(*id).bind_blob(digest_bytes(digest)).bind_blob(digest_bytes(digest));
  return find.step();
}

absl::StatusOr<int64_t> count_attempts(Connection& db, int64_t job_id) {
  TF_ASSIGN_OR_RETURN(Statement count, db.prepare("SELECT count(*) FROM attempts WHERE job_id = ?"));
  count.bind(job_id);
  TF_RETURN_IF_ERROR(count.step().status());
  return count.integer(0);
}

absl::StatusOr<int64_t> count_trials(Connection& db, int64_t job_id) {
  TF_ASSIGN_OR_RETURN(
      Statement count,
      db.prepare("SELECT count(*) FROM (SELECT DISTINCT problem_id, schedule_digest "
                 "FROM measurements WHERE job_id != 0 AND job_id = ? AND match_unix_ns IS NULL)"));
  count.bind(job_id);
  TF_RETURN_IF_ERROR(count.step().status());
  return count.integer(0);
}

absl::StatusOr<std::vector<Job>> jobs(Connection& db, std::optional<int64_t> id) {
  TF_ASSIGN_OR_RETURN(Statement find,
                      db.prepare(absl::StrCat(kSelectJob, id ? "WHERE id = ?" : "ORDER BY id")));
  if (id) find.bind(*id);
  std::vector<Job> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, find.step());
    if (!row) return out;
    TF_ASSIGN_OR_RETURN(out.emplace_back(), read_job(find));
  }
}

absl::StatusOr<std::vector<JobTask>> job_tasks(Connection& db, int64_t job_id) {
  TF_ASSIGN_OR_RETURN(Statement find,
                      db.prepare(absl::StrCat(kSelectJobTask, "WHERE t.job_id = ? ORDER BY t.task_index")));
  find.bind(job_id);
  std::vector<JobTask> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(bool row, find.step());
    if (!row) return out;
    TF_ASSIGN_OR_RETURN(out.emplace_back(), read_job_task(find));
  }
}

absl::StatusOr<std::vector<NetworkVerdict>> verdicts(Connection& db) {
  TF_ASSIGN_OR_RETURN(Statement all, db.prepare("SELECT rowid, line FROM network_verdicts "
                                                "ORDER BY decided_unix_ns DESC, key"));
  std::vector<NetworkVerdict> out;
  for (;;) {
    TF_ASSIGN_OR_RETURN(const bool row, all.step());
    if (!row) return out;
    const absl::StatusOr<JsonLine> line = parse_json_line(all.text(1));
    const auto* verdict = line.ok() ? std::get_if<NetworkVerdict>(&*line) : nullptr;
    if (verdict == nullptr)
      return damaged_row(all, "network_verdicts", all.integer(0),
                         line.ok() ? absl::DataLossError("it is not a verdict") : line.status());
    out.push_back(*verdict);
  }
}

}  // namespace tf::database::rows
