#include "tuner/service/farm_devices.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/cli/age_text.h"

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

// Changes no more than once a minute: whoever waits is told of each change.
std::string minutes_text(absl::Duration lasted) {
  const int64_t minutes = absl::ToInt64Minutes(lasted);
  if (minutes < 1) return "less than a minute";
  return minutes < 60 ? absl::StrCat(minutes, "m") : age_text(60 * minutes);
}

// Devices that have the same trouble for the same reason.
struct TroubledDevices {
  std::map<std::string, std::optional<absl::Duration>> by_id;  // for how long

  void add(const FarmSlot& slot) { by_id.emplace(slot.device, slot.troubled_for); }

  // "the device a1 of key kN has been quarantined for 12m: REASON"; of several, the first is the example.
  std::string text(const std::string& trouble, const std::string& reason, const std::string& key) const {
    const auto& [id, lasted] = *by_id.begin();
    return absl::StrCat(
        by_id.size() == 1 ? absl::StrCat("the device ", id, " of key ", key, " ")
                          : absl::StrCat(by_id.size(), " devices of key ", key, ", such as ", id, ", which "),
        trouble, lasted ? absl::StrCat(" for ", minutes_text(*lasted)) : "",
        reason.empty() ? "" : absl::StrCat(": ", reason));
  }
};

}  // namespace

std::string FarmSlot::name() const {
  return absl::StrCat(device, "/", number);
}

SlotSupply supply_of(const std::vector<FarmSlot>& slots, const std::string& key) {
  SlotSupply supply;
  std::map<std::string, size_t> leased;                                     // by holder
  std::map<std::pair<std::string, std::string>, TroubledDevices> troubled;  // by trouble and its reason
  for (const FarmSlot& slot : slots) {
    if (slot.is_ours || (slot.holder.empty() && slot.trouble.empty())) {
      supply.usable.insert(slot.name());
    } else if (!slot.holder.empty()) {
      ++leased[slot.holder];
      if (slot.trouble.empty()) supply.elsewhere.insert(slot.name());
    }
    if (!slot.trouble.empty()) troubled[{slot.trouble, slot.reason}].add(slot);
  }
  std::vector<std::string> reasons;
  size_t all = 0;
  std::vector<std::string> holders;
  for (const auto& [holder, count] : leased) {
    all += count;
    holders.push_back(leased.size() == 1 ? holder : absl::StrCat(holder, " (", count, ")"));
  }
  if (all > 0) {
    reasons.push_back(absl::StrCat(all, " of key ", key, all == 1 ? " is" : " are", " leased by ",
                                   absl::StrJoin(holders, ", ")));
  }
  for (const auto& [what, devices] : troubled) reasons.push_back(devices.text(what.first, what.second, key));
  if (reasons.empty() && supply.usable.empty()) reasons.push_back(absl::StrCat("no device of key ", key));
  if (!reasons.empty())
    supply.why_none = absl::StrCat(absl::StrJoin(reasons, "; "), "; see `tracker devices`");
  return supply;
}

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
  return absl::NotFoundError(
      absl::StrCat("farm devices cannot measure kernels for ", target.text(),
                   ": agents support CPUs (x86_64, aarch64, armv7, riscv64); give such a --target"));
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
