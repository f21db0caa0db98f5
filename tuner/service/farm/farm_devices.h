#pragma once
// Owns: which devices a farm has, and whether one of them can run what a job compiles. Does not know: leases,
// trials.

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
#include "compiler/target/target.h"
#include "rpc/connection/endpoint.h"

namespace tf::rpc {
class Credentials;
}

namespace tf::service {

struct FarmDevice {
  std::string id;
  std::string key;
  std::string arch;                    // as uname -m names it
  std::set<std::string> cpu_features;  // LLVM's names
  std::set<std::string> gpus;          // back ends of those that it measures on; none: on its CPUs
  uint32_t threads = 0;                // of its largest slot
  std::map<std::string, std::string> labels;
};

// What a device must have, in the words of FarmDevice: to run code for a target, and beyond that what the
// job asks for.
struct DeviceNeeds {
  std::string arch;  // empty: any
  std::vector<std::string> cpu_features;
  std::string gpu;         // back end of the GPU that measures; empty: a CPU does
  std::string gpu_target;  // canonical text, of a device that tells its architecture; empty: any
  uint32_t threads = 0;    // of one slot
  std::string selector;    // of its labels, as the tracker reads them; empty: any
};

// Every feature that code for the target may use and that an agent can tell of its device: a kernel with an
// instruction that the device lacks would only crash.
DeviceNeeds needs_of(const target::Target& target);

// The plainest target of a machine that uname -m names so: code for it runs on each of them.
std::string target_of_machine(const std::string& machine);

// NOT_FOUND for a target for which no device of any farm can measure: agents run kernels on CPUs, OpenCL
// devices and CUDA devices, but not wasm32.
absl::Status check_measurable(const target::Target& target);

// As much of a farm as a job needs to know before it is queued, however large the farm is.
struct FarmView {
  // One with the key: one that has what is needed if there is any, or else one that at least runs the code.
  std::optional<FarmDevice> device;
  bool suits = false;                   // it has all that is needed
  std::vector<std::string> known_keys;  // those most like the key, ten at most
};

// `key` empty: any device, and some keys. UNAVAILABLE: no tracker answers there. INVALID_ARGUMENT: the
// selector cannot be read.
absl::StatusOr<FarmView> look_at_farm(const rpc::Endpoint& tracker,
                                      const std::shared_ptr<rpc::Credentials>& credentials,
                                      const std::string& key = "", const DeviceNeeds& needs = {});

// Who looks at a farm's slots.
struct SlotSeeker {
  std::string holder;  // as it acquires leases
  std::string user;    // the tuner's name, which a secured tracker puts before that
  std::string person;  // on whose behalf it acquires them; empty: the tuner's own
};

// A slot of a device with a job's key that meets its needs.
struct FarmSlot {
  std::string device;
  uint32_t number = 0;
  std::string holder;   // of its lease; empty: free
  std::string trouble;  // why its device gets no lease now, as in "is away"; empty: it gets one
  std::string reason;   // of the trouble; empty: it has none
  std::optional<absl::Duration> troubled_for;
  bool is_ours = false;  // the holder is the seeker

  std::string name() const;  // "DEVICE/SLOT"
};

// What a farm has for one kind of job at one moment.
struct SlotSupply {
  std::set<std::string> usable;     // names of slots that are free, or held by the seeker
  std::set<std::string> elsewhere;  // of those that others hold
  std::string why_none;             // for people: who holds the others, or what is wrong with their devices
  bool operator==(const SlotSupply&) const = default;
};

// `key` is for people.
SlotSupply supply_of(const std::vector<FarmSlot>& slots, const std::string& key);

// All slots with the key that meet the needs. UNAVAILABLE: no tracker answers there. INVALID_ARGUMENT: the
// selector cannot be read.
absl::StatusOr<std::vector<FarmSlot>> look_at_slots(const rpc::Endpoint& tracker,
                                                    const std::shared_ptr<rpc::Credentials>& credentials,
                                                    const std::string& key, const DeviceNeeds& needs,
                                                    const SlotSeeker& seeker);

// NOT_FOUND if no device has the key, naming some that exist, or if none that has it runs code for the
// target, or has the threads and labels that are needed, naming what is missing.
absl::Status check_farm(const FarmView& farm, const std::string& key, const target::Target& target,
                        const DeviceNeeds& needs);

}  // namespace tf::service
