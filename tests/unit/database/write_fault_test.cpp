// The disk fails at the Nth write, for N = 1, 2, 3, … until a whole run passes: whatever N is, what was
// acknowledged is there afterwards, once, and the file is sound.

#include <sqlite3.h>

#include <atomic>
#include <cstring>
#include <set>

#include "base/temporary_folder.h"
#include "database/sqlite_connection.h"
#include "database/sqlite_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

// Writes and syncs counted down over all files; from zero on every one fails, as on a disk that went away.
std::atomic<int64_t> writes_left{INT64_MAX};
bool write_fails() {
  return writes_left.fetch_sub(1) <= 0;
}

struct FaultFile {
  sqlite3_file base;
  sqlite3_file* real;
};
sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<FaultFile*>(file)->real;
}

int fault_close(sqlite3_file* file) {
  const int code = real(file)->pMethods->xClose(real(file));
  sqlite3_free(real(file));
  return code;
}
int fault_write(sqlite3_file* file, const void* data, int bytes, sqlite3_int64 offset) {
  if (write_fails()) return SQLITE_IOERR_WRITE;
  return real(file)->pMethods->xWrite(real(file), data, bytes, offset);
}
int fault_truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (write_fails()) return SQLITE_IOERR_TRUNCATE;
  return real(file)->pMethods->xTruncate(real(file), size);
}
int fault_sync(sqlite3_file* file, int flags) {
  if (write_fails()) return SQLITE_IOERR_FSYNC;
  return real(file)->pMethods->xSync(real(file), flags);
}

const sqlite3_io_methods kFaultMethods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = [](sqlite3_file* f, void* p, int n,
                sqlite3_int64 o) { return real(f)->pMethods->xRead(real(f), p, n, o); },
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = [](sqlite3_file* f, sqlite3_int64* n) { return real(f)->pMethods->xFileSize(real(f), n); },
    .xLock = [](sqlite3_file* f, int level) { return real(f)->pMethods->xLock(real(f), level); },
    .xUnlock = [](sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); },
    .xCheckReservedLock = [](sqlite3_file* f,
                             int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); },
    .xFileControl = [](sqlite3_file* f, int op,
                       void* p) { return real(f)->pMethods->xFileControl(real(f), op, p); },
    .xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
    .xShmMap = [](sqlite3_file* f, int region, int size, int extend,
                  void volatile** p) { return real(f)->pMethods->xShmMap(real(f), region, size, extend, p); },
    .xShmLock = [](sqlite3_file* f, int offset, int n,
                   int flags) { return real(f)->pMethods->xShmLock(real(f), offset, n, flags); },
    .xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
    .xShmUnmap = [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); },
};

int fault_open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* under = static_cast<sqlite3_vfs*>(vfs->pAppData);
  auto* opened = static_cast<sqlite3_file*>(sqlite3_malloc(under->szOsFile));
  std::memset(opened, 0, static_cast<size_t>(under->szOsFile));
  const int code = under->xOpen(under, name, opened, flags, out_flags);
  if (code != SQLITE_OK) {
    sqlite3_free(opened);
    file->pMethods = nullptr;
    return code;
  }
  reinterpret_cast<FaultFile*>(file)->real = opened;
  file->pMethods = &kFaultMethods;
  return SQLITE_OK;
}

const char* fault_vfs() {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs out = *sqlite3_vfs_find(nullptr);
    out.zName = "fault";
    out.szOsFile = sizeof(FaultFile);
    out.pAppData = sqlite3_vfs_find(nullptr);
    out.xOpen = fault_open;
    return out;
  }();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  EXPECT_EQ(registered, SQLITE_OK);
  return "fault";
}

// Opens, inserts some rows; the acknowledged ones' times. `completed` tells whether nothing failed.
std::set<int64_t> run_until_failure(const std::string& path, bool& completed) {
  std::set<int64_t> acknowledged;
  completed = false;
  auto store = open_sqlite_store(path, {.vfs = fault_vfs()});
  if (!store.ok() || !(*store)->add_workload(conv_workload()).ok()) return acknowledged;
  completed = true;
  for (int64_t ns = 1; ns <= 6; ++ns) {
    Measurement m = measured(ns);
    m.lease = LeaseStamp{.slot = "s", .lease_id = "L", .epoch = 1, .sequence = static_cast<uint64_t>(ns)};
    (*store)->insert(m).ok() ? (void)acknowledged.insert(ns) : (void)(completed = false);
  }
  return acknowledged;
}

TEST(WriteFaults, NothingAcknowledgedIsLostWhicheverWriteFails) {
  bool completed = false;
  int64_t n = 1;
  for (; !completed && n < 2000; ++n) {
    const TemporaryFolder folder = *TemporaryFolder::make();
    const std::string path = folder.file("t.db");
    writes_left = n;
    const std::set<int64_t> acknowledged = run_until_failure(path, completed);
    writes_left = INT64_MAX;

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

TEST(WriteFaults, AStoreGoesOnWhenTheDiskComesBack) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  auto store = open_sqlite_store(folder.file("t.db"), {.vfs = fault_vfs()});
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
  writes_left = 1;
  EXPECT_FALSE((*store)->insert(measured(1)).ok());
  writes_left = INT64_MAX;
  EXPECT_TRUE((*store)->insert(measured(1)).ok());
  EXPECT_EQ((*(*store)->best({conv_problem()}))->median_ns(), 1);
}

}  // namespace
}  // namespace tf::database
