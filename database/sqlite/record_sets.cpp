#include "database/sqlite/record_sets.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_rows.h"
#include "database/sqlite/sqlite_store.h"
#include "database/sqlite/transaction.h"
#include "database/sqlite/writable_file.h"

namespace tf::database {
namespace {

using rows::digest_bytes;

struct KnownVersion {
  int64_t version = 0;
  std::string manifest;  // its bytes
};

std::string bytes_of(const Digest& digest) {
  return std::string(digest_bytes(digest).bytes);
}

absl::Status refuse(const std::string& truth, const std::string& remedy) {
  return with_remedy(absl::StatusCode::kFailedPrecondition, truth, remedy, Between::kSemicolon);
}

// A publisher's server can keep or bring back old versions, and two people with one key can make different ones.
absl::Status check_follows(Connection& db, const RecordSet& set) {
  const auto read = [](const Statement& row) -> absl::StatusOr<KnownVersion> {
    return KnownVersion{row.integer(0), row.blob(1)};
  };
  TF_ASSIGN_OR_RETURN(
      const std::optional<KnownVersion> latest,
      db.find("SELECT version, manifest FROM record_sets WHERE name = ? AND signer = ? ORDER BY "
              "version DESC LIMIT 1",
              read, set.name, digest_bytes(set.signer)));
  if (!latest) return absl::OkStatus();
  const std::string name = printable(set.name);
  if (set.version < latest->version)
    return refuse(absl::StrCat("set ", name, " is offered at version ", set.version, ", but ", db.path(),
                               " has its version ", latest->version, " already"),
                  "ask its publisher which one is right");
  const bool is_same = set.version == latest->version && bytes_of(set.manifest) == latest->manifest;
  const bool follows =
      set.version > latest->version + 1 ||
      (set.version == latest->version + 1 && set.previous && bytes_of(*set.previous) == latest->manifest);
  if (is_same || follows) return absl::OkStatus();
  return refuse(absl::StrCat("version ", set.version, " of set ", name, " does not continue the version ",
                             latest->version, " that ", db.path(), " has: it was published twice"),
                "ask its publisher which one is right");
}

absl::StatusOr<int64_t> need_set(Connection& db, const RecordSet& set) {
  TF_RETURN_IF_ERROR(
      db.run("INSERT INTO record_sets (name, signer, version, manifest, device_class, made_by, source, "
             "created_unix_ns, pulled_unix_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
             set.name, digest_bytes(set.signer), set.version, digest_bytes(set.manifest), set.device_class,
             set.made_by, set.source, set.created_unix_ns, set.pulled_unix_ns));
  return db.query_int("SELECT id FROM record_sets WHERE name = ? AND signer = ? AND version = ?", set.name,
                      digest_bytes(set.signer), set.version);
}

// The least time of its kernel, if there is one of its device class and of numerics that it may use.
absl::StatusOr<std::optional<double>> time_before(Connection& db, const Measurement& m) {
  TF_ASSIGN_OR_RETURN(const std::vector<Measurement> found,
                      rows::top(db,
                                {.problem = m.problem,
                                 .device_class = m.device.device_class,
                                 .allowed_numerics = m.numerics,
                                 .semantics_version = m.semantics_version},
                                1));
  if (found.empty() || !(found[0].problem == m.problem)) return std::nullopt;
  return found[0].median_ns();
}

absl::StatusOr<MergeCounts> merge(Connection& db, const RecordSet& set, const JsonRecords& records) {
  TF_RETURN_IF_ERROR(check_follows(db, set));
  TF_ASSIGN_OR_RETURN(const int64_t id, need_set(db, set));
  MergeCounts counts;
  for (const Workload& workload : records.workloads) TF_RETURN_IF_ERROR(rows::add_workload(db, workload));
  std::vector<std::optional<double>> before;  // what the set has itself does not count
  for (const Measurement& m : records.measurements) {
    TF_ASSIGN_OR_RETURN(before.emplace_back(), time_before(db, m));
  }
  for (size_t i = 0; i < before.size(); ++i) {
    const Measurement& m = records.measurements[i];
    TF_ASSIGN_OR_RETURN(const InsertResult inserted, rows::insert(db, m, Origin::kImport));
    TF_RETURN_IF_ERROR(
        db.run("INSERT INTO set_records (measurement_id, set_id, brought) VALUES (?, ?, ?) ON CONFLICT "
               "DO NOTHING",
               inserted.id, id, !inserted.duplicate));
    if (inserted.duplicate) {
      ++counts.equal;
    } else if (!before[i]) {
      ++counts.added;
    } else {
      ++(m.median_ns() < before[i] ? counts.better : counts.slower);
    }
  }
  TF_ASSIGN_OR_RETURN(const int64_t changes, db.query_int("SELECT total_changes()"));
  for (const NetworkVerdict& verdict : records.verdicts)
    TF_RETURN_IF_ERROR(rows::save_verdict(db, verdict, Origin::kImport));
  TF_ASSIGN_OR_RETURN(counts.verdicts, db.query_int("SELECT total_changes()"));
  counts.verdicts -= changes;
  return counts;
}

}  // namespace

absl::StatusOr<MergeCounts> merge_record_set(const std::string& path, const RecordSet& set,
                                             const JsonRecords& records, const std::string& locked_remedy) {
  TF_ASSIGN_OR_RETURN(const WritableFile file, open_writable_file(path, locked_remedy));
  TF_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(*file.connection));
  TF_ASSIGN_OR_RETURN(const MergeCounts counts, merge(*file.connection, set, records));
  TF_RETURN_IF_ERROR(transaction.commit());
  return counts;
}

absl::StatusOr<std::map<Digest, std::vector<SetEntry>>> sets_of_records(const std::string& path,
                                                                        const std::vector<Digest>& records) {
  TF_RETURN_IF_ERROR(open_sqlite_records(path).status());
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> db, Connection::open(path, Access::kReadOnly));
  const auto read = [](const Statement& row) -> absl::StatusOr<SetEntry> {
    SetEntry entry{.name = row.text(0), .version = row.integer(2), .brought = row.integer(3) != 0};
    const std::string signer = row.blob(1);
    if (signer.size() == entry.signer.bytes.size())
      std::copy(signer.begin(), signer.end(), entry.signer.bytes.begin());
    return entry;
  };
  std::map<Digest, std::vector<SetEntry>> of_records;
  for (const Digest& record : records) {
    TF_ASSIGN_OR_RETURN(std::vector<SetEntry> entries,
                        db->select("SELECT s.name, s.signer, min(s.version), max(r.brought) FROM "
                                   "measurements m JOIN set_records r ON "
                                   "r.measurement_id = m.id JOIN record_sets s ON s.id = r.set_id WHERE "
                                   "m.digest = ? GROUP BY s.name, "
                                   "s.signer ORDER BY s.name, s.signer",
                                   read, digest_bytes(record)));
    if (!entries.empty()) of_records[record] = std::move(entries);
  }
  return of_records;
}

}  // namespace tf::database
