#pragma once
// Owns: the two kinds of memory file that the worker uses.

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/files/owned_fd.h"

namespace tf::worker {

// An anonymous, immutable file with this content. RESOURCE_EXHAUSTED if there is not enough memory.
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
