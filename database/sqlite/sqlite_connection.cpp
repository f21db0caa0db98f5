#include "database/sqlite/sqlite_connection.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/files/file.h"
#include "base/remedy.h"
#include "base/status.h"
#include "database/sqlite/file_lock.h"
#include "database/store_errors.h"

namespace tf::database {
namespace {

// Whether not even a page of SQLite's fits there.
bool is_disk_full(const std::string& path) {
  constexpr uint64_t kLeastBytes = 64 << 10;  // what SQLite asks for at once, at most
  struct statvfs disk;
  if (::statvfs(folder_of(path).c_str(), &disk) != 0) return false;
  return uint64_t{disk.f_bavail} * disk.f_frsize < kLeastBytes;
}

absl::Status disk_full(const std::string& path) {
  return with_remedy(absl::StatusCode::kResourceExhausted,
                     absl::StrCat("cannot write ", path, ": the disk is full"),
                     "free some space (acknowledged data is safe)", Between::kSemicolon);
}

// What was asked, what is true, what to do.
absl::Status sqlite_status(int code, sqlite3* db, const DatabaseFile& file) {
  const std::string& path = file.path;
  const std::string reason = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  const std::string cannot = absl::StrCat("cannot use ", path, " as ", file.use, ": ");
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return with_remedy(absl::StatusCode::kFailedPrecondition, cannot + "the file is not a database",
                         "give another path (the file was not changed)", Between::kSemicolon);
    case SQLITE_CORRUPT:
      return damaged_file(path, reason, file.use);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return with_remedy(absl::StatusCode::kUnavailable, cannot + "another program has locked it",
                         "close that program and try again", Between::kSemicolon);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return with_remedy(absl::StatusCode::kPermissionDenied,
                         absl::StrCat(cannot, "the file or its folder is not writable (", reason, ")"),
                         "change its owner or give another path", Between::kSemicolon);
    case SQLITE_CANTOPEN:
      return with_remedy(absl::StatusCode::kPermissionDenied, cannot + reason,
                         "check that the folder exists and that you may write to it", Between::kSemicolon);
    case SQLITE_FULL:
      return disk_full(path);
    case SQLITE_IOERR:
      // SQLite says so of a full disk when it makes room for its shared memory, as on opening.
      if (is_disk_full(path)) return disk_full(path);
      return with_remedy(absl::StatusCode::kInternal,
                         absl::StrCat("cannot read or write ", path, ": ", reason), "check the disk",
                         Between::kSemicolon);
    case SQLITE_TOOBIG:
      return with_remedy(absl::StatusCode::kDataLoss,
                         cannot + "it has a value of more than 64 MB, larger than any record",
                         "restore a copy or give another path", Between::kSemicolon);
    case SQLITE_CONSTRAINT:
      return absl::FailedPreconditionError(absl::StrCat("cannot write to ", path, ": ", reason));
    default:
      return absl::InternalError(absl::StrCat("SQLite error ", code, " in ", path, ": ", reason));
  }
}

// Opening a pipe would wait for its other end.
absl::Status check_plain(const DatabaseFile& file) {
  struct stat there;
  if (::stat(file.path.c_str(), &there) != 0 || S_ISREG(there.st_mode)) return absl::OkStatus();
  return with_remedy(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("cannot use ", file.path, " as ", file.use, ": it is a ",
                                  S_ISDIR(there.st_mode) ? "folder" : "pipe or a device"),
                     "give the path of a file", Between::kSemicolon);
}

std::string file_uri(const std::string& path, std::string_view parameters) {
  // The three characters that mean something in the path part of an SQLite URI.
  const std::string escaped = absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}});
  // What follows "file://" up to the next slash is a host, and ":memory:" alone is no file.
  return absl::StrCat(path.starts_with('/') ? "file://" : "file:./", escaped, std::string(parameters));
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_),
      file_(other.file_),
      statement_(other.statement_),
      next_parameter_(other.next_parameter_) {
  other.statement_ = nullptr;
}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Statement::bind_integer(int64_t value) {
  TF_CHECK(sqlite3_bind_int64(statement_, next_parameter_++, value) == SQLITE_OK) << sqlite3_sql(statement_);
}

void Statement::bind_real(double value) {
  TF_CHECK(sqlite3_bind_double(statement_, next_parameter_++, value) == SQLITE_OK) << sqlite3_sql(statement_);
}

void Statement::bind_text(std::string_view value) {
  // A null pointer would bind NULL; an empty view may have one.
  const char* data = value.empty() ? "" : value.data();
  TF_CHECK(sqlite3_bind_text64(statement_, next_parameter_++, data, value.size(), SQLITE_STATIC,
                               SQLITE_UTF8) == SQLITE_OK)
      << sqlite3_sql(statement_);
}

void Statement::bind_blob(std::string_view value) {
  const char* data = value.empty() ? "" : value.data();
  TF_CHECK(sqlite3_bind_blob64(statement_, next_parameter_++, data, value.size(), SQLITE_STATIC) == SQLITE_OK)
      << sqlite3_sql(statement_);
}

void Statement::bind_null() {
  TF_CHECK(sqlite3_bind_null(statement_, next_parameter_++) == SQLITE_OK) << sqlite3_sql(statement_);
}

