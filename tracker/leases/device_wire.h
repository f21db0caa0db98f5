#pragma once
// Owns: devices and requests from the messages and bytes that carry them, with every check on these. Does not
// know: leases, connections.

#include <string>

#include "absl/status/statusor.h"
#include "tracker/leases/device.h"

namespace tunefarm::farm::v1 {
class AgentHello;
class Requirements;
}  // namespace tunefarm::farm::v1

namespace tf::tracker {

// INVALID_ARGUMENT: an id, a key (names.h) or labels that are none, no slot, a slot twice, without CPUs or
// numbered too high, an epoch that no slot can have reached, or more of all this than there may be.
absl::StatusOr<DeviceInfo> device_from_proto(const tunefarm::farm::v1::AgentHello& hello);
absl::StatusOr<DeviceInfo> device_from_bytes(const std::string& hello);
// INVALID_ARGUMENT: no selector, a capability that this tracker does not know, or more than there may be.
absl::StatusOr<Requirements> requirements_from_proto(const tunefarm::farm::v1::Requirements& message);

// Whether one is as good as the other on the disk: but for what an agent measures or chooses anew at each
// start.
bool offers_the_same(const DeviceInfo& one, const DeviceInfo& other);

}  // namespace tf::tracker
