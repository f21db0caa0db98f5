#include "tests/support/moved_clock/moved_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/files/owned_fd.h"

namespace tf::test {

MovedClock::MovedClock() : folder_(*TemporaryFolder::make()) {
  const OwnedFd file(open(folder_.file("ahead_ns").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  TF_CHECK(file.get() >= 0 && ftruncate(file.get(), sizeof *ahead_ns_) == 0);
  void* const mapped = mmap(nullptr, sizeof *ahead_ns_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  TF_CHECK(mapped != MAP_FAILED);
  ahead_ns_ = static_cast<int64_t*>(mapped);
}

MovedClock::~MovedClock() {
  munmap(ahead_ns_, sizeof *ahead_ns_);
}

std::vector<std::string> MovedClock::prefix() const {
  return {"/usr/bin/env", "LD_PRELOAD=" TF_PRELOADED_CLOCK, "TF_MOVED_CLOCK=" + folder_.file("ahead_ns")};
}

void MovedClock::set(absl::Duration ahead) {
  __atomic_store_n(ahead_ns_, absl::ToInt64Nanoseconds(ahead), __ATOMIC_SEQ_CST);
}

}  // namespace tf::test
