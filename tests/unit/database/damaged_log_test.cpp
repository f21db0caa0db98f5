// A writer died and left its log (WAL) beside the file; then the log is cut, damaged, exchanged, or the disk
// fails while the next writer takes it up. What stands in the file stays, and of the log what comes before
// the damage.

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/support/faulty_disk/faulty_disk.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using faulty_disk::DiskFault;

constexpr int64_t kInFile = 5, kInAll = 15;

class DamagedLog : public testing::Test {
 protected:
  // Rows of 1 to 5 ns in the file, of 6 to 15 ns in its log alone.
  void SetUp() override {
    faulty_disk::mend_disk();
    leave(crashed_, 0);
    wal_ = *read_file(crashed_ + "-wal");
  }

  // `more` is added to each row's time.
  void leave(const std::string& crashed, int64_t more) {
    const std::string path = crashed + ".live";
    insert(path, more + 1, more + kInFile);
    auto store = open_sqlite_store(path);
    for (int64_t ns = more + kInFile + 1; ns <= more + kInAll; ++ns)
      ASSERT_TRUE((*store)->insert(measured(ns)).ok());
    faulty_disk::copy_as_after_a_crash(path, crashed);
  }

  static void insert(const std::string& path, int64_t from, int64_t to) {
    auto store = open_sqlite_store(path);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
    for (int64_t ns = from; ns <= to; ++ns) ASSERT_TRUE((*store)->insert(measured(ns)).ok());
  }

  // The file of the crash with this log.
  void restore(const std::string& wal) {
    faulty_disk::copy_as_after_a_crash(crashed_, path_);
    ASSERT_TRUE(write_file(path_ + "-wal", wal).ok());
  }

  // The times of all rows, in a file that is sound.
  absl::StatusOr<std::set<int64_t>> rows() {
    auto store = open_sqlite_store(path_);
    if (!store.ok()) return store.status();
    std::multiset<int64_t> found;
    const absl::Status scanned = (*store)->scan({}, [&](const Measurement& m) {
      found.insert(static_cast<int64_t>(*m.median_ns()));
      return absl::OkStatus();
    });
    if (!scanned.ok()) return scanned;
    store->reset();
    auto connection = Connection::open(path_, Access::kWrite);
    EXPECT_EQ(*(*connection)->query_text("PRAGMA integrity_check"), "ok");
    std::set<int64_t> each(found.begin(), found.end());
    EXPECT_EQ(each.size(), found.size()) << "a row is there twice";
    return each;
  }

  // How many there are, if they are the first ones.
  int64_t first_rows() {
    const absl::StatusOr<std::set<int64_t>> found = rows();
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok() || found->empty()) return 0;
    EXPECT_EQ(*found->begin(), 1);
    EXPECT_EQ(*found->rbegin(), static_cast<int64_t>(found->size())) << "one is missing between them";
    return static_cast<int64_t>(found->size());
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string crashed_ = folder_.file("crashed.db");
  const std::string path_ = folder_.file("t.db");
  std::string wal_;
};

TEST_F(DamagedLog, ThatIsWholeLosesNothing) {
  restore(wal_);
  EXPECT_EQ(first_rows(), kInAll);
}

TEST_F(DamagedLog, ThatIsCutGivesWhatComesBefore) {
  int64_t most = kInFile;
  for (size_t size = 0; size < wal_.size(); size += 1 + wal_.size() / 60) {
    restore(wal_.substr(0, size));
    const int64_t kept = first_rows();
    EXPECT_GE(kept, most) << "a longer log has fewer rows, at " << size;
    most = std::max(most, kept);
  }
  EXPECT_GT(most, kInFile);
}

TEST_F(DamagedLog, WithAByteThatIsAnotherGivesWhatComesBefore) {
  int damaged = 0;
  for (size_t at = 0; at < wal_.size(); at += 1 + wal_.size() / 60) {
    std::string wal = wal_;
    wal[at] = static_cast<char>(wal[at] ^ 0x20);
    restore(wal);
    const int64_t kept = first_rows();
    EXPECT_GE(kept, kInFile) << at;
    if (kept < kInAll) ++damaged;
  }
  EXPECT_GT(damaged, 10);
}

// SQLite cannot tell whose it is. It is refused, or what comes out is sound.
TEST_F(DamagedLog, OfAnotherDatabaseIsNoCrash) {
  const std::string other = folder_.file("other.db");
  leave(other, 1000);
  restore(*read_file(other + "-wal"));
  const absl::StatusOr<std::set<int64_t>> found = rows();
  if (!found.ok()) {
    EXPECT_TRUE(absl::IsDataLoss(found.status())) << found.status();
  }
}

TEST_F(DamagedLog, IsTakenUpWhicheverWriteFailsMeanwhile) {
  for (const DiskFault fault : {DiskFault::kGone, DiskFault::kOnce}) {
    bool undisturbed = false;
    int64_t n = 0;
    while (!undisturbed && ++n < 300) {
      restore(wal_);
      faulty_disk::fail_disk_at(n, fault);
      bool acknowledged = false;
      if (auto store = open_sqlite_store(path_); store.ok())
        acknowledged = (*store)->insert(measured(kInAll + 1)).ok();
      undisturbed = faulty_disk::mend_disk() < n;
      EXPECT_TRUE(acknowledged || !undisturbed);
      const int64_t kept = first_rows();
      EXPECT_GE(kept, acknowledged ? kInAll + 1 : kInAll) << "write " << n;
    }
    EXPECT_TRUE(undisturbed);
    EXPECT_GT(n, 5);
  }
}

}  // namespace
}  // namespace tf::database
