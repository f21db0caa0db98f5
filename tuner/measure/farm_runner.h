#pragma once
// Owns: a Runner whose trials run on one leased slot of the farm: acquires, renews and re-acquires the lease,
// uploads artifacts that the tracker lacks, sends trials and keeps every result until it is acknowledged.
// Does not know: how the device runs a trial, or what is done with results.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "rpc/connection/endpoint.h"
#include "tuner/measure/leased_runner.h"
#include "tuner/measure/silence.h"

namespace tf::rpc {
class Credentials;
}

namespace tf::measure {

struct FarmRunnerOptions {
  rpc::Endpoint tracker;
  std::shared_ptr<rpc::Credentials> credentials;  // null: plain text
  std::string device_key;
  // What the device must have; empty and 0: anything. Architecture as uname -m names it, features as LLVM
  // does.
  std::string arch;
  std::vector<std::string> cpu_features;
  std::string gpu;  // back end of the GPU that measures; empty: a CPU does
  uint32_t min_threads = 0;
  std::string selector;  // on the device's labels, as in "room=lab3,!shared"
  int priority = 0;      // -10 to 10, higher is served first
  // Who asks, the same after a restart of the tuner: its new run ends the leases of the dead one. Runners of
  // one process may share it.
  std::string holder;
  uint64_t run_number = 0;  // which run of the holder: a newer one has a higher number; 0: not known
  // The person whose job is measured: the tracker counts the lease against their share, quota and
  // reservations. Empty: against the holder's.
  std::string on_behalf_of = "";
  // What the lease is for, as the tracker lists it: up to 200 printable bytes.
  std::string purpose = "";
  absl::Duration first_wait = absl::Minutes(5);  // for a free device, in connect()
  absl::Duration term = absl::Seconds(60);       // of the lease; renewed at a third of it
  // The runner ends with its first lease instead of acquiring another: from then on run() returns UNAVAILABLE
  // if the lease ended while the trial ran, ABORTED if the trial had not begun or the lease made room.
  bool one_lease = false;
  SilenceLimits silence = {};  // of a device that has trials
  // Called with what trials wait for, a tracker or a device that is away or a lease, each time that this has
  // changed; empty: they have them. Never by two threads at once, and must not call the runner.
  std::function<void(const std::string&)> on_wait = nullptr;
};

// Thread-safe. run() survives the death and return of tracker and agent, the end of the lease and the
// eviction of artifacts: it then measures again, under the next lease if need be, and returns one result.
// Once the tracker or the device is back, that is: until then it waits, and cancel() ends the wait. When
// others wait for the slot, it finishes what is under way, gives the lease back and acquires another. A trial
// under which the lease ends three times against its holder's will is given up as UNAVAILABLE: it may be the
// reason. A device that is silent for longer than its trials may take (silence.h) is told them again, then
// given back, which counts as such an end: so each trial ends, whatever was lost on the way. Trials and
// artifacts go straight to the agent where it can be reached, and through the tracker from the moment when it
// cannot; while the tracker is away the agent goes on with them until the lease's term is over. Once the
// tracker refuses this runner for good (another protocol), run() returns what it said; UNAVAILABLE if that is
// that a newer run of its holder is at work.
class FarmRunner : public LeasedRunner {
 public:
  // Acquires the first lease. INVALID_ARGUMENT: plain text beyond loopback. NOT_FOUND: no device with
  // this key, or none that meets the requirements (exit code 3). UNAVAILABLE: no tracker there, no device
  // free in time, or a newer run of the holder is at work. Its destructor releases the lease.
  static absl::StatusOr<std::unique_ptr<FarmRunner>> connect(FarmRunnerOptions options);

  // Whether its trials go straight to the agent now.
  virtual bool is_direct() const = 0;
};

}  // namespace tf::measure
