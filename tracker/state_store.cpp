#include "tracker/state_store.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

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

absl::Status load_devices(database::Connection& db, StoredState& state) {
  TF_ASSIGN_OR_RETURN(
      auto devices,
      db.prepare("SELECT hello, admission, health, health_reason, quarantines, id, away_unix_ms, "
                 "health_unix_ms FROM device ORDER BY id"));
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool row, devices.step());
    if (!row) break;
    absl::StatusOr<DeviceInfo> info = device_from_bytes(devices.blob(0));
    if (!info.ok()) {
      // Of an earlier tracker, which let through what this one does not. Its agent will say who it is.
      spdlog::error(absl::StrCat("device ", printable(devices.text(5)), " in ", db.path(),
                                 " is not listed until its agent connects: ", info.status().message()));
      continue;
    }
    state.devices.push_back({.info = std::make_shared<const DeviceInfo>(*std::move(info)),
                             .admission = enum_of(devices.integer(1), Admission::kDraining),
                             .health = {.health = enum_of(devices.integer(2), Health::kProbation),
                                        .reason = devices.text(3),
                                        .quarantines = static_cast<uint32_t>(devices.integer(4))}});
    if (!devices.is_null(6)) state.devices.back().away_since = absl::FromUnixMillis(devices.integer(6));
    if (!devices.is_null(7)) state.devices.back().health_since = absl::FromUnixMillis(devices.integer(7));
  }
  TF_ASSIGN_OR_RETURN(auto slots, db.prepare("SELECT device_id, slot, epoch FROM slot"));
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool row, slots.step());
    if (!row) break;
    state.epochs[{slots.text(0), static_cast<uint32_t>(slots.integer(1))}] =
        static_cast<uint64_t>(slots.integer(2));
  }
  TF_ASSIGN_OR_RETURN(auto golden,
                      db.prepare("SELECT device_id, slot, kernel, fingerprint, time_ns FROM golden"));
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool row, golden.step());
    if (!row) return absl::OkStatus();
    state.golden[{golden.text(0), static_cast<uint32_t>(golden.integer(1))}] = {
        .kernel = golden.text(2), .fingerprint = golden.text(3), .time_ns = golden.real(4)};
  }
}

absl::Status load_leases(database::Connection& db, StoredState& state) {
  TF_ASSIGN_OR_RETURN(
      auto leases,
      db.prepare(
          "SELECT id, device_id, slot, epoch, holder, holder_run, user, priority, term_ms, run_number, "
          "purpose FROM lease"));
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool row, leases.step());
    if (!row) return absl::OkStatus();
    state.leases.push_back({.id = {leases.text(0)},
                            .slot = {leases.text(1), static_cast<uint32_t>(leases.integer(2))},
                            .epoch = static_cast<uint64_t>(leases.integer(3)),
                            .holder = leases.text(4),
                            .holder_run = leases.text(5),
                            .run_number = static_cast<uint64_t>(leases.integer(9)),
                            .user = leases.text(6),
                            .purpose = leases.text(10),
                            .priority = static_cast<int>(leases.integer(7)),
                            .term = absl::Milliseconds(leases.integer(8)),
                            .granted_at = {},
                            .expires_at = {}});
  }
}

absl::Status load_reservations(database::Connection& db, StoredState& state) {
  TF_ASSIGN_OR_RETURN(
      auto rows,
      db.prepare("SELECT id, user, device_key, selector, from_unix_ms, until_unix_ms FROM reservation"));
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool row, rows.step());
    if (!row) return absl::OkStatus();
    state.reservations.push_back({.id = static_cast<uint64_t>(rows.integer(0)),
                                  .user = rows.text(1),
                                  .device_key = rows.text(2),
                                  .selector = rows.text(3),
                                  .from = absl::FromUnixMillis(rows.integer(4)),
                                  .until = absl::FromUnixMillis(rows.integer(5))});
  }
}

absl::Status forget(database::Connection& db, const std::string& device_id) {
  TF_ASSIGN_OR_RETURN(auto device, db.prepare("DELETE FROM device WHERE id = ?"));
  TF_RETURN_IF_ERROR(device.bind_text(device_id).run());
  TF_ASSIGN_OR_RETURN(auto golden, db.prepare("DELETE FROM golden WHERE device_id = ?"));
  return golden.bind_text(device_id).run();
}

