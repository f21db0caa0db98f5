// The operators' side of Farm, and what time does to it.

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "rpc/daemon/log_fields.h"
#include "tracker/farm_state.h"

namespace tf::tracker {

namespace {

std::string_view admission_text(Admission admission, uint32_t leases) {
  switch (admission) {
    case Admission::kCordoned:
      return "cordoned";
    case Admission::kDraining:
      return leases == 0 ? "drained" : "draining";
    case Admission::kOpen:
      break;
  }
  return "open";
}

}  // namespace

absl::StatusOr<Farm::Device*> Farm::by_id(const std::string& device_id) {
  const auto found = devices_.find(device_id);
  if (found == devices_.end()) return nothing_called(device_id, "device");
  return &found->second;
}

// People take names from the column beside the right one.
absl::Status Farm::nothing_called(const std::string& name, std::string_view what) const {
  const std::string asked = absl::StrCat("no ", std::string(what), " is called ", printable(name), ": ");
  const std::set<std::string>& of_key = matchmaker_.slots().devices_with(name);
  if (!of_key.empty()) {
    return absl::NotFoundError(absl::StrCat(asked, "that is the key of ", of_key.size(),
                                            of_key.size() == 1 ? " device, " : " devices, for example ",
                                            *of_key.begin(), "; name the device"));
  }
  if (const std::optional<SlotKey> slot = slot_called(name))
    return absl::NotFoundError(absl::StrCat(asked, "that is a slot of the device ", slot->device_id));
  return absl::NotFoundError(absl::StrCat(asked, "see `tracker devices`"));
}

// As `tracker devices` writes it, DEVICE/N; a device may itself have such a name.
std::optional<SlotKey> Farm::slot_called(const std::string& name) const {
  const size_t slash = name.rfind('/');
  uint32_t number = 0;
  if (slash == std::string::npos || !absl::SimpleAtoi(name.substr(slash + 1), &number)) return std::nullopt;
  const auto device = devices_.find(name.substr(0, slash));
  if (device == devices_.end() || !device->second.info->offers(number)) return std::nullopt;
  return SlotKey{device->first, number};
}

absl::Status Farm::set_admission(const std::string& device_id, Admission admission) {
  return change([&](Locked&) -> absl::Status {
    TF_ASSIGN_OR_RETURN(Device * device, by_id(device_id));
    if (device->admission != admission) {
      const rpc::LogFields about({{"device", device_id}});
      spdlog::info(absl::StrCat("device ", device_id, " is ",
                                std::string(admission_text(admission, leases_on(*device))),
                                " (by an operator)"));
    }
    device->admission = admission;
    unsaved_.devices.insert(device_id);
    offer(*device);
    return absl::OkStatus();
  });
}

uint32_t Farm::leases_on(const Device& device) const {
  return static_cast<uint32_t>(std::ranges::count_if(device.info->slots, [&](const SlotOffer& slot) {
    return leases_.on({device.info->id, slot.slot}) != nullptr;
  }));
}

uint32_t Farm::leases_on(const std::string& device_id) {
  const std::scoped_lock lock(mutex_);
  const auto device = devices_.find(device_id);
  return device == devices_.end() ? 0 : leases_on(device->second);
}

absl::Status Farm::readmit(const std::string& device_id) {
  return change([&](Locked& lock) -> absl::Status {
    TF_ASSIGN_OR_RETURN(Device * device, by_id(device_id));
    for (auto& [slot, trend] : device->golden) {
      trend.begin_anew();
      unsaved_.golden.insert({device_id, slot});
    }
    const rpc::LogFields about({{"device", device_id}});
    spdlog::info(absl::StrCat("device ", device_id, " is readmitted by an operator"));
    if (device->health.readmit()) health_changed(lock, *device);
    return absl::OkStatus();
  });
}

// Nothing of it is left but its slots' epochs.
void Farm::drop(Locked& lock, const std::string& device_id) {
  const auto found = devices_.find(device_id);
  const Device& device = found->second;
  end_leases(lock, device, absl::NotFoundError(absl::StrCat("device ", device_id, " was forgotten")));
  away_.erase({device.since + options_.agent_grace, device_id});
  missing_.erase({device.since + options_.missing_after, device_id});
  long_away_.erase({device.forget_at, device_id});
  quarantined_.erase(device_id);
  blocklist_.forgive(device_id);
  matchmaker_.forget(device_id);
  unsaved_.forgotten.insert(device_id);
  lock.save();
  const rpc::LogFields about({{"device", device_id}});
  spdlog::info(absl::StrCat("device ", device_id, " was forgotten"));
  devices_.erase(found);
}

// A certificate that serves many devices must not take everybody's places.
absl::Status Farm::check_room(const std::string& device_id) const {
  if (devices_.contains(device_id)) return absl::OkStatus();
  if (devices_.size() >= options_.most_devices) {
    return absl::ResourceExhaustedError(absl::StrCat("the farm has ", devices_.size(),
                                                     " devices, which is its limit: forget those that are ",
                                                     "gone with `tracker forget`"));
  }
  const std::string board = board_of(device_id);
  size_t present = devices_.contains(board) ? 1 : 0;
  for (auto next = devices_.lower_bound(board + "/");
       present < options_.most_devices_of_a_board && next != devices_.end() && board_of(next->first) == board;
       ++next) {
    ++present;
  }
  if (present < options_.most_devices_of_a_board) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      board, " has ", present, " devices, which is the limit of a member: forget those that are gone ",
      "with `tracker forget '", board, "/*'`"));
}

