#include "device_agent/worker/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::worker {
namespace {

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

// Systems may make memory files non-executable by default; kernels before 6.3 do not know the flag that asks.
absl::StatusOr<OwnedFd> memory_file(const char* name) {
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a memory file: ", std::strerror(errno)));
  return OwnedFd(fd);
}

absl::Status no_memory(uint64_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot get ", bytes >> 10, " KiB of shared memory: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<OwnedFd> sealed_file(const char* name, std::string_view content) {
  TF_ASSIGN_OR_RETURN(OwnedFd file, memory_file(name));
  std::string_view left = content;
  while (!left.empty()) {
    const ssize_t n = ::write(file.get(), left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return no_memory(content.size());
    left.remove_prefix(static_cast<size_t>(n));
  }
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    return no_memory(content.size());
  }
  return file;
}

absl::StatusOr<SharedMemory> SharedMemory::create(uint64_t bytes) {
  SharedMemory memory;
  TF_ASSIGN_OR_RETURN(memory.file_, memory_file("tf_result"));
  if (::ftruncate(memory.fd(), static_cast<off_t>(bytes)) != 0) return no_memory(bytes);
  // The size is sealed: a child that shrank the file would make our reads fault.
  if (::fcntl(memory.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return no_memory(bytes);
  void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, memory.fd(), 0);
  if (data == MAP_FAILED) return no_memory(bytes);
  memory.data_ = static_cast<const uint8_t*>(data);
  memory.bytes_ = bytes;
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), bytes_);
}

}  // namespace tf::worker
