#pragma once
// Owns: one SQLite connection and its prepared statements, with SQLite's codes turned into one clear line
// each. Does not know: our tables.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tf::database {

// What messages call it: "cannot use PATH as a tuning database".
struct DatabaseFile {
  std::string path;
  std::string use;
};

// A prepared statement being run. Parameters are bound by position from 1, columns are read from 0. Resets
// itself when it goes out of scope, so that the connection can hand it out again.
class Statement {
 public:
  Statement(sqlite3* db, const DatabaseFile* file, sqlite3_stmt* statement)
      : db_(db), file_(file), statement_(statement) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // In order of the parameters. Texts and blobs must outlive the statement's last step.
  Statement& bind(int64_t value);
  Statement& bind(double value);  // NaN is kept as NULL
  Statement& bind_text(std::string_view value);
  Statement& bind_blob(std::string_view value);
  Statement& bind_null();

  // True while there is a row; false at the end.
  absl::StatusOr<bool> step();
  // For statements without rows.
  absl::Status run();

  int64_t integer(int column) const;
  double real(int column) const;  // NULL is NaN
  std::string text(int column) const;
  std::string blob(int column) const;
  bool is_null(int column) const;
  // Whether the value is an integer (i), a text (t), a blob (b), one of these or NULL (I, T), a number or
  // NULL (r).
  bool is_of_type(int column, char type) const;
  std::string name(int column) const;
  const std::string& path() const { return file_->path; }

 private:
  sqlite3* db_;
  const DatabaseFile* file_;
  sqlite3_stmt* statement_;
  int next_parameter_ = 1;
};

enum class Access {
  kReadOnly,
  kWrite,
  // Of a file that has no log and that nobody writes: no lock is taken, and nothing made beside it.
  kFileAlone,
};

class Connection {
 public:
  // kWrite makes the file if there is none. A read-only connection never checkpoints, and reads a folder it
  // may not write to if no writer left a log there. `use` is what the file is to its user, for messages.
  static absl::StatusOr<std::unique_ptr<Connection>> open(const std::string& path, Access access,
                                                          const std::string& use = "a tuning database");
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::string& path() const { return file_.path; }
  // Any number of statements without rows or parameters.
  absl::Status execute(const std::string& sql);
  // Prepared once and cached; must not be asked for again while an earlier Statement of the same text lives.
  absl::StatusOr<Statement> prepare(const std::string& sql);
  absl::StatusOr<int64_t> query_int(const std::string& sql);
  absl::StatusOr<std::string> query_text(const std::string& sql);
  int64_t last_insert_id() const;
  // From now on nothing goes from the log into the file but by checkpoint(), and log_pages() tells how many
  // pages the log has had after the last commit.
  void keep_log();
  int64_t log_pages() const { return log_pages_; }
  // Copies the log's pages into the file: as many as no reader keeps from it, without waiting for anybody.
  absl::Status checkpoint();
  // Makes `other`, an empty file, a copy of this database as of one moment, durably (SQLite's backup). Others
  // may write this one meanwhile. Errors of either file.
  absl::Status copy_to(Connection& other);
  // False after BEGIN if SQLite rolled the transaction back itself, as it does when the disk fails.
  bool in_transaction() const;

 private:
  Connection(sqlite3* db, DatabaseFile file) : db_(db), file_(std::move(file)) {}
  sqlite3* db_;
  DatabaseFile file_;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
  int64_t log_pages_ = 0;
};

}  // namespace tf::database
