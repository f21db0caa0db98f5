#include "device_agent/worker/sandbox/file_access.h"

#include <fcntl.h>
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

enum Right : uint64_t {
  kExecute = 1 << 0,
  kWriteFile = 1 << 1,
  kReadFile = 1 << 2,
  kReadFolder = 1 << 3,
  kTruncate = 1 << 14,
  kControlDevice = 1 << 15,
};

struct __attribute__((packed)) BelowPath {
  uint64_t rights;
  int32_t folder;
};
constexpr int kBelowPath = 1;

// All that can be denied: a right that is handled and that no rule grants is denied.
uint64_t file_rights(long version) {
  const int count = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  return (uint64_t{1} << count) - 1;
}

long version_here() {
  return syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
}

int make_ruleset(long version) {
  const Ruleset all = {.files = file_rights(version),
                       .ports = version >= 4 ? kBindAndConnect : 0,
                       .scopes = version >= 6 ? kAbstractSocketsAndSignals : 0};
  const size_t known_bytes = (version >= 6 ? 3 : version >= 4 ? 2 : 1) * sizeof(uint64_t);
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, &all, known_bytes, 0));
}

int allow_below(int ruleset, const char* path, uint64_t rights) {
  const int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno;
  const BelowPath rule = {rights, folder};
  const int error = syscall(SYS_landlock_add_rule, ruleset, kBelowPath, &rule, 0) == 0 ? 0 : errno;
  close(folder);
  return error;
}

// Closes the ruleset.
int restrict_to(int ruleset) {
  const int error = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0 ? 0 : errno;
  close(ruleset);
  return error;
}

}  // namespace

int forbid_files() {
  const long version = version_here();
  if (version < 1) return version < 0 ? errno : ENOSYS;
  const int ruleset = make_ruleset(version);
  return ruleset < 0 ? errno : restrict_to(ruleset);
}

int forbid_writing(const char* except) {
  const long version = version_here();
  if (version < 1) return version < 0 ? errno : ENOSYS;
  const int ruleset = make_ruleset(version);
  if (ruleset < 0) return errno;
  constexpr uint64_t kUse = kExecute | kReadFile | kReadFolder;
  const uint64_t device = kUse | kWriteFile | ((kTruncate | kControlDevice) & file_rights(version));
  int error = allow_below(ruleset, "/", kUse);
  if (error == 0) error = allow_below(ruleset, "/dev", device);
  if (error == 0) error = allow_below(ruleset, except, file_rights(version));
  if (error == 0) return restrict_to(ruleset);
  close(ruleset);
  return error;
}

}  // namespace tf::worker::sandbox
