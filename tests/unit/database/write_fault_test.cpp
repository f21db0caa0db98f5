// The disk fails at the Nth write, for N = 1, 2, 3, … until a whole run passes: whatever N is, what was
// acknowledged is there afterwards, once, and the file is sound.

#include <set>

#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/support/faulty_disk/faulty_disk.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using faulty_disk::DiskFault;
using faulty_disk::fail_disk_at;
using faulty_disk::mend_disk;

// Opens, inserts some rows; the acknowledged ones' times. `completed` tells whether nothing failed.
std::set<int64_t> run_until_failure(const std::string& path, const SqliteOptions& options, bool& completed) {
  std::set<int64_t> acknowledged;
  completed = false;
  auto store = open_sqlite_store(path, options);
  if (!store.ok() || !(*store)->add_workload(conv_workload()).ok()) return acknowledged;
  completed = true;
  for (int64_t ns = 1; ns <= 6; ++ns) {
    Measurement m = measured(ns);
    m.lease = LeaseStamp{.slot = "s", .lease_id = "L", .epoch = 1, .sequence = static_cast<uint64_t>(ns)};
    (*store)->insert(m).ok() ? (void)acknowledged.insert(ns) : (void)(completed = false);
  }
  return acknowledged;
}

void expect_nothing_acknowledged_lost(const SqliteOptions& options) {
  bool completed = false;
  int64_t n = 1;
  for (; !completed && n < 2000; ++n) {
    const TemporaryFolder folder = *TemporaryFolder::make();
    const std::string path = folder.file("t.db");
    fail_disk_at(n, DiskFault::kGone);
    const std::set<int64_t> acknowledged = run_until_failure(path, options, completed);
    mend_disk();

    auto store = open_sqlite_store(path);
    ASSERT_TRUE(store.ok()) << "write " << n << ": " << store.status();
    std::multiset<int64_t> kept;
    ASSERT_TRUE((*store)
                    ->scan({},
                           [&](const Measurement& m) {
                             kept.insert(static_cast<int64_t>(*m.median_ns()));
                             return absl::OkStatus();
                           })
                    .ok());
    for (int64_t ns : acknowledged) EXPECT_EQ(kept.count(ns), 1u) << "write " << n << ", row " << ns;
    store->reset();
    auto connection = Connection::open(path, Access::kWrite);
    EXPECT_EQ(*(*connection)->query_text("PRAGMA integrity_check"), "ok") << "write " << n;
  }
  EXPECT_TRUE(completed);
  EXPECT_GT(n, 30);  // the shim counted real writes
}

TEST(WriteFaults, NothingAcknowledgedIsLostWhicheverWriteFails) {
  expect_nothing_acknowledged_lost({});
}

TEST(WriteFaults, NorIsItWhileTheLogGoesToTheFile) {
  expect_nothing_acknowledged_lost({.log_bytes = 1});
}

TEST(WriteFaults, AStoreGoesOnWhenTheDiskComesBack) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  mend_disk();
  auto store = open_sqlite_store(folder.file("t.db"));
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
  fail_disk_at(1, DiskFault::kGone);
  EXPECT_FALSE((*store)->insert(measured(1)).ok());
  mend_disk();
  EXPECT_TRUE((*store)->insert(measured(1)).ok());
  EXPECT_EQ((*(*store)->best({conv_problem()}))->median_ns(), 1);
}

}  // namespace
}  // namespace tf::database
