#pragma once
// Owns: one transaction of a connection, from its beginning to its commit; what is not committed is rolled
// back. Does not know: what is written.

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf::database {

class Connection;

// Not thread-safe, like its connection, which must outlive it. A connection has one at a time.
class Transaction {
 public:
  // Takes the file's write lock at once. Connection::execute's errors.
  static absl::StatusOr<Transaction> begin(Connection& connection);
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  // Durable when it returns OK; else nothing was changed. It is over in either case: called once.
  absl::Status commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  void roll_back();
  Connection* connection_;  // null: moved from, or committed
};

}  // namespace tf::database
