#pragma once
// Owns: one Synchronize stream: the agent's clock in all that it says, and from it how old is what it hears.
// Does not know: slots, what a lease allows.

#include "absl/status/statusor.h"
#include "device_agent/agent/slots/slot_state.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/connection/client_stream.h"

namespace tf::agent {

struct TrackerSession
    : rpc::ClientStream<tunefarm::farm::v1::AgentMessage, tunefarm::farm::v1::TrackerMessage> {
  bool greeted = false;  // guarded by the agent's lock: the tracker has accepted us

  // Writes it, with the time on our clock.
  void say(tunefarm::farm::v1::AgentMessage& message);

  // How long ago the tracker said this, at the most. If that is long, what we said last may have been under
  // way for long instead: then we say that we are here, and the answer to that tells. UNAVAILABLE: our clock
  // has stood still, as a virtual machine's does that is paused, and what the tracker knows of it is wrong
  // for the rest of this session: end it.
  absl::StatusOr<absl::Duration> age_of(const tunefarm::farm::v1::DesiredState& state);
};

// What is wanted of a slot, said so long ago.
Desired desired_of(const tunefarm::farm::v1::DesiredSlot& message, absl::Duration age);

}  // namespace tf::agent
