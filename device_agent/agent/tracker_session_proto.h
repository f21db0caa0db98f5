#pragma once
// Owns: one Synchronize stream: the agent's clock in all that it says, and from it how old is what it hears.
// Does not know: slots, what a lease allows.

#include "device_agent/agent/slot_state.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/client_stream.h"

namespace tf::agent {

struct TrackerSession
    : rpc::ClientStream<tunefarm::farm::v1::AgentMessage, tunefarm::farm::v1::TrackerMessage> {
  bool greeted = false;  // guarded by the agent's lock: the tracker has accepted us

  // Writes it, with the time on our clock.
  void say(tunefarm::farm::v1::AgentMessage& message);

  // How long ago the tracker said this, at the most. If that is long, what we said last may have been under
  // way for long instead: then we say that we are here, and the answer to that tells.
  absl::Duration age_of(const tunefarm::farm::v1::DesiredState& state);
};

// What is wanted of a slot, said so long ago.
Desired desired_of(const tunefarm::farm::v1::DesiredSlot& message, absl::Duration age);

}  // namespace tf::agent
