#pragma once
// Owns: what a daemon tells the service manager that started it, in systemd's protocol (sd_notify(3)): ready,
// alive, stopping. Does not know: what being alive means.

#include <functional>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "rpc/periodic_task.h"

namespace tf::rpc {

// Thread-safe. What cannot be sent is dropped: a service manager that is away misses nothing that helps it.
class ServiceManager {
 public:
  // As $NOTIFY_SOCKET and $WATCHDOG_USEC say; without them nobody is told. Read in main only.
  static ServiceManager from_environment();

  void ready() const;
  void alive() const;
  void stopping() const;
  // The service is restarted when it has not said for so long that it is alive; none: nobody waits for it.
  std::optional<absl::Duration> watchdog_period() const { return watchdog_period_; }

 private:
  void tell(const std::string& message) const;

  std::string socket_path_;
  std::optional<absl::Duration> watchdog_period_;
};

// Says at least twice in each watchdog period that the daemon is alive, as long as `answers` returns: it goes
// through what may hang, a lock for example. Without a period there is no thread.
class Watchdog {
 public:
  // The manager, and what `answers` uses, must outlive it.
  Watchdog(const ServiceManager& manager, std::function<void()> answers);

 private:
  std::optional<PeriodicTask> ping_;
};

}  // namespace tf::rpc
