#pragma once
// Owns: two hosts on one machine: two network namespaces, each with an address of its own, and a cable (veth)
// between them that can be pulled, or that swallows what is sent. Does not know: what runs on them.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/farm/harness.h"

namespace tf::farm_test {

class TwoHosts {
 public:
  // UNAVAILABLE where the kernel lets this user make no namespaces, or without the programs ip, unshare and
  // nsenter.
  static absl::StatusOr<std::unique_ptr<TwoHosts>> make();

  // What to put before a command so that it runs on host 0 or 1.
  std::vector<std::string> on(int host) const;
  // Under which this process sees the host's files.
  std::string root_of(int host) const;
  // Of host 0 or 1. It lies in 127.0.0.0/8, where plain text is allowed, but leads over the cable.
  static std::string address(int host);
  // Runs a shell command on a host. INTERNAL with what it printed if it fails.
  absl::Status shell(int host, const std::string& command) const;

  // The cable is pulled: both ends see it at once.
  absl::Status pull_cable() const { return shell(0, "ip link set cable down"); }
  absl::Status plug_cable() const { return shell(0, "ip link set cable up"); }
  // Host 1's packets to host 0 vanish, and nobody is told.
  absl::Status swallow() const { return shell(1, "ip route add blackhole " + address(0)); }
  absl::Status stop_swallowing() const { return shell(1, "ip route del blackhole " + address(0)); }

 private:
  explicit TwoHosts(std::vector<std::unique_ptr<Process>> hosts) : hosts_(std::move(hosts)) {}
  const std::vector<std::unique_ptr<Process>> hosts_;  // a process that sleeps in each
};

}  // namespace tf::farm_test
