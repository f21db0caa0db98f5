#pragma once
// Owns: one device's life in the farm: dials the tracker, keeps one Synchronize stream alive across failures
// of either side, carries what it says to the slots and what they have to tell back, and serves holders that
// can reach it straight. Does not know: how a slot works (SlotRunner), how a trial runs (TrialExecutor), what
// a lease allows (SlotState).

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "device_agent/agent/slots/exclusive_execution.h"
#include "rpc/connection/endpoint.h"

namespace tunefarm::farm::v1 {
class DeviceFacts;
}

namespace tf::rpc {
class Credentials;
}

namespace tf::agent {

class GoldenKernel;
class TrialExecutor;

// CPUs that no other slot of this machine uses, and what runs trials on them.
struct AgentSlot {
  std::vector<uint32_t> cpus;         // at least one
  TrialExecutor* executor = nullptr;  // its own; outlives the agent
};

struct AgentOptions {
  rpc::Endpoint tracker;
  std::shared_ptr<rpc::Credentials> credentials;  // null: plain text
  std::string key;
  std::string id;  // empty: its certificate's name; without one the state folder's own, made at random
  std::string state_dir;
  std::vector<AgentSlot> slots;  // numbered in this order
  std::string version;
  std::map<std::string, std::string> labels;  // that requests may select by
  uint64_t cache_bytes = 512ull << 20;
  uint64_t transfer_bytes = 1024ull << 20;  // of memory, for artifacts on their way here
  const GoldenKernel* golden = nullptr;     // outlives the agent; null: none runs
  absl::Duration golden_every = absl::Minutes(5);
  // This machine's, shared by all agents that serve its devices.
  std::shared_ptr<ExclusiveExecution> exclusive_execution = std::make_shared<ExclusiveExecution>();
  // Where holders of leases reach the agent itself, and under which name (empty: where it listens); unset:
  // nowhere.
  std::optional<rpc::Endpoint> listen;
  std::string advertise;
  // How long stop() waits for the running trial to end by itself, and then for its result to be durable at
  // the tuner.
  absl::Duration stop_grace = absl::Seconds(60);
  absl::Duration acknowledge_grace = absl::Seconds(5);
};

class Agent {
 public:
  // INVALID_ARGUMENT: plain text beyond loopback, no key, no slot, a slot without CPUs, a CPU in two
  // slots. StateDir::open's and rpc::Server::start's errors.
  static absl::StatusOr<std::unique_ptr<Agent>> create(AgentOptions options,
                                                       const tunefarm::farm::v1::DeviceFacts& facts);
  virtual ~Agent() = default;

  virtual const std::string& id() const = 0;
  // Serves until stop(), then returns OK; reconnects for ever. Another status means that the tracker has
  // refused this agent for good: another agent has its id (ALREADY_EXISTS), another protocol version
  // (FAILED_PRECONDITION), a certificate that is not good for this (UNAUTHENTICATED, PERMISSION_DENIED).
  virtual absl::Status run() = 0;
  // Where holders reach it; nothing if it does not listen.
  virtual std::optional<rpc::Endpoint> endpoint() const = 0;
  // Finishes what runs, hands the leases back and makes run() return. Blocks. Thread-safe, once.
  virtual void stop() = 0;
  // Serials of certificates that are good no more, all of them: nobody calls with them, and what they stand
  // for is not loaded. Thread-safe; nothing on plain text.
  virtual void set_revoked(const std::set<std::string>& serials) = 0;
  // Whether a tracker has accepted it, and the stream lasts. Thread-safe.
  virtual bool is_connected() = 0;
  // Returns once it could look at its own state and at each slot's: never if something that holds one hangs,
  // a dead disk for example. Thread-safe.
  virtual void answer() = 0;
};

}  // namespace tf::agent