absl::StatusOr<bool> Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_status(sqlite3_extended_errcode(db_), db_, *file_);
}

absl::Status Statement::run() {
  TF_ASSIGN_OR_RETURN(bool row, step());
  TF_CHECK(!row) << sqlite3_sql(statement_);
  return absl::OkStatus();
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Statement::real(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN()
                         : sqlite3_column_double(statement_, column);
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return data == nullptr ? ""
                         : std::string(data, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

std::string Statement::blob(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return data == nullptr ? ""
                         : std::string(data, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

bool Statement::is_of_type(int column, char type) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return type == 'i' || type == 'I' || type == 'r';
    case SQLITE_FLOAT:
      return type == 'r';
    case SQLITE_TEXT:
      return type == 't' || type == 'T';
    case SQLITE_BLOB:
      return type == 'b';
    default:
      return type == 'I' || type == 'T' || type == 'r';
  }
}

std::string Statement::name(int column) const {
  const char* name = sqlite3_column_name(statement_, column);
  return name == nullptr ? "column" : name;
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::open(const std::string& path, Access access,
                                                             const std::string& use) {
  const DatabaseFile file{.path = path, .use = use};
  TF_RETURN_IF_ERROR(check_plain(file));
  const bool write = access == Access::kWrite;
  const int flags = (write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) |
                    SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  for (std::string_view parameters : {"", "?immutable=1"}) {
    if (access == Access::kFileAlone && parameters.empty()) continue;
    sqlite3* db = nullptr;
    int code = sqlite3_open_v2(file_uri(path, parameters).c_str(), &db, flags, nullptr);
    std::unique_ptr<Connection> connection(new Connection(db, file));
    if (code == SQLITE_OK) {
      sqlite3_busy_timeout(db, 5000);
      // Of what we write, nothing comes near it; what another wrote must not take all memory.
      sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 64 << 20);
      sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
      if (!write) sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
      // The first read is what opens the log, and what tells a database from another file.
      code = sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr);
    }
    if (code == SQLITE_OK && write && sqlite3_db_readonly(db, "main") == 1) {
      // SQLite falls back to reading a file that it may not write.
      return with_remedy(absl::StatusCode::kPermissionDenied,
                         absl::StrCat("cannot write the tuning database ", path, ": the file is read-only"),
                         "change its mode or give another path", Between::kSemicolon);
    }
    if (code == SQLITE_OK) return connection;
    // A reader needs the shared-memory file beside the log, which it cannot make in a folder that it may not
    // write to. Without a log nobody is writing, and the file alone is the whole database.
    const bool no_log = ::access(companion_of(path, "-wal").c_str(), F_OK) != 0;
    const bool retry = !write && parameters.empty() && no_log &&
                       ((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY) &&
                       ::access(path.c_str(), R_OK) == 0;
    if (!retry) return sqlite_status(code, db, file);
  }
  TF_UNREACHABLE() << path;
  return absl::InternalError("");
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::open_in_memory() {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(
      ":memory:", &db,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  std::unique_ptr<Connection> connection(new Connection(db, {.path = ":memory:", .use = "a database"}));
  if (code != SQLITE_OK) return sqlite_status(code, db, connection->file_);
  return connection;
}

Connection::~Connection() {
  for (auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(db_);
}

absl::Status Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : sqlite_status(code, db_, file_);
}

absl::StatusOr<Statement> Connection::prepare(const std::string& sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return sqlite_status(code, db_, file_);
    found = statements_.emplace(sql, statement).first;
  }
  return Statement(db_, &file_, found->second);
}

absl::StatusOr<std::string> Connection::query_text(const std::string& sql) {
  TF_ASSIGN_OR_RETURN(Statement statement, prepare(sql));
  TF_ASSIGN_OR_RETURN(bool row, statement.step());
  return row ? statement.text(0) : std::string();
}

int64_t Connection::last_insert_id() const {
  return sqlite3_last_insert_rowid(db_);
}

void Connection::keep_log() {
  const auto count = [](void* pages, sqlite3*, const char*, int log_pages) {
    *static_cast<int64_t*>(pages) = log_pages;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(db_, count, &log_pages_);  // in the place of the one that checkpoints
}

absl::Status Connection::checkpoint() {
  const int code = sqlite3_wal_checkpoint_v2(db_, "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : sqlite_status(code, db_, file_);
}

absl::Status Connection::copy_to(Connection& other) {
  sqlite3_backup* const backup = sqlite3_backup_init(other.db_, "main", db_, "main");
  if (backup == nullptr) return sqlite_status(sqlite3_extended_errcode(other.db_), other.db_, other.file_);
  // All at once, which is one read transaction: in parts it would begin anew at each commit of another
  // process.
  const int stepped = sqlite3_backup_step(backup, -1);
  const int code = sqlite3_backup_finish(backup);
  if (code != SQLITE_OK) return sqlite_status(code, other.db_, other.file_);
  // It is not done for a lock, which finish does not call an error.
  return stepped == SQLITE_DONE ? absl::OkStatus() : sqlite_status(stepped, nullptr, file_);
}

bool Connection::in_transaction() const {
  return sqlite3_get_autocommit(db_) == 0;
}

}  // namespace tf::database
