#pragma once
// Owns: one SQLite connection and its prepared statements, with SQLite's codes turned into one clear line
// each. Does not know: our tables.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tf::database {

// What messages call it: "cannot use PATH as a tuning database".
struct DatabaseFile {
  std::string path;
  std::string use;
};

struct Blob {
  std::string_view bytes;
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

  // In order of the parameters, from the first that has none: integers, enumerators, reals (NaN is kept as
  // NULL), texts, Blobs, and these as optional values (absent: NULL). Texts and blobs must outlive the
  // statement's last step.
  template <typename... Values>
  Statement& bind(const Values&... values) {
    (bind_one(values), ...);
    return *this;
  }

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
  template <typename T>
  void bind_one(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      bind_real(value);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      bind_integer(static_cast<int64_t>(value));
    } else {
      bind_text(value);
    }
  }
  void bind_one(const Blob& blob) { bind_blob(blob.bytes); }
  template <typename T>
  void bind_one(const std::optional<T>& value) {
    value ? bind_one(*value) : bind_null();
  }
  void bind_integer(int64_t value);
  void bind_real(double value);
  void bind_text(std::string_view value);
  void bind_blob(std::string_view value);
  void bind_null();

  sqlite3* db_;
  const DatabaseFile* file_;
  sqlite3_stmt* statement_;
  int next_parameter_ = 1;
};

template <typename Read>
using RowValue = typename std::invoke_result_t<Read, const Statement&>::value_type;

// The first column, as a reader of rows.
inline absl::StatusOr<int64_t> integer_of(const Statement& row) {
  return row.integer(0);
}

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
  // A database of its own that is in no file.
  static absl::StatusOr<std::unique_ptr<Connection>> open_in_memory();
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::string& path() const { return file_.path; }
  // Any number of statements without rows or parameters.
  absl::Status execute(const std::string& sql);
  // Prepared once and cached; must not be asked for again while an earlier Statement of the same text lives.
  absl::StatusOr<Statement> prepare(const std::string& sql);

  // The same in one call. Of a statement without rows:
  template <typename... Values>
  absl::Status run(const std::string& sql, const Values&... values) {
    TF_ASSIGN_OR_RETURN(Statement statement, prepare(sql));
    return statement.bind(values...).run();
  }
  // All rows, each as the absl::StatusOr that `read` makes of it.
  template <typename Read, typename... Values>
  absl::StatusOr<std::vector<RowValue<Read>>> select(const std::string& sql, const Read& read,
                                                     const Values&... values) {
    std::vector<RowValue<Read>> rows;
    TF_ASSIGN_OR_RETURN(Statement statement, prepare(sql));
    statement.bind(values...);
    while (true) {
      TF_ASSIGN_OR_RETURN(const bool is_row, statement.step());
      if (!is_row) return rows;
      TF_ASSIGN_OR_RETURN(rows.emplace_back(), read(statement));
    }
  }
  // The first row; nothing: there is none.
  template <typename Read, typename... Values>
  absl::StatusOr<std::optional<RowValue<Read>>> find(const std::string& sql, const Read& read,
                                                     const Values&... values) {
    TF_ASSIGN_OR_RETURN(Statement statement, prepare(sql));
    TF_ASSIGN_OR_RETURN(const bool is_row, statement.bind(values...).step());
    if (!is_row) return std::nullopt;
    return read(statement);
  }
  // The first column of the first row; 0 or empty: there is none.
  template <typename... Values>
  absl::StatusOr<int64_t> query_int(const std::string& sql, const Values&... values) {
    TF_ASSIGN_OR_RETURN(const std::optional<int64_t> found, find(sql, integer_of, values...));
    return found.value_or(0);
  }
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
