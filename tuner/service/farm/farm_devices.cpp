#include "tuner/service/farm/farm_devices.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/cli/age_text.h"
#include "base/status.h"
#include "compiler/target/cuda_arch.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/identity/credentials.h"

namespace tf::service {
namespace {

namespace farm = tunefarm::farm::v1;

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

// The back end of a GPU's target; empty where agents have none for it.
std::string gpu_of(target::Arch arch) {
  const bool is_gpu = arch == target::Arch::kOpenCl || arch == target::Arch::kCuda;
  return is_gpu ? std::string(target::arch_name(arch)) : "";
}

// By the label that its agent gives it.
std::string other_gpu(const FarmDevice& device, const DeviceNeeds& needs) {
  const auto label = device.labels.find("gpu-arch");
  int capability = 0;
  if (needs.gpu_target.empty() || label == device.labels.end() || !label->second.starts_with("sm_") ||
      !absl::SimpleAtoi(label->second.substr(3), &capability))
    return "";
  const absl::StatusOr<target::Target> target = target::parse_target(needs.gpu_target);
  if (!target.ok() || target::runs_on_capability(*target, capability)) return "";
  return absl::StrCat("device ", device.id, " is ", label->second, ", which does not run code for ",
                      target->text());
}

// Empty if the device has all of it.
std::string missing(const FarmDevice& device, const DeviceNeeds& needs) {
  if (!needs.gpu.empty() && !device.gpus.contains(needs.gpu))
    return absl::StrCat("device ", device.id, " does not measure on a GPU for ", needs.gpu);
  if (const std::string why = other_gpu(device, needs); !why.empty()) return why;
  if (needs.gpu.empty() && !device.gpus.empty())
    return absl::StrCat("device ", device.id, " measures on a GPU for ", absl::StrJoin(device.gpus, ", "));
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

// Asked again and again, and waited for by who stops.
constexpr absl::Duration kLookTimeout = absl::Seconds(5);

FarmDevice device_from_proto(const farm::Device& device) {
  const auto& features = device.facts().cpu_features();
  int threads = 0;
  for (const farm::Slot& slot : device.slots()) threads = std::max(threads, slot.cpus_size());
  std::set<std::string> gpus;
  for (const farm::Gpu& gpu : device.facts().gpus()) gpus.insert(gpu.back_end());
  return {.id = device.device_id(),
          .key = device.device_key(),
          .arch = device.facts().arch(),
          .cpu_features = {features.begin(), features.end()},
          .gpus = std::move(gpus),
          .threads = static_cast<uint32_t>(threads),
          .labels = {device.labels().begin(), device.labels().end()}};
}

// Why the device gives the user no lease.
std::string trouble_of(const farm::Device& device, const std::string& user) {
  if (!device.online()) return "is away";
  if (device.health() == farm::HEALTH_QUARANTINED) {
    // A tracker from before does not say since when.
    return device.has_health_since_ms() ? "has been quarantined" : "is quarantined";
  }
  if (device.stopping()) return "is stopping";
  if (device.admission() == farm::ADMISSION_CORDONED) return "is cordoned";
  if (device.admission() == farm::ADMISSION_DRAINING) return "is draining";
  const bool is_kept = !device.reserved_for().empty() && device.reserved_for() != user;
  return is_kept ? absl::StrCat("is reserved for ", device.reserved_for()) : "";
}

void add_slots(const farm::Device& device, const DeviceNeeds& needs, const SlotSeeker& seeker,
               std::vector<FarmSlot>& slots) {
  const std::string trouble = trouble_of(device, seeker.person.empty() ? seeker.user : seeker.person);
  const bool is_quarantined = device.online() && device.health() == farm::HEALTH_QUARANTINED;
  std::optional<absl::Duration> troubled_for;
  if (is_quarantined && device.has_health_since_ms())
    troubled_for = absl::Milliseconds(device.health_since_ms());
  for (const farm::Slot& slot : device.slots()) {
    if (static_cast<uint32_t>(slot.cpus_size()) < needs.threads) continue;
    const std::string holder = slot.has_lease() ? slot.holder() : "";
    // A secured tracker puts the user's name before what a holder calls itself.
    const bool is_ours = !holder.empty() &&
                         (holder == seeker.holder || holder == absl::StrCat(seeker.user, ":", seeker.holder));
    slots.push_back({.device = device.device_id(),
                     .number = slot.slot(),
                     .holder = holder,
                     .trouble = trouble,
                     .reason = is_quarantined ? device.health_reason() : "",
                     .troubled_for = troubled_for,
                     .is_ours = is_ours});
  }
}

void require(const DeviceNeeds& needs, farm::Requirements& requirements) {
  requirements.set_arch(needs.arch);
  requirements.set_gpu(needs.gpu);
  for (const std::string& feature : needs.cpu_features) requirements.add_cpu_features(feature);
}

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
  DeviceNeeds needs{.arch = machine_of(target.arch), .cpu_features = {}, .gpu = gpu_of(target.arch)};
  if (target.arch == target::Arch::kCuda) needs.gpu_target = target.text();
  if (!tells_features(target.arch)) return needs;
  for (std::string& feature : target::known_features(target.arch)) {
    if (target.has(feature)) needs.cpu_features.push_back(std::move(feature));
  }
  return needs;
}

std::string target_of_machine(const std::string& machine) {
  return machine == "armv7l" ? "armv7" : machine;
}

absl::Status check_measurable(const target::Target& target) {
  if (!machine_of(target.arch).empty() || !gpu_of(target.arch).empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "farm devices cannot measure kernels for ", target.text(),
      ": agents support CPUs (x86_64, aarch64, armv7, riscv64), opencl and cuda; give such a --target"));
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

absl::StatusOr<std::vector<FarmSlot>> look_at_slots(const rpc::Endpoint& tracker,
                                                    const std::shared_ptr<rpc::Credentials>& credentials,
                                                    const std::string& key, const DeviceNeeds& needs,
                                                    const SlotSeeker& seeker) {
  TF_RETURN_IF_ERROR(rpc::require_protection(tracker, "--tracker", credentials));
  const auto stub = farm::Operators::NewStub(rpc::make_channel(tracker, credentials, rpc::Role::kTracker));
  farm::ListDevicesRequest request;
  request.set_device_key(key);
  require(needs, *request.mutable_requirements());
  request.mutable_requirements()->set_min_threads(needs.threads);
  request.mutable_requirements()->set_selector(needs.selector);
  std::vector<FarmSlot> slots;
  do {
    grpc::ClientContext context;
    rpc::set_deadline(context, kLookTimeout);
    farm::ListDevicesReply reply;
    TF_RETURN_IF_ERROR(rpc::from_grpc(stub->ListDevices(&context, request, &reply), "tracker", tracker,
                                      credentials != nullptr));
    for (const farm::Device& device : reply.devices()) add_slots(device, needs, seeker, slots);
    request.set_page_token(reply.next_page_token());
  } while (!request.page_token().empty());
  return slots;
}

absl::StatusOr<FarmView> look_at_farm(const rpc::Endpoint& tracker,
                                      const std::shared_ptr<rpc::Credentials>& credentials,
                                      const std::string& key, const DeviceNeeds& needs) {
  TF_RETURN_IF_ERROR(rpc::require_protection(tracker, "--tracker", credentials));
  const auto stub = farm::Operators::NewStub(rpc::make_channel(tracker, credentials, rpc::Role::kTracker));
  farm::ListDevicesRequest request;
  request.set_device_key(key);
  request.set_page_size(1);
  require(needs, *request.mutable_requirements());
  std::vector<farm::ListDevicesRequest> asks(3, request);
  asks[0].mutable_requirements()->set_min_threads(needs.threads);
  asks[0].mutable_requirements()->set_selector(needs.selector);
  asks[2].clear_requirements();
  if (needs.threads <= 1 && needs.selector.empty()) asks.erase(asks.begin() + 1);
  // One that suits, or else one that comes near as an example.
  FarmView view;
  farm::ListDevicesReply reply;
  for (size_t i = 0; i < asks.size() && !view.device; ++i) {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(10));
    TF_RETURN_IF_ERROR(rpc::from_grpc(stub->ListDevices(&context, asks[i], &reply), "tracker", tracker,
                                      credentials != nullptr));
    if (!reply.devices().empty()) view.device = device_from_proto(reply.devices(0));
    view.suits = view.device && i == 0;
  }
  view.known_keys = {reply.known_keys().begin(), reply.known_keys().end()};
  return view;
}

}  // namespace tf::service