// What a name of `tracker forget` stands for, as far as it is away.
std::vector<std::string> Farm::forgettable(const std::string& name) const {
  std::vector<std::string> ids;
  const auto add = [&](const auto& entry) {
    if (entry.second.session == 0) ids.push_back(entry.first);
  };
  if (!name.ends_with("/*")) {
    add(*devices_.find(name));
    return ids;
  }
  const std::string folder = name.substr(0, name.size() - 1);
  for (auto next = devices_.lower_bound(folder); next != devices_.end() && next->first.starts_with(folder);
       ++next) {
    add(*next);
  }
  return ids;
}

absl::Status Farm::forget(const std::string& name) {
  return change([&](Locked& lock) -> absl::Status {
    const bool is_one = !name.ends_with("/*");
    if (is_one) TF_RETURN_IF_ERROR(by_id(name).status());
    const std::vector<std::string> ids = forgettable(name);
    if (ids.empty() && !is_one) {
      return absl::NotFoundError(
          absl::StrCat("no absent device is called ", printable(name), ": see `tracker devices`"));
    }
    if (ids.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("device ", name, " is online and would reappear at once: stop its agent first"));
    }
    for (const std::string& id : ids) drop(lock, id);
    return absl::OkStatus();
  });
}

absl::Status Farm::pardon(const std::string& candidate) {
  const std::scoped_lock lock(mutex_);
  if (blocklist_.pardon(candidate)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("no candidate ", printable(candidate), " is blocked"));
}

absl::StatusOr<std::vector<LeaseId>> Farm::force_release(const std::string& name) {
  std::vector<LeaseId> ids;
  const absl::Status ended = change([&](Locked& lock) -> absl::Status {
    TF_ASSIGN_OR_RETURN(ids, leases_called(name));
    for (const LeaseId& id : ids) end_lease(lock, id, absl::NotFoundError("an operator ended it"));
    return absl::OkStatus();
  });
  if (!ended.ok()) return ended;
  return ids;
}

absl::StatusOr<std::vector<LeaseId>> Farm::leases_called(const std::string& name) const {
  std::vector<LeaseId> ids;
  if (leases_.active().contains(LeaseId{name})) ids.push_back({name});
  if (const auto device = devices_.find(name); device != devices_.end()) {
    for (const SlotOffer& slot : device->second.info->slots) {
      if (const Lease* lease = leases_.on({name, slot.slot})) ids.push_back(lease->id);
    }
  } else if (const std::optional<SlotKey> slot = slot_called(name)) {
    if (const Lease* lease = leases_.on(*slot)) ids.push_back(lease->id);
  } else if (ids.empty()) {
    return nothing_called(name, "device, slot or active lease");
  }
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
  TF_RETURN_IF_ERROR(ReservationBook::check_names(stored.user, stored.device_key, stored.selector));
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
  TF_RETURN_IF_ERROR(ReservationBook::check_window(request.from, request.until, options_.wall_now()));
  ReservationStatus made;
  const absl::Status changed = change([&](Locked& lock) -> absl::Status {
    if (reservations_.all().size() >= options_.most_reservations) {
      return absl::ResourceExhaustedError(absl::StrCat("there are ", reservations_.all().size(),
                                                       " reservations, which is the limit: end those ",
                                                       "that are not needed with `tracker unreserve`"));
    }
    const StoredReservation stored{.id = reservations_.next_id(),
                                   .user = request.user,
                                   .device_key = request.device_key,
                                   .selector = request.selector.text(),
                                   .from = request.from,
                                   .until = request.until};
    TF_RETURN_IF_ERROR(take_over(stored));
    unsaved_.reservations[stored.id] = stored;
    reservations_change_ = clock_.now();
    tick_reservations(lock);
    lock.deadline_changed();
    made = status_of(reservations_.all().at(stored.id));
    return absl::OkStatus();
  });
  if (!changed.ok()) return changed;
  return made;
}

