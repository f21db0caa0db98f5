#include "tracker/state_store.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/testing/failpoint.h"
#include "base/text/printable.h"
#include "database/sqlite/file_lock.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/transaction.h"
#include "tracker/leases/device_wire.h"

namespace tf::tracker {
namespace {

// Each brings a file of the version before it to the next one; the first makes an empty file one of
// version 1.
constexpr const char* kMigrations[] = {
    // An epoch outlives its leases and even its device: it must never be granted twice.
    R"sql(
CREATE TABLE device (id TEXT PRIMARY KEY, draining INTEGER NOT NULL, hello BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE slot (device_id TEXT NOT NULL, slot INTEGER NOT NULL, epoch INTEGER NOT NULL,
                   PRIMARY KEY (device_id, slot)) WITHOUT ROWID;
CREATE TABLE lease (id TEXT PRIMARY KEY, device_id TEXT NOT NULL, slot INTEGER NOT NULL, epoch INTEGER NOT NULL,
                    holder TEXT NOT NULL, holder_run TEXT NOT NULL, term_ms INTEGER NOT NULL,
                    UNIQUE (device_id, slot)) WITHOUT ROWID;
)sql",
    // What was called draining is a cordon: the present lease could be renewed.
    R"sql(
ALTER TABLE device RENAME COLUMN draining TO admission;
ALTER TABLE device ADD COLUMN health INTEGER NOT NULL DEFAULT 0;
ALTER TABLE device ADD COLUMN health_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE device ADD COLUMN quarantines INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lease ADD COLUMN user TEXT NOT NULL DEFAULT '';
ALTER TABLE lease ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
UPDATE lease SET user = substr(holder, 1, instr(holder || ':', ':') - 1);
CREATE TABLE golden (device_id TEXT NOT NULL, slot INTEGER NOT NULL, kernel TEXT NOT NULL,
                     fingerprint TEXT NOT NULL, time_ns REAL NOT NULL,
                     PRIMARY KEY (device_id, slot)) WITHOUT ROWID;
CREATE TABLE reservation (id INTEGER PRIMARY KEY, user TEXT NOT NULL, device_key TEXT NOT NULL,
                          selector TEXT NOT NULL, from_unix_ms INTEGER NOT NULL, until_unix_ms INTEGER NOT NULL);
)sql",
    // Which run of its holder is the newer one.
    R"sql(
ALTER TABLE lease ADD COLUMN run_number INTEGER NOT NULL DEFAULT 0;
)sql",
    // When the device went away; none: it was here.
    R"sql(
ALTER TABLE device ADD COLUMN away_unix_ms INTEGER;
)sql",
    // What leases are for, and since when devices are quarantined or on probation; none: not known.
    R"sql(
ALTER TABLE lease ADD COLUMN purpose TEXT NOT NULL DEFAULT '';
ALTER TABLE device ADD COLUMN health_unix_ms INTEGER;
)sql",
};
constexpr int64_t kSchemaVersion = std::size(kMigrations);

// Stands in the file's header (PRAGMA application_id), so that another program's file is not taken for ours:
// "TFTK". Trackers of before wrote none.
constexpr int64_t kApplicationId = 0x5446544b;

// An epoch that is lost with a damaged page could be granted twice.
absl::Status check_sound(database::Connection& db) {
  TF_ASSIGN_OR_RETURN(std::string verdict, db.query_text("PRAGMA integrity_check(1)"));
  if (verdict == "ok") return absl::OkStatus();
  std::replace(verdict.begin(), verdict.end(), '\n', ' ');
  return absl::DataLossError(absl::StrCat(
      "tracker state ", db.path(), " is damaged (", printable(verdict),
      "): restore a copy, or remove it (agents report their epochs again, ", "and current leases end)"));
}

