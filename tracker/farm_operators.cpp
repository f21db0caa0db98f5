// The operators' side of Farm, and what time does to it.

#include <spdlog/spdlog.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tracker/farm_state.h"
#include "tracker/state_store.h"

namespace tf::tracker {

absl::StatusOr<Farm::Device*> Farm::by_id(const std::string& device_id) {
  const auto found = devices_.find(device_id);
  if (found == devices_.end()) {
    return absl::NotFoundError(absl::StrCat("no device ", device_id, ": see `tracker devices`"));
  }
  return &found->second;
}

std::vector<DeviceStatus> Farm::devices() {
  Locked lock(*this);
  std::vector<DeviceStatus> result;
  for (const auto& [id, device] : devices_) {
    DeviceStatus& status = result.emplace_back();
    status.info = device.info;
    status.online = device.session != 0;
    status.stopping = device.stopping;
    status.admission = device.admission;
    status.health = device.health.health();
    status.health_reason = device.health.reason();
    status.reserved_for = reservations_.user_for(*device.info, clock_.now());
    status.since = clock_.now() - device.since;
    for (const SlotOffer& offer : device.info->slots) {
      const SlotKey key{id, offer.slot};
      SlotStatus& slot = status.slots.emplace_back();
      slot.slot = offer.slot;
      slot.epoch = leases_.epoch(key);
      if (const auto golden = device.golden.find(offer.slot); golden != device.golden.end()) {
        slot.golden = golden->second;
      }
      const Lease* lease = leases_.on(key);
      if (!lease) continue;
      const Relay& relay = relays_.at(lease->id);
      slot.lease = *lease;
      slot.held = clock_.now() - lease->granted_at;
      slot.remaining = std::max(lease->expires_at - clock_.now(), absl::ZeroDuration());
      slot.unanswered = relay.unanswered();
      slot.unacknowledged = relay.unacknowledged();
      slot.answered = relay.answered();
    }
  }
  return result;
}

absl::Status Farm::set_admission(const std::string& device_id, Admission admission) {
  Locked lock(*this);
  TF_ASSIGN_OR_RETURN(Device * device, by_id(device_id));
  TF_RETURN_IF_ERROR(store_.save_admission(device_id, admission));
  device->admission = admission;
  offer(*device);
  match(lock);
  return absl::OkStatus();
}

absl::Status Farm::readmit(const std::string& device_id) {
  Locked lock(*this);
  TF_ASSIGN_OR_RETURN(Device * device, by_id(device_id));
  if (device->health.readmit()) health_changed(lock, *device);
  match(lock);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LeaseId>> Farm::force_release(const std::string& name) {
  Locked lock(*this);
  std::vector<LeaseId> ids;
  if (leases_.active().contains(LeaseId{name})) ids.push_back({name});
  if (const auto device = devices_.find(name); device != devices_.end()) {
    for (const SlotOffer& slot : device->second.info->slots) {
      if (const Lease* lease = leases_.on({name, slot.slot})) ids.push_back(lease->id);
    }
  } else if (ids.empty()) {
    return absl::NotFoundError(
        absl::StrCat("neither a lease nor a device is called ", name, ": see `tracker devices`"));
  }
  for (const LeaseId& id : ids) end_lease(lock, id, absl::NotFoundError("an operator has ended it"));
  match(lock);
  return ids;
}

// Reservations
// ------------------------------------------------------------------------------------------------------------

ReservationStatus Farm::status_of(const Reservation& reservation) const {
  const absl::Time origin = options_.wall_now() - clock_.now();
  ReservationStatus status{.reservation = reservation,
                           .from = origin + reservation.from,
                           .until = origin + reservation.until,
                           .in_force = reservation.in_force(clock_.now()),
                           .devices = 0};
  for (const auto& [id, device] : devices_) status.devices += reservation.covers(*device.info) ? 1 : 0;
  return status;
}

// A window of the wall clock's time becomes one of ours here, and never again: a jump of the wall clock moves
// none.
absl::Status Farm::take_over(StoredReservation stored) {
  const absl::Time wall = options_.wall_now();
  absl::StatusOr<Selector> selector = Selector::parse(stored.selector);
  if (!selector.ok()) return absl::DataLossError(selector.status().message());
  reservations_.add({.id = stored.id,
                     .user = std::move(stored.user),
                     .device_key = std::move(stored.device_key),
                     .selector = *std::move(selector),
                     .from = clock_.now() + (stored.from - wall),
                     .until = clock_.now() + (stored.until - wall)});
  return absl::OkStatus();
}

absl::StatusOr<ReservationStatus> Farm::reserve(const ReservationRequest& request) {
  Locked lock(*this);
  StoredReservation stored{.id = reservations_.next_id(),
                           .user = request.user,
                           .device_key = request.device_key,
                           .selector = request.selector.text(),
                           .from = request.from,
                           .until = request.until};
  TF_RETURN_IF_ERROR(ReservationBook::check(request.user, request.from, request.until, options_.wall_now()));
  TF_RETURN_IF_ERROR(store_.save_reservation(stored));
  const uint64_t id = stored.id;
  TF_RETURN_IF_ERROR(take_over(std::move(stored)));
  reservations_change_ = clock_.now();
  tick_reservations();
  match(lock);
  lock.deadline_changed();
  return status_of(reservations_.all().at(id));
}

absl::Status Farm::unreserve(uint64_t id) {
  Locked lock(*this);
  if (!reservations_.all().contains(id)) {
    return absl::NotFoundError(absl::StrCat("no reservation ", id, ": see `tracker reservations`"));
  }
  TF_RETURN_IF_ERROR(store_.remove_reservation(id));
  reservations_.remove(id);
  reservations_change_ = clock_.now();
  tick_reservations();
  match(lock);
  return absl::OkStatus();
}

std::vector<ReservationStatus> Farm::reservations() {
  Locked lock(*this);
  std::vector<ReservationStatus> result;
  for (const auto& [id, reservation] : reservations_.all()) result.push_back(status_of(reservation));
  return result;
}

// Who waits
// ------------------------------------------------------------------------------------------------------------

std::vector<WaitingStatus> Farm::waiting() {
  Locked lock(*this);
  std::vector<std::pair<Rank, WaitingStatus>> ranked;
  for (const auto& [id, request] : matchmaker_.queue().requests()) {
    ranked.push_back({matchmaker_.rank(request),
                      {.request = request,
                       .key = matchmaker_.slots().demand(request.demand).key,
                       .requirements = matchmaker_.slots().demand(request.demand).requirements,
                       .waited = clock_.now() - request.arrived}});
  }
  std::ranges::sort(ranked, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<WaitingStatus> result;
  for (auto& [rank, status] : ranked) result.push_back(std::move(status));
  return result;
}

std::vector<UserStatus> Farm::users() {
  Locked lock(*this);
  std::set<std::string> names;
  for (const auto& [user, account] : matchmaker_.usage().accounts()) names.insert(user);
  for (const auto& [id, request] : matchmaker_.queue().requests()) names.insert(request.user);
  std::vector<UserStatus> result;
  for (const std::string& user : names) {
    result.push_back({.user = user,
                      .share = options_.policies.of(user).share,
                      .slots = matchmaker_.usage().held(user),
                      .waiting = matchmaker_.queue().waiting(user),
                      .slot_seconds = matchmaker_.usage().slot_seconds(user)});
  }
  return result;
}

// Time
// ------------------------------------------------------------------------------------------------------------

void Farm::tick_devices(Locked& lock) {
  while (!away_.empty() && away_.begin()->first <= clock_.now()) {
    Device& device = devices_.at(away_.begin()->second);
    away_.erase(away_.begin());
    blame_lost(lock, device);
    end_leases(lock, device,
               absl::NotFoundError(absl::StrCat("device ", device.info->id, " has been away too long")));
  }
  const std::set<std::string> quarantined = quarantined_;
  for (const std::string& id : quarantined) {
    Device& device = devices_.at(id);
    if (device.health.tick()) health_changed(lock, device);
  }
}

// When a window begins or ends, all devices may have other terms: rare enough to look at all.
void Farm::tick_reservations() {
  if (!reservations_change_ || clock_.now() < *reservations_change_) return;
  for (const Reservation& over : reservations_.remove_over(clock_.now())) {
    // If this cannot be written, a restart finds it again, and that it is over.
    if (const absl::Status removed = store_.remove_reservation(over.id); !removed.ok()) {
      spdlog::error("{}", removed.ToString());
    }
  }
  for (const auto& [id, device] : devices_) offer(device);
  reservations_change_ = reservations_.next_change(clock_.now());
}

std::optional<rpc::Instant> Farm::tick() {
  Locked lock(*this);
  for (const Lease& lease : leases_.expired()) {
    end_lease(lock, lease.id, absl::NotFoundError(absl::StrCat("lease ", lease.id.text, " has expired")));
  }
  tick_devices(lock);
  tick_reservations();
  match(lock);
  for (const WaiterId id : matchmaker_.queue().overtime()) {
    const std::string key = matchmaker_.slots().demand(matchmaker_.queue().at(id).demand).key;
    matchmaker_.withdraw(id);
    auto asker = askers_.extract(id);
    asker_of_.erase(asker.mapped().waiter.get());
    lock.answer(std::move(asker.mapped().waiter), absl::UnavailableError(busy_text(key)));
  }
  return next_deadline();
}

std::optional<rpc::Instant> Farm::next_deadline() const {
  std::optional<rpc::Instant> next = leases_.next_expiry();
  const auto consider = [&](const std::optional<rpc::Instant>& at) {
    if (at) next = std::min(next.value_or(*at), *at);
  };
  consider(matchmaker_.queue().next_deadline());
  consider(reservations_change_);
  if (!away_.empty()) consider(away_.begin()->first);
  for (const std::string& id : quarantined_) consider(devices_.at(id).health.next_tick());
  return next;
}

}  // namespace tf::tracker
