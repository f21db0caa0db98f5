#include "tracker/device.h"

#include "absl/strings/str_cat.h"

namespace tf::tracker {

std::string unmet_requirement(const DeviceInfo& device, const SlotOffer& slot,
                              const Requirements& requirements) {
  if (!requirements.arch.empty() && device.arch != requirements.arch) {
    return absl::StrCat("arch ", requirements.arch, " (it is ", device.arch, ")");
  }
  for (const std::string& feature : requirements.cpu_features) {
    if (!device.cpu_features.contains(feature)) return absl::StrCat("CPU feature ", feature);
  }
  if (slot.threads < requirements.min_threads) {
    return absl::StrCat(requirements.min_threads, " threads (it has ", slot.threads, ")");
  }
  if (device.memory_bytes < requirements.min_memory_bytes) {
    return absl::StrCat(requirements.min_memory_bytes >> 20, " MiB of memory (it has ",
                        device.memory_bytes >> 20, ")");
  }
  return "";
}

}  // namespace tf::tracker
