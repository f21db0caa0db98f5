#include <set>

#include "absl/strings/str_cat.h"
#include "proto/farm/v1/farm.pb.h"
#include "tracker/device.h"

namespace tf::tracker {

absl::StatusOr<DeviceInfo> device_from_proto(const tunefarm::farm::v1::AgentHello& hello) {
  if (hello.agent_id().empty()) return absl::InvalidArgumentError("the agent's hello has no agent_id");
  if (hello.device_key().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("agent ", hello.agent_id(), " offers no device key: start it with --key"));
  }
  if (hello.slots().empty())
    return absl::InvalidArgumentError(absl::StrCat("agent ", hello.agent_id(), " offers no slot"));
  DeviceInfo device{.id = hello.agent_id(), .key = hello.device_key(), .arch = hello.facts().arch()};
  device.cpu_features.insert(hello.facts().cpu_features().begin(), hello.facts().cpu_features().end());
  device.memory_bytes = hello.facts().memory_bytes();
  std::set<uint32_t> seen;
  for (const auto& offer : hello.slots()) {
    if (offer.cpus().empty() || !seen.insert(offer.slot()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("agent ", hello.agent_id(), " offers slot ", offer.slot(), " twice or without CPUs"));
    }
    device.slots.push_back({offer.slot(), static_cast<uint32_t>(offer.cpus_size()), offer.highest_epoch()});
  }
  device.hello = hello.SerializeAsString();
  return device;
}

absl::StatusOr<DeviceInfo> device_from_bytes(const std::string& hello) {
  tunefarm::farm::v1::AgentHello message;
  if (!message.ParseFromString(hello)) return absl::DataLossError("a stored device is not an AgentHello");
  return device_from_proto(message);
}

}  // namespace tf::tracker
