#include "tracker/state_store.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "database/file_lock.h"
#include "database/sqlite_connection.h"

namespace tf::tracker {
namespace {

constexpr int64_t kSchemaVersion = 1;

// An epoch outlives its leases and even its device: it must never be granted twice.
constexpr const char* kSchema = R"sql(
BEGIN IMMEDIATE;
CREATE TABLE device (id TEXT PRIMARY KEY, draining INTEGER NOT NULL, hello BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE slot (device_id TEXT NOT NULL, slot INTEGER NOT NULL, epoch INTEGER NOT NULL,
                   PRIMARY KEY (device_id, slot)) WITHOUT ROWID;
CREATE TABLE lease (id TEXT PRIMARY KEY, device_id TEXT NOT NULL, slot INTEGER NOT NULL, epoch INTEGER NOT NULL,
                    holder TEXT NOT NULL, holder_run TEXT NOT NULL, term_ms INTEGER NOT NULL,
                    UNIQUE (device_id, slot)) WITHOUT ROWID;
PRAGMA user_version = 1;
COMMIT;
)sql";

absl::Status prepare_schema(database::Connection& db) {
  TF_RETURN_IF_ERROR(db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"));
  TF_ASSIGN_OR_RETURN(const int64_t version, db.query_int("PRAGMA user_version"));
  if (version == kSchemaVersion) return absl::OkStatus();
  if (version > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat("tracker state ", db.path(), " has version ", version,
                                                      ", this tracker knows up to ", kSchemaVersion,
                                                      ": run the newer tracker"));
  }
  TF_ASSIGN_OR_RETURN(const int64_t tables, db.query_int("SELECT count(*) FROM sqlite_master"));
  if (tables != 0) {
    return absl::DataLossError(
        absl::StrCat(db.path(), " is a database, but not a tracker's state: give another --state"));
  }
  return db.execute(kSchema);
}

}  // namespace

StateStore::StateStore(std::unique_ptr<database::FileLock> lock, std::unique_ptr<database::Connection> db)
    : lock_(std::move(lock)), db_(std::move(db)) {}

StateStore::~StateStore() = default;

absl::StatusOr<std::unique_ptr<StateStore>> StateStore::open(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::PermissionDeniedError(absl::StrCat("cannot make the folder ", folder.string(), ": ",
                                                    error.message(), "; give another --state"));
  }
  TF_ASSIGN_OR_RETURN(
      auto lock, database::FileLock::acquire(path, "stop that tracker, or give this one another --state"));
  TF_ASSIGN_OR_RETURN(auto db, database::Connection::open(path, database::Access::kWrite));
  TF_RETURN_IF_ERROR(prepare_schema(*db));
  return std::unique_ptr<StateStore>(new StateStore(std::move(lock), std::move(db)));
}

absl::StatusOr<StoredState> StateStore::load() {
  StoredState state;
  TF_ASSIGN_OR_RETURN(auto devices, db_->prepare("SELECT hello, draining FROM device ORDER BY id"));
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool row, devices.step());
    if (!row) break;
    TF_ASSIGN_OR_RETURN(DeviceInfo info, device_from_bytes(devices.blob(0)));
    state.devices.push_back({std::move(info), devices.integer(1) != 0});
  }
  TF_ASSIGN_OR_RETURN(auto slots, db_->prepare("SELECT device_id, slot, epoch FROM slot"));
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool row, slots.step());
    if (!row) break;
    state.epochs[{slots.text(0), static_cast<uint32_t>(slots.integer(1))}] =
        static_cast<uint64_t>(slots.integer(2));
  }
  TF_ASSIGN_OR_RETURN(
      auto leases, db_->prepare("SELECT id, device_id, slot, epoch, holder, holder_run, term_ms FROM lease"));
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool row, leases.step());
    if (!row) break;
    state.leases.push_back({.id = {leases.text(0)},
                            .slot = {leases.text(1), static_cast<uint32_t>(leases.integer(2))},
                            .epoch = static_cast<uint64_t>(leases.integer(3)),
                            .holder = leases.text(4),
                            .holder_run = leases.text(5),
                            .term = absl::Milliseconds(leases.integer(6)),
                            .expires_at = {}});
  }
  return state;
}

absl::Status StateStore::save_device(const DeviceInfo& info, bool draining) {
  TF_ASSIGN_OR_RETURN(
      auto save,
      db_->prepare("INSERT INTO device (id, draining, hello) VALUES (?, ?, ?) "
                   "ON CONFLICT (id) DO UPDATE SET draining = excluded.draining, hello = excluded.hello"));
  return save.bind_text(info.id).bind(static_cast<int64_t>(draining)).bind_blob(info.hello).run();
}

absl::Status StateStore::save_lease(const Lease& lease) {
  TF_RETURN_IF_ERROR(db_->execute("BEGIN IMMEDIATE"));
  const absl::Status saved = [&]() -> absl::Status {
    TF_ASSIGN_OR_RETURN(auto slot,
                        db_->prepare("INSERT INTO slot (device_id, slot, epoch) VALUES (?, ?, ?) "
                                     "ON CONFLICT (device_id, slot) DO UPDATE SET epoch = excluded.epoch"));
    slot.bind_text(lease.slot.device_id).bind(static_cast<int64_t>(lease.slot.slot));
    TF_RETURN_IF_ERROR(slot.bind(static_cast<int64_t>(lease.epoch)).run());
    // REPLACE: the end of the slot's last lease may not have reached the disk.
    TF_ASSIGN_OR_RETURN(auto save,
                        db_->prepare("INSERT OR REPLACE INTO lease (id, device_id, slot, epoch, holder, "
                                     "holder_run, term_ms) VALUES (?, ?, ?, ?, ?, ?, ?)"));
    save.bind_text(lease.id.text).bind_text(lease.slot.device_id).bind(static_cast<int64_t>(lease.slot.slot));
    save.bind(static_cast<int64_t>(lease.epoch)).bind_text(lease.holder).bind_text(lease.holder_run);
    TF_RETURN_IF_ERROR(save.bind(absl::ToInt64Milliseconds(lease.term)).run());
    return db_->execute("COMMIT");
  }();
  if (!saved.ok() && db_->in_transaction()) db_->execute("ROLLBACK").IgnoreError();
  return saved;
}

absl::Status StateStore::end_lease(const LeaseId& id) {
  TF_ASSIGN_OR_RETURN(auto remove, db_->prepare("DELETE FROM lease WHERE id = ?"));
  return remove.bind_text(id.text).run();
}

}  // namespace tf::tracker
