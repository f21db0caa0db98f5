#include "database/sqlite/transaction.h"

#include "base/check.h"
#include "base/status.h"
#include "database/sqlite/sqlite_connection.h"

namespace tf::database {

absl::StatusOr<Transaction> Transaction::begin(Connection& connection) {
  TF_RETURN_IF_ERROR(connection.execute("BEGIN IMMEDIATE"));
  return Transaction(connection);
}

Transaction::~Transaction() {
  roll_back();
}

absl::Status Transaction::commit() {
  TF_CHECK(connection_ != nullptr) << "committed before";
  const absl::Status committed = connection_->execute("COMMIT");
  // A commit that failed may have left the transaction open, and the next one needs a fresh one.
  roll_back();
  connection_ = nullptr;
  return committed;
}

void Transaction::roll_back() {
  // When the disk fails, SQLite has done so itself.
  if (connection_ == nullptr || !connection_->in_transaction()) return;
  connection_->execute("ROLLBACK").IgnoreError();  // who ends it early knows why
}

}  // namespace tf::database
