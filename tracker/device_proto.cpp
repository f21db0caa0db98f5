#include <set>

#include "absl/strings/str_cat.h"
#include "proto/farm/v1/farm.pb.h"
#include "tracker/device.h"

namespace tf::tracker {
namespace {

// A slot's next lease has the next epoch, and the state file's integers are signed: above this an agent lies
// or its state is broken, and the tracker must not count on from there until it wraps.
constexpr uint64_t kHighestEpoch = uint64_t{1} << 62;

}  // namespace

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
    if (offer.highest_epoch() > kHighestEpoch) {
      return absl::InvalidArgumentError(
          absl::StrCat("agent ", hello.agent_id(), " says that slot ", offer.slot(), " has accepted epoch ",
                       offer.highest_epoch(), ", but epochs end at ", kHighestEpoch,
                       ": give it another --id and an empty --state-dir"));
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
