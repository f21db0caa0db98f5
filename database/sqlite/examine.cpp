#include "database/sqlite/examine.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_rows.h"
#include "database/sqlite/sqlite_store.h"
#include "database/store_errors.h"

namespace tf::database {
namespace {

constexpr size_t kRowsAtOnce = 256;
constexpr size_t kMostNamed = 5;

absl::Status examine_structure(Connection& db) {
  TF_ASSIGN_OR_RETURN(const std::string verdict, db.query_text("PRAGMA integrity_check(1)"));
  if (verdict != "ok") return damaged_file(db.path(), verdict);
  TF_ASSIGN_OR_RETURN(const std::string table,
                      db.query_text("SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1"));
  if (table.empty()) return absl::OkStatus();
  return damaged_file(db.path(), absl::StrCat("a row of ", table, " refers to a missing row"));
}

absl::Status examine_measurements(Connection& db, absl::Time now, FileContents& contents) {
  for (int64_t last = 0;;) {
    TF_ASSIGN_OR_RETURN(const std::vector<Measurement> page, rows::page(db, {}, last, kRowsAtOnce));
    for (const Measurement& m : page) {
      ++contents.measurements;
      if (!is_in_future(m.finished_unix_ns, now)) continue;
      ++(m.imported_after ? contents.imported_in_future : contents.local_in_future);
      if (contents.rows_in_future.size() < kMostNamed) contents.rows_in_future.push_back(m.id);
      contents.latest_unix_ns = std::max(contents.latest_unix_ns, m.finished_unix_ns);
    }
    if (page.size() < kRowsAtOnce) return absl::OkStatus();
    last = page.back().id;
  }
}

absl::Status examine_jobs(Connection& db, FileContents& contents) {
  TF_ASSIGN_OR_RETURN(const std::vector<Job> jobs, rows::jobs(db, std::nullopt));
  contents.jobs = std::ssize(jobs);
  for (const Job& job : jobs) {
    TF_RETURN_IF_ERROR(rows::job_tasks(db, job.id).status());
    TF_RETURN_IF_ERROR(rows::job_network(db, job.id).status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FileContents> examine_sqlite_file(const std::string& path, absl::Time now) {
  TF_RETURN_IF_ERROR(open_sqlite_records(path).status());
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> db, Connection::open(path, Access::kReadOnly));
  TF_RETURN_IF_ERROR(examine_structure(*db));
  FileContents contents;
  TF_ASSIGN_OR_RETURN(const std::vector<Workload> workloads, rows::workloads(*db));
  TF_ASSIGN_OR_RETURN(const std::vector<tensor::KernelKey> problems, rows::problems(*db));
  contents.workloads = std::ssize(workloads);
  contents.problems = std::ssize(problems);
  TF_RETURN_IF_ERROR(examine_measurements(*db, now, contents));
  TF_RETURN_IF_ERROR(rows::verdicts(*db).status());
  TF_RETURN_IF_ERROR(examine_jobs(*db, contents));
  return contents;
}

}  // namespace tf::database
