#include "device_agent/agent/offer.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/machine/cpu_list.h"
#include "base/remedy.h"
#include "base/status.h"
#include "proto/config/v1/farm.pb.h"
#include "rpc/transfer/artifact_store.h"

namespace tf::agent {
namespace {

using tunefarm::config::v1::Device;
using tunefarm::config::v1::DeviceAgent;

absl::StatusOr<std::vector<CpuSet>> slots_of(const Device& device, const CpuSet& allowed) {
  if (!device.slots().empty() && !device.cpus().empty()) {
    return with_remedy(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat("--cpus ", device.cpus(), " makes one slot, --slots ", device.slots(), " several"),
        "give one of them");
  }
  std::vector<CpuSet> slots = {allowed};
  if (!device.slots().empty()) {
    TF_ASSIGN_OR_RETURN(slots, parse_slots(device.slots()));
    TF_RETURN_IF_ERROR(check_slots(slots, allowed, absl::StrCat("--slots ", device.slots())));
  } else if (!device.cpus().empty()) {
    TF_ASSIGN_OR_RETURN(slots.front(), parse_cpu_list(device.cpus()));
    std::ranges::sort(slots.front());
    TF_RETURN_IF_ERROR(check_slots(slots, allowed, absl::StrCat("--cpus ", device.cpus())));
  }
  return slots;
}

absl::StatusOr<Offer> offer_of(const Device& device, const CpuSet& allowed) {
  if (device.key().empty())
    return with_remedy(absl::StatusCode::kInvalidArgument, "a device needs a key",
                       "give --key NAME, the same for equal devices");
  Offer offer{.key = device.key(), .id = device.id(), .advertise = device.advertise()};
  TF_ASSIGN_OR_RETURN(offer.slots, slots_of(device, allowed));
  if (!device.listen().empty()) {
    TF_ASSIGN_OR_RETURN(offer.listen, rpc::parse_endpoint(device.listen()));
  } else if (!device.advertise().empty()) {
    return with_remedy(absl::StatusCode::kInvalidArgument,
                       absl::StrCat("--advertise ", device.advertise(), " has no effect without --listen"),
                       "give both or neither", Between::kSemicolon);
  }
  if (!device.advertise().empty()) TF_RETURN_IF_ERROR(rpc::parse_endpoint(device.advertise()).status());
  return offer;
}

std::vector<Device> devices_of(const DeviceAgent& config) {
  if (!config.devices().empty()) return {config.devices().begin(), config.devices().end()};
  Device only;
  only.set_key(config.key());
  only.set_id(config.id());
  only.set_cpus(config.cpus());
  only.set_slots(config.slots());
  only.set_listen(config.listen());
  only.set_advertise(config.advertise());
  return {only};
}

}  // namespace

absl::StatusOr<std::vector<Offer>> offers_of(const DeviceAgent& config, const CpuSet& allowed,
                                             const std::string& state_folder) {
  if (!config.devices().empty() && !config.key().empty()) {
    return with_remedy(absl::StatusCode::kInvalidArgument,
                       absl::StrCat("the key ", config.key(), " beside ", config.devices_size(), " devices"),
                       "give each device its own key instead");
  }
  std::vector<Offer> offers;
  std::vector<CpuSet> all_slots;
  std::set<std::string> keys;
  for (const Device& device : devices_of(config)) {
    TF_ASSIGN_OR_RETURN(Offer offer, offer_of(device, allowed));
    if (!keys.insert(offer.key).second)
      return with_remedy(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("two devices with the key ", offer.key), "make one of them a slot");
    const std::string own = absl::StrCat("/agent-", offer.key);
    offer.state_dir = config.state_dir().empty() ? state_folder + own
                      : config.devices().empty() ? config.state_dir()
                                                 : config.state_dir() + own;
    all_slots.insert(all_slots.end(), offer.slots.begin(), offer.slots.end());
    offers.push_back(std::move(offer));
  }
  TF_RETURN_IF_ERROR(
      check_slots(all_slots, allowed, absl::StrCat("the devices ", absl::StrJoin(keys, ", "))));
  return offers;
}

size_t slot_count(const std::vector<Offer>& offers) {
  size_t slots = 0;
  for (const Offer& offer : offers) slots += offer.slots.size();
  return slots;
}

uint64_t slot_memory_bytes(const std::vector<Offer>& offers, uint64_t machine_bytes) {
  return machine_bytes / 8 * 7 / slot_count(offers);
}

uint64_t transfer_memory_bytes(const std::vector<Offer>& offers, uint64_t machine_bytes) {
  return std::min(rpc::ArtifactStore::kMostMemoryBytes, machine_bytes / 16 / offers.size());
}

}  // namespace tf::agent
