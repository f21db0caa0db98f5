#include "device_agent/agent/machine/cpu_claims.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tf::agent {
namespace {

// Connections that were made to ask for the pid stay here until the process ends.
constexpr int kBacklog = 64;

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;

  // An abstract name begins with a zero byte.
  explicit Name(const std::string& text) {
    address.sun_family = AF_UNIX;
    const size_t length = std::min(text.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, text.data(), length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

OwnedFd new_socket() {
  return OwnedFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// 0: not known.
int64_t holder_of(const Name& name) {
  const OwnedFd asking = new_socket();
  ucred who{};
  socklen_t size = sizeof who;
  if (connect(asking.get(), name.get(), name.size) != 0 ||
      getsockopt(asking.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
    return 0;
  return who.pid;
}

}  // namespace

CpuClaims::CpuClaims(const std::vector<uint32_t>& cpus, const std::string& prefix) {
  for (const uint32_t cpu : cpus) {
    const Name name(absl::StrCat(prefix, cpu));
    OwnedFd claim = new_socket();
    if (bind(claim.get(), name.get(), name.size) == 0 && listen(claim.get(), kBacklog) == 0) {
      held_.push_back(std::move(claim));
      continue;
    }
    if (errno != EADDRINUSE) continue;  // no sockets here: nobody can be told
    const int64_t pid = holder_of(name);
    auto other = std::ranges::find(others_, pid, &ClaimedCpus::pid);
    if (other == others_.end()) other = others_.insert(others_.end(), {.pid = pid, .cpus = {}});
    other->cpus.push_back(cpu);
  }
}

std::vector<std::string> shared_cpu_warnings(const CpuClaims& claims) {
  std::vector<std::string> lines;
  for (const ClaimedCpus& other : claims.of_others()) {
    const std::string who = other.pid == 0 ? "another agent on this machine"
                                           : absl::StrCat("the agent with the process id ", other.pid);
    lines.push_back(absl::StrCat(
        who, " offers ", other.cpus.size() == 1 ? "CPU " : "CPUs ", absl::StrJoin(other.cpus, ","),
        " too: they disturb each other's measurements; stop one of them, or give each its own --slots"));
  }
  return lines;
}

}  // namespace tf::agent