absl::Status write(database::Connection& db, const StoredDevice& device) {
  TF_ASSIGN_OR_RETURN(auto save, db.prepare("INSERT OR REPLACE INTO device (id, hello, admission, health, "
                                            "health_reason, quarantines, away_unix_ms, health_unix_ms) "
                                            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  save.bind_text(device.info->id).bind_blob(device.info->hello);
  save.bind(static_cast<int64_t>(device.admission)).bind(static_cast<int64_t>(device.health.health));
  save.bind_text(device.health.reason).bind(static_cast<int64_t>(device.health.quarantines));
  for (const std::optional<absl::Time>& since : {device.away_since, device.health_since}) {
    if (since) {
      save.bind(absl::ToUnixMillis(*since));
    } else {
      save.bind_null();
    }
  }
  return save.run();
}

absl::Status write(database::Connection& db, const SlotKey& slot,
                   const std::optional<GoldenBaseline>& baseline) {
  const auto number = static_cast<int64_t>(slot.slot);
  if (!baseline) {
    TF_ASSIGN_OR_RETURN(auto remove, db.prepare("DELETE FROM golden WHERE device_id = ? AND slot = ?"));
    return remove.bind_text(slot.device_id).bind(number).run();
  }
  TF_ASSIGN_OR_RETURN(auto save,
                      db.prepare("INSERT OR REPLACE INTO golden (device_id, slot, kernel, fingerprint, "
                                 "time_ns) VALUES (?, ?, ?, ?, ?)"));
  save.bind_text(slot.device_id).bind(number).bind_text(baseline->kernel);
  return save.bind_text(baseline->fingerprint).bind(baseline->time_ns).run();
}

absl::Status end(database::Connection& db, const LeaseId& id) {
  TF_ASSIGN_OR_RETURN(auto remove, db.prepare("DELETE FROM lease WHERE id = ?"));
  return remove.bind_text(id.text).run();
}

absl::Status write(database::Connection& db, const Lease& lease) {
  TF_ASSIGN_OR_RETURN(auto slot,
                      db.prepare("INSERT INTO slot (device_id, slot, epoch) VALUES (?, ?, ?) "
                                 "ON CONFLICT (device_id, slot) DO UPDATE SET epoch = excluded.epoch"));
  slot.bind_text(lease.slot.device_id).bind(static_cast<int64_t>(lease.slot.slot));
  TF_RETURN_IF_ERROR(slot.bind(static_cast<int64_t>(lease.epoch)).run());
  // REPLACE: the end of the slot's last lease may not have reached the disk.
  TF_ASSIGN_OR_RETURN(auto save,
                      db.prepare("INSERT OR REPLACE INTO lease (id, device_id, slot, epoch, holder, "
                                 "holder_run, run_number, term_ms, user, priority, purpose) "
                                 "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  save.bind_text(lease.id.text).bind_text(lease.slot.device_id).bind(static_cast<int64_t>(lease.slot.slot));
  save.bind(static_cast<int64_t>(lease.epoch)).bind_text(lease.holder).bind_text(lease.holder_run);
  save.bind(static_cast<int64_t>(lease.run_number)).bind(absl::ToInt64Milliseconds(lease.term));
  save.bind_text(lease.user).bind(static_cast<int64_t>(lease.priority));
  return save.bind_text(lease.purpose).run();
}

absl::Status write(database::Connection& db, uint64_t id,
                   const std::optional<StoredReservation>& reservation) {
  if (!reservation) {
    TF_ASSIGN_OR_RETURN(auto remove, db.prepare("DELETE FROM reservation WHERE id = ?"));
    return remove.bind(static_cast<int64_t>(id)).run();
  }
  TF_ASSIGN_OR_RETURN(auto save,
                      db.prepare("INSERT OR REPLACE INTO reservation (id, user, device_key, selector, "
                                 "from_unix_ms, until_unix_ms) VALUES (?, ?, ?, ?, ?, ?)"));
  save.bind(static_cast<int64_t>(id)).bind_text(reservation->user).bind_text(reservation->device_key);
  save.bind_text(reservation->selector).bind(absl::ToUnixMillis(reservation->from));
  return save.bind(absl::ToUnixMillis(reservation->until)).run();
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
  TF_RETURN_IF_ERROR(load_leases(*db_, state));
  TF_RETURN_IF_ERROR(load_reservations(*db_, state));
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
  for (const LeaseId& id : changes.ended) TF_RETURN_IF_ERROR(end(*db_, id));
  for (const Lease& lease : changes.begun) TF_RETURN_IF_ERROR(write(*db_, lease));
  for (const auto& [id, reservation] : changes.reservations) TF_RETURN_IF_ERROR(write(*db_, id, reservation));
  if (of_leases) TF_RETURN_IF_ERROR(failpoint(grants ? "tracker.lease.committing" : "tracker.lease.ending"));
  TF_RETURN_IF_ERROR(transaction.commit());
  if (of_leases) killpoint(grants ? "tracker.lease.committed" : "tracker.lease.ended");
  return absl::OkStatus();
}

}  // namespace tf::tracker
