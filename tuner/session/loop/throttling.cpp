#include "tuner/session/loop/throttling.h"

#include "proto/farm/v1/trial.pb.h"

namespace tf::session {

namespace farm = tunefarm::farm::v1;

bool Throttling::spoils(const Finished& finished) {
  if (!finished.status.ok() || !finished.result) return false;
  const farm::Outcome outcome = finished.result->outcome();
  if (outcome != farm::OUTCOME_OK && outcome != farm::OUTCOME_STOPPED_EARLY) return false;
  const farm::DeviceState& device = finished.result->device();
  if (!device.throttled()) steady_.insert(device.fingerprint());
  if (!device.throttled() || !steady_.contains(device.fingerprint())) return false;
  if (finished.work.tries + 1 < kMaxTries) return true;
  steady_.erase(device.fingerprint());
  return false;
}

}  // namespace tf::session
