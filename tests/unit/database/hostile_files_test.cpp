// What stands where a database is expected, put there by somebody who means no good: no file at all, links, a
// schema that acts. hostile_rows_test has the rows.

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_store.h"
#include "database/stores/open_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HostileFile : public testing::Test {
 protected:
  void make() {
    auto store = open_sqlite_store(path_);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
    ASSERT_TRUE((*store)->insert(measured(100)).ok());
  }

  void execute(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << sql << ": " << error;
    sqlite3_free(error);
    sqlite3_close(db);
  }

  // By who writes and by who reads, in one line.
  void expect_refused(const std::string& words) {
    for (const absl::Status& status : {open_sqlite_store(path_).status(), open_records(path_).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(words), HasSubstr(path_), Not(HasSubstr("\n"))));
    }
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string path_ = folder_.file("t.db");
};

TEST_F(HostileFile, ThatIsAPipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  expect_refused("it is a pipe or a device");
}

TEST_F(HostileFile, ThatIsAFolderOrADeviceIsRefused) {
  std::filesystem::create_directory(path_);
  expect_refused("it is a folder");
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("/dev/zero", path_);
  expect_refused("it is a pipe or a device");
  EXPECT_FALSE(std::filesystem::exists("/dev/zero.lock")) << "nothing is made beside it";
}

TEST_F(HostileFile, ThatLinksToItselfIsRefused) {
  std::filesystem::create_symlink(path_, path_);
  EXPECT_FALSE(open_sqlite_store(path_).ok());
  EXPECT_FALSE(open_records(path_).ok());
}

TEST_F(HostileFile, WhoseLockLinksElsewhereLeavesThatAsItWas) {
  const std::string other = folder_.file("precious");
  ASSERT_TRUE(write_file(other, "precious").ok());
  std::filesystem::create_symlink(other, path_ + ".lock");
  EXPECT_THAT(std::string(open_sqlite_store(path_).status().message()), HasSubstr("cannot lock"));
  EXPECT_EQ(*read_file(other), "precious");
}

TEST_F(HostileFile, WithATriggerThatIsNoneOfOursIsRefused) {
  make();
  const std::string clean = *read_file(path_);
  for (const char* change :
       {"CREATE TRIGGER swallow BEFORE INSERT ON measurements BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER wipe AFTER INSERT ON workloads BEGIN DELETE FROM job_tasks; END",
        "CREATE TRIGGER \"two\nlines\" AFTER INSERT ON jobs BEGIN SELECT 1; END",
        "DROP TRIGGER measurements_keep; "
        "CREATE TRIGGER measurements_keep BEFORE DELETE ON measurements BEGIN SELECT 1; END"}) {
    ASSERT_TRUE(write_file(path_, clean).ok());
    execute(change);
    const std::string changed = *read_file(path_);
    expect_refused("in it is not Tunefarm's");
    EXPECT_TRUE(*read_file(path_) == changed) << change;
  }
}

TEST_F(HostileFile, WithAViewOrAVirtualTableInThePlaceOfATableIsRefused) {
  make();
  const std::string clean = *read_file(path_);
  for (const char* endless : {"DROP TABLE fences; CREATE VIEW fences AS WITH RECURSIVE f(slot) AS (SELECT 1 "
                              "UNION ALL SELECT slot FROM f) "
                              "SELECT slot, 1 AS epoch FROM f",
                              "DROP TABLE fences; CREATE VIRTUAL TABLE fences USING fts5(slot, epoch)"}) {
    ASSERT_TRUE(write_file(path_, clean).ok());
    execute(endless);
    expect_refused("fences in it is not Tunefarm's");
  }
}

TEST_F(HostileFile, WithATableThatSwallowsRowsIsRefused) {
  make();
  execute(
      "DROP TABLE lease_results; CREATE TABLE lease_results (lease INTEGER NOT NULL ON CONFLICT IGNORE, "
      "sequence INTEGER NOT NULL, measurement_id INTEGER NOT NULL, PRIMARY KEY (lease, sequence)) WITHOUT "
      "ROWID");
  expect_refused("lease_results in it is not Tunefarm's");
}

TEST_F(HostileFile, MayHaveTablesIndicesAndViewsOfItsReaders) {
  make();
  execute(
      "CREATE TABLE notes (text); CREATE INDEX by_model ON measurements (model); "
      "CREATE VIEW fast AS SELECT * FROM measurements ORDER BY median_ns");
  const auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE((*store)->insert(measured(50)).ok());
  EXPECT_EQ((*(*store)->best({conv_problem()}))->median_ns(), 50);
}

TEST_F(HostileFile, WithoutATableAnswersNothing) {
  make();
  execute("DROP TABLE measurements");
  const auto records = open_records(path_);
  ASSERT_TRUE(records.ok()) << records.status();
  const absl::Status status = (*records)->best({conv_problem()}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path_), Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace tf::database
