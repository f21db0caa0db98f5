#pragma once
// Owns: a disk without room, for all files that this process writes. Does not know: who writes.

#include <sys/resource.h>

#include <csignal>

namespace tf {

// As long as it lives no file grows beyond so many bytes: a write that would is done by half, and the next
// one fails.
class FullDisk {
 public:
  explicit FullDisk(rlim_t file_bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit full = before_;
    full.rlim_cur = file_bytes;
    setrlimit(RLIMIT_FSIZE, &full);
  }
  FullDisk(const FullDisk&) = delete;
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace tf
