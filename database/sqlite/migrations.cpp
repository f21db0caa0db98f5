#include "database/sqlite/migrations.h"

#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/transaction.h"

namespace tf::database {
namespace {

struct SchemaObject {
  std::string type;
  std::string sql;
  bool is_stored = false;  // unlike triggers, views and virtual tables
};
using Schema = std::map<std::string, SchemaObject>;  // by name

absl::StatusOr<Schema> read_schema(Connection& connection) {
  TF_ASSIGN_OR_RETURN(Statement object,
                      connection.prepare("SELECT name, type, sql, rootpage > 0 FROM sqlite_schema"));
  Schema schema;
  for (;;) {
    TF_ASSIGN_OR_RETURN(const bool more, object.step());
    if (!more) return schema;
    schema[object.text(0)] = {object.text(1), object.text(2), object.integer(3) != 0};
  }
}

// What our steps make of an empty file. Each version is asked for once per process: nothing changes the
// answer, and commands open several databases.
absl::StatusOr<const Schema*> schema_of(int64_t version) {
  static std::mutex mutex;
  static std::map<int64_t, Schema> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(version); found != known.end()) return &found->second;
  TF_ASSIGN_OR_RETURN(const auto fresh, Connection::open_in_memory());
  std::vector<Migration> steps;
  for (const Migration& step : migrations())
    if (step.version <= version) steps.push_back(step);
  TF_RETURN_IF_ERROR(migrate(*fresh, steps));
  TF_ASSIGN_OR_RETURN(Schema made, read_schema(*fresh));
  return &known.emplace(version, std::move(made)).first->second;
}

// Whether a table says what becomes of rows that break its rules, as in NOT NULL ON CONFLICT IGNORE. Not by
// comparing texts: those that ALTER TABLE leaves are not the same in all versions of SQLite.
bool resolves_conflicts(const SchemaObject& object) {
  return object.type == "table" && absl::StrContains(absl::AsciiStrToLower(object.sql), "conflict");
}

// A file may have tables, indices and views beside ours, of whoever looks at it with SQL. But a trigger would
// run within our transactions, and could make nothing of an insert that we acknowledge, as could a table of
// ours that ignores or replaces rows; and a view or a virtual table in its place could answer anything, or
// for ever.
absl::Status check_schema(Connection& connection, int64_t version) {
  TF_ASSIGN_OR_RETURN(const Schema theirs, read_schema(connection));
  TF_ASSIGN_OR_RETURN(const Schema* const ours, schema_of(version));
  for (const auto& [name, object] : theirs) {
    const auto own = ours->find(name);
    const bool is_ours =
        own != ours->end() && own->second.type == object.type && own->second.is_stored == object.is_stored;
    const bool is_same = is_ours && (object.is_stored || own->second.sql == object.sql);
    const bool swallows = is_ours && resolves_conflicts(object);
    if (!swallows && (object.type == "trigger" ? is_same : own == ours->end() || is_ours)) continue;
    return with_remedy(absl::StatusCode::kFailedPrecondition,
                       absl::StrCat("cannot use ", connection.path(), " as a tuning database: the ",
                                    printable(object.type), " ", printable(name), " in it is not Tunefarm's"),
                       "remove it, or give another path", Between::kSemicolon);
  }
  return absl::OkStatus();
}

}  // namespace

int current_schema_version() {
  return migrations().back().version;
}

absl::StatusOr<SchemaState> schema_state(Connection& connection) {
  TF_ASSIGN_OR_RETURN(int64_t application, connection.query_int("PRAGMA application_id"));
  TF_ASSIGN_OR_RETURN(int64_t version, connection.query_int("PRAGMA user_version"));
  TF_ASSIGN_OR_RETURN(int64_t objects, connection.query_int("SELECT count(*) FROM sqlite_schema"));
  const std::string cannot = absl::StrCat("cannot use ", connection.path(), " as a tuning database: ");
  if (application == 0 && version == 0 && objects == 0) return SchemaState::kEmpty;
  if (application != kApplicationId) {
    return with_remedy(absl::StatusCode::kFailedPrecondition,
                       cannot + "it is an SQLite database of another program", "give another path",
                       Between::kSemicolon);
  }
  if (version > current_schema_version()) {
    return with_remedy(absl::StatusCode::kFailedPrecondition,
                       absl::StrCat(cannot, "its schema has version ", version,
                                    ", but this program supports up to ", current_schema_version()),
                       "use the program that wrote it (the file was not changed)", Between::kSemicolon);
  }
  TF_RETURN_IF_ERROR(check_schema(connection, version));
  return version == current_schema_version() ? SchemaState::kCurrent : SchemaState::kOlder;
}

absl::Status migrate(Connection& connection, const std::vector<Migration>& steps) {
  TF_ASSIGN_OR_RETURN(int64_t version, connection.query_int("PRAGMA user_version"));
  // A step may replace a table that others name. Within a transaction this would do nothing.
  TF_RETURN_IF_ERROR(connection.execute("PRAGMA foreign_keys = OFF"));
  for (const Migration& step : steps) {
    if (step.version <= version) continue;
    TF_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(connection));
    absl::Status status = connection.execute(std::string(step.sql));
    if (status.ok()) status = connection.execute(absl::StrCat("PRAGMA application_id = ", kApplicationId));
    if (status.ok()) status = connection.execute(absl::StrCat("PRAGMA user_version = ", step.version));
    if (status.ok()) status = transaction.commit();
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("cannot migrate ", connection.path(), " by ", std::string(step.name),
                                       ": ", std::string(status.message()),
                                       "; the file was not changed (rename tables or indexes that you added; "
                                       "after other manual changes, export and import into a new file)"));
    }
  }
  return absl::OkStatus();
}

}  // namespace tf::database
