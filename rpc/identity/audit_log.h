#pragma once
// Owns: the append-only file of who changed what, one JSON object a line. Does not know: what is worth a
// line.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"
#include "rpc/clock.h"

namespace tf::rpc {

struct AuditLine {
  std::string who;      // "admin ada"; "nobody" without a certificate
  std::string method;   // "Operators/SetAdmission"
  std::string object;   // what it was done to; empty: nothing of its own
  std::string outcome;  // "ok", or the status
};

// How much of the disk the log may take. A file that is full becomes FILE.1, what was FILE.1 becomes FILE.2,
// and so on; the last one goes.
struct AuditLogBounds {
  uint64_t file_bytes = 64 << 20;  // a little more, in truth: a group of lines stays together
  int old_files = 15;
};

// Thread-safe. Lines are written in order, at once, and reach the disk in groups, ten times a second at most:
// each fdatasync of a file that has grown makes all others on that disk wait, those of grants too. A crash of
// the machine loses what the last tenth of a second brought, the end of the process nothing that was written.
class AuditLog {
 public:
  // Appends to the file (0600), which it makes if there is none. PERMISSION_DENIED where that is impossible.
  static absl::StatusOr<std::unique_ptr<AuditLog>> open(const std::string& path,
                                                        const WallClock& clock = real_wall_clock(),
                                                        const AuditLogBounds& bounds = {});
  ~AuditLog();  // all lines are on the disk

  // Of each part of the line the first kLongest bytes are kept: callers choose some of them.
  void record(const AuditLine& line);
  // As record, but at most kDenials lines a second, then one that says how many were left out: whoever is
  // refused must not be able to fill the disk.
  void record_denial(const AuditLine& line);
  // Returns once what was recorded before is on the disk.
  void flush();

  static constexpr int kDenials = 20;
  static constexpr size_t kLongest = 256;

 private:
  AuditLog(OwnedFd file, std::string path, const WallClock& clock, const AuditLogBounds& bounds);
  void append(const AuditLine& line);  // mutex_ is held, as in the next one
  void count_left_out();
  void write();
  absl::Status write_out(std::string_view text);  // the writer's thread only, as the next ones
  absl::Status sync();
  absl::Status begin_new_file();
  // Runs without the lock, which is held before and after; an error is only logged.
  void unlocked(std::unique_lock<std::mutex>& lock, const std::function<absl::Status()>& work);

  OwnedFd file_;
  uint64_t file_bytes_ = 0;
  const std::string path_;
  const WallClock& clock_;
  const AuditLogBounds bounds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string pending_;
  uint64_t recorded_ = 0;  // lines
  uint64_t written_ = 0;
  uint64_t durable_ = 0;
  int flushing_ = 0;    // who waits for that
  int64_t second_ = 0;  // of the denials that are counted
  int denials_ = 0;
  bool stop_ = false;
  std::thread writer_;
};

}  // namespace tf::rpc
