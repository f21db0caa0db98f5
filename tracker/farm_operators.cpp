// The operators' side of Farm, and what time does to it.

#include <spdlog/spdlog.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tracker/farm_state.h"
#include "tracker/state_store.h"

namespace tf::tracker {

std::vector<DeviceStatus> Farm::devices() {
  Locked lock(*this);
  std::vector<DeviceStatus> result;
  for (const auto& [id, device] : devices_) {
    DeviceStatus& status = result.emplace_back();
    status.info = device.info;
    status.online = device.session != 0;
    status.draining = device.draining || device.stopping;
    status.since = clock_.now() - device.since;
    for (const SlotOffer& offer : device.info.slots) {
      const SlotKey key{id, offer.slot};
      SlotStatus& slot = status.slots.emplace_back();
      slot.slot = offer.slot;
      slot.epoch = leases_.epoch(key);
      const Lease* lease = leases_.on(key);
      if (!lease) continue;
      const Relay& relay = relays_.at(lease->id);
      slot.lease = *lease;
      slot.remaining = std::max(lease->expires_at - clock_.now(), absl::ZeroDuration());
      slot.unanswered = relay.unanswered();
      slot.unacknowledged = relay.unacknowledged();
      slot.answered = relay.answered();
    }
  }
  return result;
}

absl::Status Farm::drain(const std::string& device_id, bool draining) {
  Locked lock(*this);
  const auto found = devices_.find(device_id);
  if (found == devices_.end()) {
    return absl::NotFoundError(absl::StrCat("no device ", device_id, ": see `tracker devices`"));
  }
  TF_RETURN_IF_ERROR(store_.save_device(found->second.info, draining));
  found->second.draining = draining;
  match(lock);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LeaseId>> Farm::force_release(const std::string& name) {
  Locked lock(*this);
  std::vector<LeaseId> ids;
  for (const auto& [id, lease] : leases_.active()) {
    if (id.text == name || lease.slot.device_id == name) ids.push_back(id);
  }
  if (ids.empty() && !devices_.contains(name)) {
    return absl::NotFoundError(
        absl::StrCat("neither a lease nor a device is called ", name, ": see `tracker devices`"));
  }
  for (const LeaseId& id : ids) end_lease(lock, id, absl::NotFoundError("an operator has ended it"));
  match(lock);
  return ids;
}

std::optional<rpc::Instant> Farm::tick() {
  Locked lock(*this);
  for (const Lease& lease : leases_.expired()) {
    end_lease(lock, lease.id, absl::NotFoundError(absl::StrCat("lease ", lease.id.text, " has expired")));
  }
  for (const auto& [id, device] : devices_) {
    if (device.session != 0 || clock_.now() < device.since + options_.agent_grace) continue;
    for (const SlotOffer& slot : device.info.slots) {
      const Lease* lease = leases_.on({id, slot.slot});
      if (!lease) continue;
      end_lease(lock, LeaseId(lease->id),
                absl::NotFoundError(absl::StrCat("device ", id, " has been away too long")));
    }
  }
  match(lock);
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (clock_.now() < waiting.deadline) return false;
    lock.answer(waiting.waiter, absl::UnavailableError(busy_text(waiting.request)));
    return true;
  });
  return next_deadline();
}

std::optional<rpc::Instant> Farm::next_deadline() const {
  std::optional<rpc::Instant> next = leases_.next_expiry();
  const auto consider = [&](rpc::Instant at) { next = std::min(next.value_or(at), at); };
  for (const Waiting& waiting : waiting_) consider(waiting.deadline);
  for (const auto& [id, device] : devices_) {
    if (device.session != 0) continue;
    for (const SlotOffer& slot : device.info.slots) {
      if (leases_.on({id, slot.slot})) consider(device.since + options_.agent_grace);
    }
  }
  return next;
}

}  // namespace tf::tracker
