#include "device_agent/worker/sandbox/file_access.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace tf::worker::sandbox {
namespace {

// As in linux/landlock.h, which on the systems that we build on knows only the first versions.
struct Ruleset {
  uint64_t files;
  uint64_t ports;   // from version 4 on
  uint64_t scopes;  // from version 6 on
};
constexpr uint32_t kAskVersion = 1;
constexpr uint64_t kBindAndConnect = 3, kAbstractSocketsAndSignals = 3;

// All that can be denied: a right that is handled and that no rule grants is denied.
uint64_t file_rights(long version) {
  const int count = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  return (uint64_t{1} << count) - 1;
}

}  // namespace

int forbid_files() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  if (version < 1) return version < 0 ? errno : ENOSYS;
  const Ruleset all = {.files = file_rights(version),
                       .ports = version >= 4 ? kBindAndConnect : 0,
                       .scopes = version >= 6 ? kAbstractSocketsAndSignals : 0};
  const size_t known_bytes = (version >= 6 ? 3 : version >= 4 ? 2 : 1) * sizeof(uint64_t);
  const auto ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &all, known_bytes, 0));
  if (ruleset < 0) return errno;
  const int error = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0 ? 0 : errno;
  close(ruleset);
  return error;
}

}  // namespace tf::worker::sandbox
