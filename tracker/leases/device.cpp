#include "tracker/leases/device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tf::tracker {

namespace {

std::string mebibytes(uint64_t bytes) {
  return absl::StrCat(bytes >> 20, " MiB");
}

std::string unmet_gpu(const DeviceInfo& device, const Requirements& requirements) {
  if (requirements.gpu.empty()) return device.gpus.empty() ? "" : "CPUs to measure on (it measures on a GPU)";
  uint64_t most = 0;
  bool any = false;
  for (const GpuInfo& gpu : device.gpus) {
    if (gpu.back_end != requirements.gpu) continue;
    any = true;
    most = std::max(most, gpu.memory_bytes);
  }
  if (!any) return absl::StrCat("a GPU for ", requirements.gpu);
  if (most >= requirements.min_gpu_memory_bytes) return "";
  return absl::StrCat("a GPU with ", mebibytes(requirements.min_gpu_memory_bytes), " (it has ",
                      mebibytes(most), ")");
}

}  // namespace

std::string board_of(const std::string& device_id) {
  return device_id.substr(0, device_id.find('/'));
}

std::string unmet_requirement(const DeviceInfo& device, const SlotOffer& slot,
                              const Requirements& requirements) {
  if (!requirements.arch.empty() && device.arch != requirements.arch) {
    return absl::StrCat("arch ", requirements.arch, " (it is ", device.arch, ")");
  }
  for (const std::string& feature : requirements.cpu_features) {
    if (!std::ranges::binary_search(device.cpu_features, feature))
      return absl::StrCat("CPU feature ", feature);
  }
  if (slot.threads < requirements.min_threads) {
    return absl::StrCat(requirements.min_threads, " threads (it has ", slot.threads, ")");
  }
  if (device.memory_bytes < requirements.min_memory_bytes) {
    return absl::StrCat(mebibytes(requirements.min_memory_bytes), " of memory (it has ",
                        device.memory_bytes >> 20, ")");
  }
  if (const std::string label = requirements.selector.unmet(device.labels); !label.empty()) {
    return absl::StrCat("labels with ", label);
  }
  for (const std::string& capability : requirements.capabilities) {
    if (!device.capabilities.contains(capability)) return absl::StrCat("the capability ", capability);
  }
  return unmet_gpu(device, requirements);
}

}  // namespace tf::tracker
