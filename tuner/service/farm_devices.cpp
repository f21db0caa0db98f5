#include "tuner/service/farm_devices.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tf::service {
namespace {

// As uname -m names it; empty where no agent runs code for it.
std::string machine_of(target::Arch arch) {
  switch (arch) {
    case target::Arch::kX86_64:
      return "x86_64";
    case target::Arch::kAArch64:
      return "aarch64";
    case target::Arch::kArmV7:
      return "armv7l";
    case target::Arch::kRiscV64:
      return "riscv64";
    case target::Arch::kWasm32:
    case target::Arch::kCuda:
    case target::Arch::kOpenCl:
      return "";
  }
  __builtin_unreachable();
}

// Linux lists features by name on these only.
bool tells_features(target::Arch arch) {
  return arch == target::Arch::kX86_64 || arch == target::Arch::kAArch64 || arch == target::Arch::kArmV7;
}

// Empty if the device has all of it.
std::string missing(const FarmDevice& device, const DeviceNeeds& needs) {
  if (!needs.arch.empty() && device.arch != needs.arch) {
    return absl::StrCat("device ", device.id, " is ", device.arch, ", not ", needs.arch);
  }
  for (const std::string& feature : needs.cpu_features) {
    if (!device.cpu_features.contains(feature))
      return absl::StrCat("device ", device.id, " has no ", feature);
  }
  return "";
}

// What a job asks for beside the target.
std::string text_of(const DeviceNeeds& needs) {
  const std::string threads = needs.threads > 1 ? absl::StrCat("a slot of ", needs.threads, " threads") : "";
  const std::string labels = needs.selector.empty() ? "" : absl::StrCat("labels that match ", needs.selector);
  return absl::StrCat(threads, threads.empty() || labels.empty() ? "" : " and ", labels);
}

}  // namespace

DeviceNeeds needs_of(const target::Target& target) {
  DeviceNeeds needs{.arch = machine_of(target.arch), .cpu_features = {}};
  if (!tells_features(target.arch)) return needs;
  for (std::string& feature : target::known_features(target.arch)) {
    if (target.has(feature)) needs.cpu_features.push_back(std::move(feature));
  }
  return needs;
}

absl::Status check_measurable(const target::Target& target) {
  if (!machine_of(target.arch).empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("no device of a farm measures kernels for ", target.text(),
                                          ": agents run them on CPUs (x86_64, aarch64, armv7, riscv64); "
                                          "give the --target of one"));
}

absl::Status check_farm(const FarmView& farm, const std::string& key, const target::Target& target,
                        const DeviceNeeds& needs) {
  if (!farm.device) {
    return absl::NotFoundError(
        absl::StrCat("no device has the key \"", key, "\"; the tracker knows ",
                     farm.known_keys.empty() ? "none yet" : absl::StrJoin(farm.known_keys, ", "),
                     "; start device_agent --key ", key, " or use another key"));
  }
  if (farm.suits) return absl::OkStatus();
  const std::string lacks = missing(*farm.device, needs);
  if (lacks.empty()) {
    // Of a device whose threads would do, only the labels can be at fault.
    const bool has_threads = farm.device->threads >= needs.threads;
    const char* other = needs.selector.empty() ? "fewer --threads"
                        : has_threads          ? "another --selector"
                                               : "another --selector or --threads";
    const std::string labels = absl::StrJoin(farm.device->labels, ",", absl::PairFormatter("="));
    return absl::NotFoundError(
        absl::StrCat("no device with the key \"", key, "\" that runs code for ", target.text(), " has ",
                     text_of(needs), ": device ", farm.device->id, " has ", farm.device->threads,
                     farm.device->threads == 1 ? " thread" : " threads", " and ",
                     labels.empty() ? "no labels" : absl::StrCat("the labels ", labels), "; give ", other));
  }
  return absl::NotFoundError(absl::StrCat("no device with the key \"", key, "\" runs code for ",
                                          target.text(), ": ", lacks,
                                          "; give the --target of the device, or another key"));
}

}  // namespace tf::service