// Whether it is a tracker's state, or nothing yet. It is left as it is.
absl::Status check_ours(database::Connection& db, int64_t application, int64_t version) {
  TF_ASSIGN_OR_RETURN(const int64_t all, db.query_int("SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && version == 0 && all == 0) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const int64_t own,
                      db.query_int("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                                   "name IN ('device', 'slot', 'lease')"));
  const bool is_of_before = application == 0 && own == 3;
  if (version > 0 && (application == kApplicationId || is_of_before)) return absl::OkStatus();
  return with_remedy(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("cannot use ", db.path(),
                                  " as the tracker state: it is an SQLite database of another program"),
                     "give another --state", Between::kSemicolon);
}

absl::Status prepare_schema(database::Connection& db) {
  TF_ASSIGN_OR_RETURN(const int64_t application, db.query_int("PRAGMA application_id"));
  TF_ASSIGN_OR_RETURN(const int64_t version, db.query_int("PRAGMA user_version"));
  TF_RETURN_IF_ERROR(check_ours(db, application, version));
  if (version > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat("tracker state ", db.path(), " has version ", version,
                                                      ", but this tracker supports up to ", kSchemaVersion,
                                                      ": run the newer tracker"));
  }
  // Leases write the same pages again and again: the longer the log before they go to their places, the fewer
  // writes, and whoever waits for a lease then waits for those, too.
  TF_RETURN_IF_ERROR(
      db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 8000;"));
  if (version > 0) TF_RETURN_IF_ERROR(check_sound(db));
  const std::string name_it = absl::StrCat("PRAGMA application_id = ", kApplicationId);
  for (int64_t next = version; next < kSchemaVersion; ++next) {
    TF_ASSIGN_OR_RETURN(database::Transaction transaction, database::Transaction::begin(db));
    TF_RETURN_IF_ERROR(db.execute(kMigrations[next]));
    TF_RETURN_IF_ERROR(db.execute(name_it));
    TF_RETURN_IF_ERROR(db.execute(absl::StrCat("PRAGMA user_version = ", next + 1)));
    TF_RETURN_IF_ERROR(transaction.commit());
  }
  // Of a tracker of before: where the disk is full, the next start does it.
  if (application == 0 && version == kSchemaVersion) db.execute(name_it).IgnoreError();
  return absl::OkStatus();
}

// One value of an enum that an operator or a later version may have put out of range.
template <typename Enum>
Enum enum_of(int64_t value, Enum last) {
  return static_cast<Enum>(std::clamp<int64_t>(value, 0, static_cast<int64_t>(last)));
}

std::optional<absl::Time> time_at(const database::Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(absl::FromUnixMillis(row.integer(column)));
}

std::optional<int64_t> unix_ms(const std::optional<absl::Time>& time) {
  return time ? std::optional(absl::ToUnixMillis(*time)) : std::nullopt;
}

SlotKey slot_at(const database::Statement& row, int column) {
  return {row.text(column), static_cast<uint32_t>(row.integer(column + 1))};
}

// Without those that this tracker does not understand.
absl::StatusOr<std::optional<StoredDevice>> device_of(const database::Statement& row) {
  absl::StatusOr<DeviceInfo> info = device_from_bytes(row.blob(0));
  if (!info.ok()) {
    // Of an earlier tracker, which let through what this one does not. Its agent will say who it is.
    spdlog::error(absl::StrCat("device ", printable(row.text(5)), " in ", row.path(),
                               " is not listed until its agent connects: ", info.status().message()));
    return std::nullopt;
  }
  return StoredDevice{.info = std::make_shared<const DeviceInfo>(*std::move(info)),
                      .admission = enum_of(row.integer(1), Admission::kDraining),
                      .health = {.health = enum_of(row.integer(2), Health::kProbation),
                                 .reason = row.text(3),
                                 .quarantines = static_cast<uint32_t>(row.integer(4))},
                      .away_since = time_at(row, 6),
                      .health_since = time_at(row, 7)};
}

absl::StatusOr<std::pair<SlotKey, uint64_t>> epoch_of(const database::Statement& row) {
  return std::pair{slot_at(row, 0), static_cast<uint64_t>(row.integer(2))};
}

absl::StatusOr<std::pair<SlotKey, GoldenBaseline>> golden_of(const database::Statement& row) {
  return std::pair{slot_at(row, 0),
                   GoldenBaseline{.kernel = row.text(2), .fingerprint = row.text(3), .time_ns = row.real(4)}};
}

absl::StatusOr<Lease> lease_of(const database::Statement& row) {
  return Lease{.id = {row.text(0)},
               .slot = slot_at(row, 1),
               .epoch = static_cast<uint64_t>(row.integer(3)),
               .holder = row.text(4),
               .holder_run = row.text(5),
               .run_number = static_cast<uint64_t>(row.integer(9)),
               .user = row.text(6),
               .purpose = row.text(10),
               .priority = static_cast<int>(row.integer(7)),
               .term = absl::Milliseconds(row.integer(8)),
               .granted_at = {},
               .expires_at = {}};
}

absl::StatusOr<StoredReservation> reservation_of(const database::Statement& row) {
  return StoredReservation{.id = static_cast<uint64_t>(row.integer(0)),
                           .user = row.text(1),
                           .device_key = row.text(2),
                           .selector = row.text(3),
                           .from = absl::FromUnixMillis(row.integer(4)),
                           .until = absl::FromUnixMillis(row.integer(5))};
}

absl::Status load_devices(database::Connection& db, StoredState& state) {
  TF_ASSIGN_OR_RETURN(auto devices,
                      db.select("SELECT hello, admission, health, health_reason, quarantines, id, "
                                "away_unix_ms, health_unix_ms FROM device ORDER BY id",
                                device_of));
  for (std::optional<StoredDevice>& device : devices)
    if (device) state.devices.push_back(*std::move(device));
  TF_ASSIGN_OR_RETURN(auto epochs, db.select("SELECT device_id, slot, epoch FROM slot", epoch_of));
  state.epochs = {epochs.begin(), epochs.end()};
  TF_ASSIGN_OR_RETURN(
      auto golden, db.select("SELECT device_id, slot, kernel, fingerprint, time_ns FROM golden", golden_of));
  state.golden = {golden.begin(), golden.end()};
  return absl::OkStatus();
}

absl::Status forget(database::Connection& db, const std::string& device_id) {
  TF_RETURN_IF_ERROR(db.run("DELETE FROM device WHERE id = ?", device_id));
  return db.run("DELETE FROM golden WHERE device_id = ?", device_id);
}

absl::Status write(database::Connection& db, const StoredDevice& device) {
  return db.run(
      "INSERT OR REPLACE INTO device (id, hello, admission, health, health_reason, quarantines, "
      "away_unix_ms, health_unix_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      device.info->id, database::Blob{device.info->hello}, device.admission, device.health.health,
      device.health.reason, device.health.quarantines, unix_ms(device.away_since),
      unix_ms(device.health_since));
}

absl::Status write(database::Connection& db, const SlotKey& slot,
                   const std::optional<GoldenBaseline>& baseline) {
  if (!baseline)
    return db.run("DELETE FROM golden WHERE device_id = ? AND slot = ?", slot.device_id, slot.slot);
  return db.run(
      "INSERT OR REPLACE INTO golden (device_id, slot, kernel, fingerprint, time_ns) VALUES (?, ?, ?, ?, ?)",
      slot.device_id, slot.slot, baseline->kernel, baseline->fingerprint, baseline->time_ns);
}

absl::Status write(database::Connection& db, const Lease& lease) {
  TF_RETURN_IF_ERROR(
      db.run("INSERT INTO slot (device_id, slot, epoch) VALUES (?, ?, ?) "
             "ON CONFLICT (device_id, slot) DO UPDATE SET epoch = excluded.epoch",
             lease.slot.device_id, lease.slot.slot, lease.epoch));
  // REPLACE: the end of the slot's last lease may not have reached the disk.
  return db.run(
      "INSERT OR REPLACE INTO lease (id, device_id, slot, epoch, holder, holder_run, run_number, term_ms, "
      "user, priority, purpose) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      lease.id.text, lease.slot.device_id, lease.slot.slot, lease.epoch, lease.holder, lease.holder_run,
      lease.run_number, absl::ToInt64Milliseconds(lease.term), lease.user, lease.priority, lease.purpose);
}

absl::Status write(database::Connection& db, uint64_t id,
                   const std::optional<StoredReservation>& reservation) {
  if (!reservation) return db.run("DELETE FROM reservation WHERE id = ?", id);
  return db.run(
      "INSERT OR REPLACE INTO reservation (id, user, device_key, selector, from_unix_ms, until_unix_ms) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      id, reservation->user, reservation->device_key, reservation->selector,
      absl::ToUnixMillis(reservation->from), absl::ToUnixMillis(reservation->until));
}

}  // namespace

StateStore::StateStore(std::unique_ptr<database::FileLock> lock, std::unique_ptr<database::Connection> db)
    : lock_(std::move(lock)), db_(std::move(db)) {}

StateStore::~StateStore() = default;

absl::StatusOr<std::unique_ptr<StateStore>> StateStore::open(const std::string& path) {
  if (path.empty())
    return absl::InvalidArgumentError("--state is empty: give the path of the tracker's state file");
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
  if (!error) std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::PermissionDeniedError(absl::StrCat("cannot make the folder ", folder.string(), ": ",
                                                    error.message(), "; give another --state"));
  }
  TF_ASSIGN_OR_RETURN(auto lock, database::FileLock::acquire(
                                     path, "stop that tracker, or give this one a different --state"));
  TF_ASSIGN_OR_RETURN(auto db,
                      database::Connection::open(path, database::Access::kWrite, "the tracker state"));
  TF_RETURN_IF_ERROR(prepare_schema(*db));
  TF_RETURN_IF_ERROR(failpoint("tracker.state.opened"));
  return std::unique_ptr<StateStore>(new StateStore(std::move(lock), std::move(db)));
}

absl::StatusOr<StoredState> StateStore::load() {
  const std::scoped_lock lock(mutex_);
  StoredState state;
  TF_RETURN_IF_ERROR(load_devices(*db_, state));
  TF_RETURN_IF_ERROR(failpoint("tracker.state.half_loaded"));
  TF_ASSIGN_OR_RETURN(state.leases,
                      db_->select("SELECT id, device_id, slot, epoch, holder, holder_run, user, priority, "
                                  "term_ms, run_number, purpose FROM lease",
                                  lease_of));
  TF_ASSIGN_OR_RETURN(
      state.reservations,
      db_->select("SELECT id, user, device_key, selector, from_unix_ms, until_unix_ms FROM reservation",
                  reservation_of));
  return state;
}

absl::Status StateStore::save(const Changes& changes) {
  const std::scoped_lock lock(mutex_);
  if (!changes.devices.empty()) TF_RETURN_IF_ERROR(failpoint("tracker.device.saving"));
  const bool grants = !changes.begun.empty();
  const bool of_leases = grants || !changes.ended.empty();
  TF_ASSIGN_OR_RETURN(database::Transaction transaction, database::Transaction::begin(*db_));
  for (const std::string& id : changes.forgotten) TF_RETURN_IF_ERROR(forget(*db_, id));
  for (const StoredDevice& device : changes.devices) TF_RETURN_IF_ERROR(write(*db_, device));
  for (const auto& [slot, baseline] : changes.golden) TF_RETURN_IF_ERROR(write(*db_, slot, baseline));
  for (const LeaseId& id : changes.ended)
    TF_RETURN_IF_ERROR(db_->run("DELETE FROM lease WHERE id = ?", id.text));
  for (const Lease& lease : changes.begun) TF_RETURN_IF_ERROR(write(*db_, lease));
  for (const auto& [id, reservation] : changes.reservations) TF_RETURN_IF_ERROR(write(*db_, id, reservation));
  if (of_leases) TF_RETURN_IF_ERROR(failpoint(grants ? "tracker.lease.committing" : "tracker.lease.ending"));
  TF_RETURN_IF_ERROR(transaction.commit());
  if (of_leases) killpoint(grants ? "tracker.lease.committed" : "tracker.lease.ended");
  return absl::OkStatus();
}

}  // namespace tf::tracker