absl::Status Farm::unreserve(uint64_t id) {
  return change([&](Locked& lock) -> absl::Status {
    if (!reservations_.remove(id))
      return absl::NotFoundError(absl::StrCat("no reservation ", id, ": see `tracker reservations`"));
    unsaved_.reservations[id] = std::nullopt;
    reservations_change_ = clock_.now();
    tick_reservations(lock);
    return absl::OkStatus();
  });
}

// Time
// ------------------------------------------------------------------------------------------------------------

// It goes on while the tracker is away itself.
void Farm::count_absence(Locked& lock, Device& device) {
  const absl::Time wall = options_.wall_now();
  if (!device.away_since) {
    device.away_since = wall - (clock_.now() - device.since);
    unsaved_.devices.insert(device.info->id);
    lock.save();
  }
  const absl::Time since = std::min(*device.away_since, wall);  // the wall clock may have been wrong then
  device.forget_at = clock_.now() + (since + options_.forget_after - wall);
  long_away_.insert({device.forget_at, device.info->id});
}

void Farm::tick_devices(Locked& lock) {
  while (!away_.empty() && away_.begin()->first <= clock_.now()) {
    Device& device = devices_.at(away_.begin()->second);
    away_.erase(away_.begin());
    lost(lock, device);
    end_leases(lock, device,
               absl::NotFoundError(absl::StrCat("device ", device.info->id, " was away too long")));
    if (options_.forget_after > absl::ZeroDuration()) count_absence(lock, device);
  }
  while (!long_away_.empty() && long_away_.begin()->first <= clock_.now()) {
    const std::string id = long_away_.begin()->second;
    Device& device = devices_.at(id);
    if (device.admission == Admission::kOpen && device.health.may_measure()) {
      drop(lock, id);
      continue;
    }
    // An operator, or its quarantine, has something to remember of it.
    long_away_.erase(long_away_.begin());
    device.forget_at = clock_.now() + options_.forget_after;
    long_away_.insert({device.forget_at, id});
  }
  while (!missing_.empty() && missing_.begin()->first <= clock_.now()) {
    lock.needs_help(missing_.extract(missing_.begin()).value().second, "it was lost while it measured");
  }
  const std::set<std::string> quarantined = quarantined_;
  for (const std::string& id : quarantined) {
    Device& device = devices_.at(id);
    if (device.health.tick()) health_changed(lock, device);
  }
}

// When a window begins or ends, all devices may have other terms: rare enough to look at all.
void Farm::tick_reservations(Locked& lock) {
  if (!reservations_change_ || clock_.now() < *reservations_change_) return;
  for (const Reservation& over : reservations_.remove_over(clock_.now())) {
    unsaved_.reservations[over.id] = std::nullopt;
    lock.save();
  }
  for (const auto& [id, device] : devices_) offer(device);
  reservations_change_ = reservations_.next_change(clock_.now());
}

std::optional<rpc::Instant> Farm::tick() {
  Locked lock(*this);
  for (const Lease& lease : leases_.expired()) {
    end_lease(lock, lease.id, absl::NotFoundError(absl::StrCat("lease ", lease.id.text, " has expired")));
  }
  tick_contenders(lock);
  tick_devices(lock);
  tick_reservations(lock);
  match(lock);
  for (const RequestId id : matchmaker_.queue().overtime()) {
    const WaitingRequest& request = matchmaker_.queue().at(id);
    const std::string why = busy_text(matchmaker_.slots().kind(request.kind).key, request.user);
    matchmaker_.withdraw(id);
    auto pending = pending_.extract(id);
    pending_of_.erase(pending.mapped().requester.get());
    lock.answer(std::move(pending.mapped().requester), absl::UnavailableError(why));
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
  if (!contenders_.empty()) consider(contenders_.begin()->first);
  if (!away_.empty()) consider(away_.begin()->first);
  if (!long_away_.empty()) consider(long_away_.begin()->first);
  if (!missing_.empty()) consider(missing_.begin()->first);
  for (const std::string& id : quarantined_) consider(devices_.at(id).health.next_tick());
  return next;
}

}  // namespace tf::tracker
