#pragma once
// Owns: what the tracker knows of a device, and whether it meets a request. Does not know: leases,
// connections.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tracker/leases/labels.h"

namespace tf::tracker {

// One set of CPUs of one device; measures one trial at a time.
struct SlotKey {
  std::string device_id;
  uint32_t slot = 0;
  auto operator<=>(const SlotKey&) const = default;
};

// Whether a device gets leases, as an operator wants it.
enum class Admission {
  kOpen = 0,
  kCordoned = 1,  // no new lease; the present one may be renewed
  kDraining = 2,  // no new lease, and the present one is not renewed
};

struct SlotOffer {
  uint32_t slot = 0;
  uint32_t threads = 0;
  uint64_t highest_epoch = 0;  // that the agent has ever accepted
};

struct GpuInfo {
  std::string back_end;  // "cuda", "opencl"
  uint64_t memory_bytes = 0;
};

struct DeviceInfo {
  std::string id;
  std::string key;
  std::string arch;
  std::string fingerprint;
  std::vector<std::string> cpu_features;  // LLVM's names, sorted
  uint64_t memory_bytes = 0;
  std::set<std::string> capabilities;  // farm.v1.Capability in lower case, as in "seccomp"
  bool listens = false;                // trials of a lease may go straight to its agent
  std::vector<GpuInfo> gpus;
  Labels labels;
  std::vector<SlotOffer> slots;
  // The serialized farm.v1.AgentHello that all this comes from, without what differs from one session to the
  // next.
  std::string hello;

  bool offers(uint32_t slot) const {
    for (const SlotOffer& each : slots)
      if (each.slot == slot) return true;
    return false;
  }
  bool runs_golden() const { return capabilities.contains("golden_kernel"); }
};

// What one agent certificate may serve, and one hand may lie for: what stands before the first '/' of the id
// (rpc/identity/identity.h, check_may_serve).
std::string board_of(const std::string& device_id);

// What a request may ask for, which is compared with thousands of devices.
inline constexpr size_t kMostRequirementsBytes = 16 << 10;

struct Requirements {
  std::string arch;  // empty: any
  std::set<std::string> cpu_features;
  uint32_t min_threads = 0;
  uint64_t min_memory_bytes = 0;
  Selector selector;
  std::set<std::string> capabilities;
  std::string gpu;  // back end; empty: none is asked for
  uint64_t min_gpu_memory_bytes = 0;
  auto operator<=>(const Requirements&) const = default;
};

// Empty if the slot of this device meets them; else the first thing that is missing, for people.
std::string unmet_requirement(const DeviceInfo& device, const SlotOffer& slot,
                              const Requirements& requirements);

}  // namespace tf::tracker
