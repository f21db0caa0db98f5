#pragma once
// Owns: a whole tracker in this process: state, artifacts, timer, services, server. `tracker serve` and tests
// run it.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/connection/endpoint.h"
#include "rpc/metrics/metric.h"
#include "tracker/ca/members.h"
#include "tracker/farm.h"
#include "tracker/health/power_cycle.h"

namespace tf::tracker {

struct DaemonOptions {
  rpc::Endpoint listen;
  std::string ca_folder;   // as `tracker ca init` made it; empty: plain text, on loopback only
  MembersOptions members;  // the daemon finds out which the tracker's hosts are
  std::vector<std::string> advertise = {};  // further names and addresses under which it is reached
  std::string state_path;                   // artifacts are kept in the folder state_path + ".artifacts"
  uint64_t artifact_bytes = 2ull << 30;
  FarmOptions farm;
  PowerCycleOptions power_cycle;  // without a command: none
};

class Daemon {
 public:
  // Serves from here on. INVALID_ARGUMENT: plain text beyond loopback. ALREADY_EXISTS: port in use.
  // NOT_FOUND: no CA in the folder. StateStore::open's errors.
  static absl::StatusOr<std::unique_ptr<Daemon>> start(DaemonOptions options);
  ~Daemon();
  // With the real port.
  const rpc::Endpoint& endpoint() const;
  // What it shows Prometheus, read through the lock around its whole state. Thread-safe.
  std::vector<rpc::MetricFamily> metrics();
  // Ends all streams; leases stay and go on after a restart.
  void stop();

 private:
  struct Parts;
  explicit Daemon(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tf::tracker
