#pragma once
// Owns: what one process offers, from its configuration: devices with their slots, each with a place for its
// state. Does not know: how it is served.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "device_agent/agent/slots/slot_sets.h"
#include "rpc/connection/endpoint.h"

namespace tunefarm::config::v1 {
class DeviceAgent;
}

namespace tf::agent {

struct Offer {
  std::string key;
  std::string id;  // empty: the state folder's own
  std::vector<CpuSet> slots;
  std::string state_dir;
  std::optional<rpc::Endpoint> listen;
  std::string advertise;
};

// Every device of the configuration; `allowed` are the CPUs of this process, `state_folder` is where state
// goes that the configuration gives no place. INVALID_ARGUMENT: a device without key or two with the same,
// both cpus and slots, a CPU twice or not allowed, no HOST:PORT.
absl::StatusOr<std::vector<Offer>> offers_of(const tunefarm::config::v1::DeviceAgent& config,
                                             const CpuSet& allowed, const std::string& state_folder);

// Of all devices together, which share the machine's memory.
size_t slot_count(const std::vector<Offer>& offers);

// What the candidates of one slot may have of the machine's memory: all slots of all devices together leave
// an eighth to the system and this process.
uint64_t slot_memory_bytes(const std::vector<Offer>& offers, uint64_t machine_bytes);

// What artifacts on their way to one device may have of that eighth: half of it for those of all devices.
uint64_t transfer_memory_bytes(const std::vector<Offer>& offers, uint64_t machine_bytes);

}  // namespace tf::agent
