#pragma once
// Owns: a file descriptor that closes itself, and the two kinds of memory file that the worker uses.

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace tf::worker {

class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd();
  int get() const { return fd_; }
  void reset() { *this = OwnedFd(); }

 private:
  int fd_ = -1;
};

// An anonymous file with this content that nobody can change any more. RESOURCE_EXHAUSTED if there is no
// memory.
absl::StatusOr<OwnedFd> sealed_file(const char* name, std::string_view content);

// Memory shared with a child: zeroed, of fixed size.
class SharedMemory {
 public:
  static absl::StatusOr<SharedMemory> create(uint64_t bytes);
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory other) noexcept;
  ~SharedMemory();
  const uint8_t* data() const { return data_; }
  uint64_t size_bytes() const { return bytes_; }
  int fd() const { return file_.get(); }

 private:
  OwnedFd file_;
  const uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace tf::worker
