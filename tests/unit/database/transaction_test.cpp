#include "database/sqlite/transaction.h"

#include "base/files/temporary_folder.h"
#include "base/status.h"
#include "database/sqlite/sqlite_connection.h"

namespace tf::database {
namespace {

class TransactionTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(db_->execute("CREATE TABLE t (x INTEGER)").ok()); }

  int64_t rows(Connection& db) const { return *db.query_int("SELECT count(*) FROM t"); }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::unique_ptr<Connection> db_ = *Connection::open(dir_.file("t.db"), Access::kWrite);
  const std::unique_ptr<Connection> reader_ = *Connection::open(dir_.file("t.db"), Access::kReadOnly);
};

TEST_F(TransactionTest, ShowsOthersWhatItChangedOnceItIsCommitted) {
  auto transaction = Transaction::begin(*db_);
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  ASSERT_TRUE(db_->execute("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)").ok());
  EXPECT_TRUE(transaction->commit().ok());
  EXPECT_EQ(rows(*reader_), 2);
  EXPECT_FALSE(db_->in_transaction());
}

TEST_F(TransactionTest, IsRolledBackWhereAnErrorLeavesItsScope) {
  const auto fail_halfway = [&]() -> absl::Status {
    TF_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(*db_));
    TF_RETURN_IF_ERROR(db_->execute("INSERT INTO t VALUES (1)"));
    TF_RETURN_IF_ERROR(db_->execute("INSERT INTO nowhere VALUES (1)"));
    return transaction.commit();
  };
  EXPECT_FALSE(fail_halfway().ok());
  EXPECT_FALSE(db_->in_transaction());
  EXPECT_EQ(rows(*db_), 0);
}

TEST_F(TransactionTest, WhoseCommitFailsLeavesTheConnectionFreeForTheNextOne) {
  ASSERT_TRUE(db_->execute("PRAGMA foreign_keys = ON; CREATE TABLE parent (id INTEGER PRIMARY KEY);"
                           "CREATE TABLE child (id INTEGER REFERENCES parent (id) "
                           "DEFERRABLE INITIALLY DEFERRED)")
                  .ok());
  auto transaction = Transaction::begin(*db_);
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  ASSERT_TRUE(db_->execute("INSERT INTO child VALUES (7)").ok());
  EXPECT_FALSE(transaction->commit().ok()) << "SQLite leaves it open";
  EXPECT_FALSE(db_->in_transaction());
  EXPECT_TRUE(Transaction::begin(*db_).ok());
}

}  // namespace
}  // namespace tf::database
