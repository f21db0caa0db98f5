#include "tests/support/faulty_disk/faulty_disk.h"

#include <sqlite3.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tf::faulty_disk {
namespace {

std::atomic<int64_t> writes = 0;
std::atomic<int64_t> first_failing = INT64_MAX;
std::atomic<bool> only_once = false;

bool write_fails() {
  const int64_t number = writes.fetch_add(1) + 1;
  return only_once ? number == first_failing : number >= first_failing;
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

void make_default() {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs out = *sqlite3_vfs_find(nullptr);
    out.zName = "faulty_disk";
    out.szOsFile = sizeof(FaultFile);
    out.pAppData = sqlite3_vfs_find(nullptr);
    out.xOpen = fault_open;
    return out;
  }();
  static const int registered = sqlite3_vfs_register(&vfs, /*makeDflt=*/1);
  if (registered != SQLITE_OK) std::abort();
}

}  // namespace

void fail_disk_at(int64_t nth, DiskFault fault) {
  make_default();
  writes = 0;
  only_once = fault == DiskFault::kOnce;
  first_failing = nth;
}

int64_t mend_disk() {
  make_default();
  first_failing = INT64_MAX;
  return writes;
}

void copy_as_after_a_crash(const std::string& from, const std::string& to) {
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(to + part);
  for (const char* part : {"", "-wal"}) std::filesystem::copy_file(from + part, to + part);
}

}  // namespace tf::faulty_disk
