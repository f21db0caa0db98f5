#pragma once
// Owns: LeasedRunner, a Runner on one leased slot, and what is known of that slot. Implementation:
// FarmRunner. Does not know: how a lease is acquired.

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/measure/runner.h"

namespace tf::measure {

// The slot that is leased, with the device's raw facts.
struct LeasedDevice {
  std::string lease_id;
  uint64_t epoch = 0;
  std::string device_id;
  uint32_t slot = 0;
  uint32_t threads = 0;  // CPUs of the slot
  std::string fingerprint;
  std::string arch;
  std::string cpu_model;
  std::string cpu_vendor;
  uint32_t cpu_family = 0;
  uint32_t cpu_model_number = 0;
  std::vector<std::string> cpu_features;  // LLVM's names
  uint32_t cores = 0;
  uint64_t memory_bytes = 0;
  uint64_t l1d_bytes = 0;
  uint64_t l2_bytes = 0;
  uint64_t l3_bytes = 0;
  double peak_gflops = 0;
  std::string direct_endpoint;  // where its agent can be reached, if it says so

  // "DEVICE/SLOT", as in TrialResult.slot.
  std::string slot_name() const { return device_id + "/" + std::to_string(slot); }
};

// Thread-safe.
class LeasedRunner : public Runner {
 public:
  // As of the newest lease.
  virtual LeasedDevice leased_device() const = 0;
  // The runner measures nothing more, whatever is asked of it.
  virtual bool has_ended() const = 0;
  // The tracker has lost its device, which may come back. Not so while there is no tracker to say it.
  virtual bool is_device_away() const = 0;
};

}  // namespace tf::measure
