#pragma once
// Owns: LeasedRunner, a Runner on one leased slot, and what is known of that slot. Implementation:
// FarmRunner. Does not know: how a lease is acquired.

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/measure/runner.h"

namespace tf::measure {

// The slot that is leased, with what is asked of its device.
struct LeasedDevice {
  std::string lease_id;
  uint64_t epoch = 0;
  std::string device_id;
  uint32_t slot = 0;
  uint32_t threads = 0;  // CPUs of the slot
  std::string fingerprint;
  std::string cpu_model;
  double peak_gflops = 0;
  uint32_t gpu_units = 0;
  std::string direct_endpoint;  // where its agent can be reached, if it says so

  // "DEVICE/SLOT", as in TrialResult.slot.
  std::string slot_name() const { return device_id + "/" + std::to_string(slot); }
  tunefarm::farm::v1::DeviceState state() const;
};

// Thread-safe.
class LeasedRunner : public Runner {
 public:
  // As of the newest lease.
  virtual LeasedDevice leased_device() const = 0;
  int slots() const override { return 1; }
  absl::StatusOr<tunefarm::farm::v1::DeviceState> device() override;
  double peak_gflops() override { return leased_device().peak_gflops; }
  uint32_t gpu_units() override { return leased_device().gpu_units; }
  // The runner measures nothing more, whatever is asked of it.
  virtual bool has_ended() const = 0;
  // The tracker has lost its device, which may come back. Not so while there is no tracker to say it.
  virtual bool is_device_away() const = 0;
};

}  // namespace tf::measure
