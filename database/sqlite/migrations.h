#pragma once
// Owns: the numbered steps that make a database of any earlier version a current one. The steps themselves
// are migrations/NNNN_*.sql, embedded by the build; a landed file is never edited, the next change is the
// next number. Does not know: what the tables are for.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf::database {

class Connection;

struct Migration {
  int version;
  std::string_view name;
  std::string_view sql;
};

// In order; versions are 1, 2, 3, …
const std::vector<Migration>& migrations();
int current_schema_version();

// Stands in a database's header (PRAGMA application_id), so that another program's file is not taken for
// ours: "TFDB".
inline constexpr int kApplicationId = 0x54464442;

enum class SchemaState { kEmpty, kCurrent, kOlder };

// What the file is, without changing it. FAILED_PRECONDITION for another program's database, a newer schema,
// or one that somebody has given triggers, or put something else in the place of a table.
absl::StatusOr<SchemaState> schema_state(Connection& connection);

// Brings the database to the current version, each step in its own transaction: a crash leaves a whole
// version. Leaves foreign keys unchecked on the connection.
absl::Status migrate(Connection& connection, const std::vector<Migration>& steps = migrations());

}  // namespace tf::database
