#include "rpc/daemon/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/files/owned_fd.h"

namespace tf::rpc {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

ServiceManager ServiceManager::from_environment() {
  ServiceManager manager;
  manager.socket_path_ = variable("NOTIFY_SOCKET");
  int64_t period_us = 0;
  int pid = 0;
  // With the id of another process, its parent's for example, the period is not for this one.
  const std::string watched = variable("WATCHDOG_PID");
  const bool is_ours = watched.empty() || (absl::SimpleAtoi(watched, &pid) && pid == getpid());
  if (is_ours && absl::SimpleAtoi(variable("WATCHDOG_USEC"), &period_us) && period_us > 0)
    manager.watchdog_period_ = absl::Microseconds(period_us);
  return manager;
}

void ServiceManager::ready() const {
  tell("READY=1");
}

void ServiceManager::alive() const {
  tell("WATCHDOG=1");
}

void ServiceManager::stopping() const {
  tell("STOPPING=1");
}

void ServiceManager::tell(const std::string& message) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path_.empty() || socket_path_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_path_.data(), socket_path_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // a name without a file
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_path_.size());
  const OwnedFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return;
  [[maybe_unused]] const ssize_t sent =
      ::sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&address), size);
}

Watchdog::Watchdog(const ServiceManager& manager, std::function<void()> answers) {
  const std::optional<absl::Duration> period = manager.watchdog_period();
  if (!period) return;
  ping_.emplace([&manager, answers = std::move(answers), every = *period / 3] {
    answers();
    manager.alive();
    return every;
  });
}

}  // namespace tf::rpc
