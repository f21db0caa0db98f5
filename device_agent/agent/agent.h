#pragma once
// Owns: the agent's life: dials the tracker, keeps one Synchronize stream alive across failures of either
// side, runs the trials of its lease one after another and reports them until they are acknowledged. Does not
// know: how a trial runs (TrialExecutor), what a lease allows (SlotState).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/endpoint.h"

namespace tunefarm::farm::v1 {
class DeviceFacts;
}

namespace tf::agent {

class TrialExecutor;

struct AgentOptions {
  rpc::Endpoint tracker;
  std::string key;
  std::string id;  // empty: the state folder's own, made at random on the first use
  std::string state_dir;
  std::vector<uint32_t> cpus;  // of its one slot, at least one
  std::string version;
  uint64_t cache_bytes = 512ull << 20;
  // How long stop() waits for the running trial to end, and then for its result to be durable at the tuner.
  absl::Duration stop_grace = absl::Seconds(60);
  absl::Duration acknowledge_grace = absl::Seconds(5);
};

class Agent {
 public:
  // INVALID_ARGUMENT: the tracker is not on loopback, no key, no CPU. StateDir::open's errors. The executor
  // must outlive the agent.
  static absl::StatusOr<std::unique_ptr<Agent>> create(AgentOptions options,
                                                       const tunefarm::farm::v1::DeviceFacts& facts,
                                                       TrialExecutor& executor);
  ~Agent();

  const std::string& id() const;
  // Serves until stop(), then returns OK; reconnects for ever. Another status means that the tracker has
  // refused this agent for good: its id was taken over (ALREADY_EXISTS), another protocol version
  // (FAILED_PRECONDITION).
  absl::Status run();
  // Finishes what runs, hands the lease back and makes run() return. Blocks. Thread-safe, once.
  void stop();

 private:
  class Impl;
  explicit Agent(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tf::agent
