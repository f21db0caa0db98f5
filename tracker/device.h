#pragma once
// Owns: what the tracker knows of a device, and whether it meets a request. Does not know: leases,
// connections.

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tunefarm::farm::v1 {
class AgentHello;
}

namespace tf::tracker {

// One set of CPUs of one device; measures one trial at a time.
struct SlotKey {
  std::string device_id;
  uint32_t slot = 0;
  auto operator<=>(const SlotKey&) const = default;
};

struct SlotOffer {
  uint32_t slot = 0;
  uint32_t threads = 0;
  uint64_t highest_epoch = 0;  // that the agent has ever accepted
};

struct DeviceInfo {
  std::string id;
  std::string key;
  std::string arch;
  std::set<std::string> cpu_features;  // LLVM's names
  uint64_t memory_bytes = 0;
  std::vector<SlotOffer> slots;
  std::string hello;  // the serialized farm.v1.AgentHello that all this comes from
};

struct Requirements {
  std::string arch;  // empty: any
  std::vector<std::string> cpu_features;
  uint32_t min_threads = 0;
  uint64_t min_memory_bytes = 0;
};

// Empty if the slot of this device meets them; else the first thing that is missing, for people.
std::string unmet_requirement(const DeviceInfo& device, const SlotOffer& slot,
                              const Requirements& requirements);

// INVALID_ARGUMENT: no id, key or slot, a slot twice, one without CPUs, or an epoch that no slot can have
// reached. (device_proto.cpp)
absl::StatusOr<DeviceInfo> device_from_proto(const tunefarm::farm::v1::AgentHello& hello);
absl::StatusOr<DeviceInfo> device_from_bytes(const std::string& hello);

}  // namespace tf::tracker
