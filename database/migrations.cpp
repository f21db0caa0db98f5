#include "database/migrations.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "database/sqlite_connection.h"

namespace tf::database {

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
    return absl::FailedPreconditionError(
        absl::StrCat(cannot, "it is an SQLite database of another program; give another path"));
  }
  if (version > current_schema_version()) {
    return absl::FailedPreconditionError(
        absl::StrCat(cannot, "its schema has version ", version, ", this program knows up to ",
                     current_schema_version(), "; use the program that wrote it (it was left unchanged)"));
  }
  return version == current_schema_version() ? SchemaState::kCurrent : SchemaState::kOlder;
}

absl::Status migrate(Connection& connection, const std::vector<Migration>& steps) {
  TF_ASSIGN_OR_RETURN(int64_t version, connection.query_int("PRAGMA user_version"));
  // A step may replace a table that others name. Within a transaction this would do nothing.
  TF_RETURN_IF_ERROR(connection.execute("PRAGMA foreign_keys = OFF"));
  for (const Migration& step : steps) {
    if (step.version <= version) continue;
    TF_RETURN_IF_ERROR(connection.execute("BEGIN IMMEDIATE"));
    absl::Status status = connection.execute(std::string(step.sql));
    if (status.ok()) status = connection.execute(absl::StrCat("PRAGMA application_id = ", kApplicationId));
    if (status.ok()) status = connection.execute(absl::StrCat("PRAGMA user_version = ", step.version));
    if (status.ok()) status = connection.execute("COMMIT");
    if (!status.ok()) {
      connection.execute("ROLLBACK").IgnoreError();  // SQLite may have rolled back itself; `status` tells why
      return absl::Status(status.code(),
                          absl::StrCat("cannot migrate ", connection.path(), " by ", std::string(step.name),
                                       ": ", std::string(status.message())));
    }
  }
  return absl::OkStatus();
}

}  // namespace tf::database
