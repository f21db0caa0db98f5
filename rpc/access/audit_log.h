#pragma once
// Owns: the append-only record of who changed what, one JSON object a line. Does not know: what is worth a
// line.

#include <array>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/access/audit_file.h"
#include "rpc/clock.h"
#include "rpc/periodic_task.h"

namespace tf::rpc {

struct AuditLine {
  std::string who;      // "admin ada"; "nobody" without a certificate
  std::string method;   // "Operators/SetAdmission"
  std::string object;   // what it was done to; empty: nothing of its own
  std::string outcome;  // "ok", or the status
};

// Thread-safe. Three files, each with bounds of its own, so that what comes all day pushes out nothing else:
// FILE for what was changed, FILE.routine, FILE.denied. Lines are written in order, at once, and reach the
// disk in groups, ten times a second at most: each fdatasync of a file that has grown makes all others on
// that disk wait, those of grants too. A crash of the machine loses what the last tenth of a second brought,
// the end of the process nothing that was written. What cannot be written is tried again each second.
class AuditLog {
 public:
  // Appends to the files, which it makes. PERMISSION_DENIED where that is impossible.
  static absl::StatusOr<std::unique_ptr<AuditLog>> open(const std::string& path,
                                                        const WallClock& clock = real_wall_clock(),
                                                        const AuditFileBounds& bounds = {});
  ~AuditLog();  // all lines are on the disk, if it takes them

  // Of each part of the line the first kLongest bytes are kept, cut at a character, without what a terminal
  // obeys (printable): callers choose some of them.
  void record(const AuditLine& line);
  // What members do by themselves, again and again.
  void record_routine(const AuditLine& line);
  // At most kDenials lines a second of each who, then one that says how many were left out: whoever is
  // refused must not be able to fill the disk, or to hide what another tries.
  void record_denial(const AuditLine& line);

  // UNAVAILABLE: what was recorded cannot be written at present, so nothing should be changed. It is kept, up
  // to kMostWaiting bytes.
  absl::Status writable() const;
  // Returns once what was recorded before is on the disk, or why it cannot be written.
  absl::Status flush();

  static constexpr int kDenials = 20;
  static constexpr size_t kLongest = 256;
  static constexpr size_t kMostWaiting = 4 << 20;

 private:
  enum Part { kChanges, kRoutine, kDenied, kParts };
  using Texts = std::array<std::string, kParts>;

  AuditLog(std::array<AuditFile, kParts> files, const WallClock& clock);
  void append(Part part, const AuditLine& line);  // mutex_ is held, as in the next ones
  void count_left_out();
  void fail(const absl::Status& why);
  void mend();
  // Writes what was recorded and, if it is time, syncs it; until it is to be called again. Takes the lock.
  absl::Duration write();

  std::array<AuditFile, kParts> files_;  // of write(), as what says so below
  const WallClock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Texts pending_;
  Texts unwritten_;           // of write(): what it has taken of them
  Instant sync_at_;           // of write()
  Instant try_at_;            // of write(): after a failure
  size_t waiting_bytes_ = 0;  // of both
  uint64_t lost_ = 0;         // lines that found no place among them
  uint64_t recorded_ = 0;     // lines
  uint64_t durable_ = 0;
  int flushing_ = 0;  // who waits for that
  uint64_t failures_ = 0;
  absl::Status failing_;                // OK: all goes well
  int64_t second_ = 0;                  // of the denials that are counted
  std::map<std::string, int> denials_;  // by who
  bool leaves_out_ = false;             // some of them
  PeriodicTask writing_;
};

}  // namespace tf::rpc
