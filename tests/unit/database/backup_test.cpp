#include "database/sqlite/backup.h"

#include <atomic>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using testing::HasSubstr;

int64_t ask(const std::string& path, const std::string& sql) {
  const auto connection = Connection::open(path, Access::kFileAlone);
  return connection.ok() ? (*connection)->query_int(sql).value_or(-1) : -1;
}

// The log is never written back, so that a copy of the file alone would lack nearly all rows.
TEST(Backup, HoldsEveryRowThatWasAcknowledgedBeforeThoughOthersAreInsertedMeanwhile) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  auto store = open_sqlite_store(path, {.log_bytes = int64_t{1} << 40});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
  std::atomic<int64_t> acknowledged = 0;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int64_t i = 1; !stop; ++i) {
      Measurement m = measured(100 + i, i);
      m.lease = LeaseStamp{.slot = "s", .lease_id = "L", .epoch = 1, .sequence = static_cast<uint64_t>(i)};
      if ((*store)->insert(m).ok()) acknowledged = i;
    }
  });
  int64_t before = 0;
  for (int i = 0; i < 5; ++i) {
    while (acknowledged < before + 20) std::this_thread::yield();
    before = acknowledged;
    const std::string copy = folder.file(absl::StrCat(i, ".db"));
    const auto jobs = copy_sqlite_file(path, copy);
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    const int64_t rows = ask(copy, "SELECT count(*) FROM measurements");
    EXPECT_GE(rows, before);
    EXPECT_EQ(ask(copy, "SELECT max(id) FROM measurements"), rows) << "without a gap";
    EXPECT_EQ(ask(copy, "SELECT count(*) FROM lease_results"), rows) << "no half of a transaction";
    EXPECT_EQ(ask(copy, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check != 'ok'"), 0);
  }
  stop = true;
  writer.join();
  auto restored = open_sqlite_store(folder.file("4.db"));
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_TRUE((*restored)->insert(measured(1)).ok());
}

TEST(Backup, ReplacesNoFileAndLeavesNoneWhereItFails) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db"), copy = folder.file("copy.db");
  EXPECT_TRUE(absl::IsNotFound(copy_sqlite_file(path, copy).status()));
  ASSERT_TRUE(open_sqlite_store(path).ok());
  ASSERT_TRUE(write_file(copy, "mine").ok());
  const absl::Status refused = copy_sqlite_file(path, copy).status();
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_EQ(*read_file(copy), "mine");
  std::filesystem::remove(copy);
  ASSERT_TRUE(write_file(copy + "-wal", "another's").ok());
  EXPECT_THAT(std::string(copy_sqlite_file(path, copy).status().message()), HasSubstr("copy.db-wal already"));
  std::filesystem::remove(copy + "-wal");
  ASSERT_TRUE(copy_sqlite_file(path, copy).ok());
  const absl::Status nowhere = copy_sqlite_file(path, folder.file("none/copy.db")).status();
  EXPECT_TRUE(absl::IsNotFound(nowhere)) << nowhere;
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_THAT(file.path().filename().string(), testing::Not(HasSubstr("tmp")));
    ++files;
  }
  EXPECT_GE(files, 2);
}

}  // namespace
}  // namespace tf::database
