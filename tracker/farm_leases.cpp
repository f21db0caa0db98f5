// The tuners' side of Farm: how leases are asked for, granted, renewed and given back.

#include <spdlog/spdlog.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "rpc/access/refusal.h"
#include "rpc/daemon/log_fields.h"
#include "rpc/random_id.h"
#include "tracker/farm_state.h"

namespace tf::tracker {

bool Farm::may_lease(const Device& device) const {
  return device.session != 0 && device.admission == Admission::kOpen && !device.stopping &&
         device.health.may_measure();
}

void Farm::offer(const Device& device) {
  const bool open = may_lease(device);
  const Terms terms{.reserved_for = reservations_.user_for(*device.info, clock_.now()),
                    .standing = device.health.standing()};
  for (const SlotOffer& slot : device.info->slots) {
    const SlotKey key{device.info->id, slot.slot};
    if (open && !leases_.on(key) && !promised_.contains(key)) {
      matchmaker_.set_free(key, terms);
    } else {
      matchmaker_.set_taken(key);
    }
  }
}

std::string Farm::busy_text(const std::string& key, const std::string& user) const {
  int away = 0;
  int closed = 0;
  int quarantined = 0;
  int reserved = 0;
  int busy = 0;
  for (const std::string& id : matchmaker_.slots().devices_with(key)) {
    const Device& device = devices_.at(id);
    const auto is_kept = [&] {
      const std::string by = reservations_.user_for(*device.info, clock_.now());
      return !by.empty() && by != user;
    };
    ++(device.session == 0                                       ? away
       : !device.health.may_measure()                            ? quarantined
       : device.admission != Admission::kOpen || device.stopping ? closed
       : is_kept()                                               ? reserved
                                                                 : busy);
  }
  return absl::StrCat("no device with the key ", key, " is free: ", busy, " busy, ", reserved,
                      " reserved for others, ", closed, " cordoned or draining, ", quarantined,
                      " quarantined, ", away, " away; see `tracker devices`");
}

void Farm::acquire(AcquireRequest request, std::shared_ptr<Requester> requester) {
  Locked lock(*this);
  if (absl::Status newest = supersede(lock, request); !newest.ok()) {
    lock.answer(std::move(requester), std::move(newest));
    return;
  }
  const absl::StatusOr<RequestId> id =
      matchmaker_.add({.kind = {request.key, request.requirements},
                       .user = request.user,
                       .holder = request.holder,
                       .holder_run = request.holder_run,
                       .priority = request.priority,
                       .wait = std::min(request.wait, options_.longest_wait)});
  if (!id.ok()) {
    lock.answer(std::move(requester), id.status());
    match(lock);
    return;
  }
  if (request.term <= absl::ZeroDuration()) request.term = options_.default_term;
  request.term = std::min(request.term, options_.longest_term);
  pending_of_[requester.get()] = *id;
  pending_[*id] = {.requester = std::move(requester), .request = std::move(request), .asked = clock_.now()};
  match(lock);
  lock.deadline_changed();
}

absl::Status Farm::supersede(Locked& lock, const AcquireRequest& request) {
  if (request.holder.empty()) return absl::OkStatus();
  const auto is_newer = [&](const std::string& run, uint64_t number) {
    return run != request.holder_run && request.run_number != 0 && number > request.run_number;
  };
  const std::vector<Lease> leases = leases_.of_holder(request.holder);
  const std::vector<RequestId> waiting = matchmaker_.queue().of_holder(request.holder);
  bool outdated = std::ranges::any_of(
      leases, [&](const Lease& lease) { return is_newer(lease.holder_run, lease.run_number); });
  for (const RequestId id : waiting) {
    const AcquireRequest& other = pending_.at(id).request;
    outdated |= is_newer(other.holder_run, other.run_number);
  }
  for (const auto& [slot, id] : promised_) {
    const PendingAcquire& pending = pending_.at(id);
    outdated |= !pending.superseded && pending.request.holder == request.holder &&
                is_newer(pending.request.holder_run, pending.request.run_number);
  }
  if (outdated) {
    spdlog::warn(absl::StrCat(printable(request.holder), " requested a lease from an old run"));
    return absl::AbortedError(
        "a newer run of this tuner is active: stop one of them, or give each its own database");
  }
  const absl::Status why = absl::NotFoundError("its holder was restarted");
  for (const Lease& lease : leases) {
    if (lease.holder_run == request.holder_run) continue;
    const rpc::LogFields about({{"device", lease.slot.device_id}, {"lease", lease.id.text}});
    spdlog::warn(absl::StrCat(printable(request.holder), " was restarted: the leases of its run ",
                              printable(lease.holder_run),
                              " end. If it was not restarted, two tuners share this name"));
    end_lease(lock, lease.id, why);
  }
  for (const RequestId id : waiting) {
    if (pending_.at(id).request.holder_run == request.holder_run) continue;
    matchmaker_.withdraw(id);
    auto pending = pending_.extract(id);
    pending_of_.erase(pending.mapped().requester.get());
    lock.answer(std::move(pending.mapped().requester), absl::AbortedError(why.message()));
  }
  for (const auto& [slot, id] : promised_) {
    PendingAcquire& pending = pending_.at(id);
    pending.superseded |=
        pending.request.holder == request.holder && pending.request.holder_run != request.holder_run;
  }
  return absl::OkStatus();
}

bool Farm::cancel(const Requester* requester) {
  Locked lock(*this);
  const auto found = pending_of_.find(requester);
  if (found == pending_of_.end()) return false;
  if (!matchmaker_.withdraw(found->second)) return false;  // its lease is on its way to the disk
  pending_.erase(found->second);
  pending_of_.erase(found);
  return true;
}

void Farm::match(Locked& lock) {
  while (std::optional<Match> match = matchmaker_.next()) {
    const WaitingRequest& request = match->request;
    const AcquireRequest& asked = pending_.at(match->id).request;
    unsaved_.leases.push_back(leases_.propose({.id = {rpc::random_id()},
                                               .slot = match->slot,
                                               .holder = request.holder,
                                               .holder_run = request.holder_run,
                                               .run_number = asked.run_number,
                                               .user = request.user,
                                               .purpose = asked.purpose,
                                               .priority = request.priority,
                                               .certificate = asked.certificate,
                                               .term = asked.term}));
    promised_[match->slot] = match->id;
    lock.save();
  }
}

// While the lease was written, anything may have happened to its device, and the device may be another now.
bool Farm::still_offered(const PendingAcquire& pending, const Lease& lease) const {
  const auto device = devices_.find(lease.slot.device_id);
  if (pending.superseded || revoked_.contains(pending.request.certificate)) return false;
  if (device == devices_.end() || !may_lease(device->second)) return false;
  const DeviceInfo& info = *device->second.info;
  const auto slot = std::ranges::find(info.slots, lease.slot.slot, &SlotOffer::slot);
  if (slot == info.slots.end() || info.key != pending.request.key) return false;
  const std::string reserved_for = reservations_.user_for(info, clock_.now());
  return leases_.epoch(lease.slot) < lease.epoch && (reserved_for.empty() || reserved_for == lease.user) &&
         unmet_requirement(info, *slot, pending.request.requirements).empty();
}

void Farm::finish(Locked& lock, const Lease& lease, const absl::Status& saved) {
  auto pending = pending_.extract(promised_.extract(lease.slot).mapped());
  pending_of_.erase(pending.mapped().requester.get());
  if (saved.ok() && still_offered(pending.mapped(), lease)) {
    leases_.commit(lease);
    log_lease("lease_granted", lease);
    relays_.emplace(lease.id, Relay(options_.flow));
    const rpc::LogFields about({{"device", lease.slot.device_id}, {"lease", lease.id.text}});
    spdlog::info(absl::StrCat("lease ", lease.id.text, " on ", lease.slot.device_id, "/", lease.slot.slot,
                              " epoch ", lease.epoch, " to ", lease.holder, " for ", lease.user));
    ++counts_.leases_granted;
    counts_.grant_time.add(clock_.now() - pending.mapped().asked);
    lock.answer(std::move(pending.mapped().requester), grant_of(lease));
    lock.deadline_changed();
    touch(lock, lease.slot);
    return;
  }
  if (saved.ok()) {
    leases_.raise_epoch(lease.slot, lease.epoch);
    unsaved_.ended.push_back(lease.id);
    absl::Status why = pending.mapped().superseded ? absl::AbortedError("its holder was restarted")
                                                   : check_not_revoked(lease.certificate);
    if (why.ok()) {
      why = absl::UnavailableError(
          absl::StrCat("device ", lease.slot.device_id, " has just been leased: try again"));
    }
    lock.answer(std::move(pending.mapped().requester), std::move(why));
  } else {
    // Not the requester's fault, and mendable: a full disk, most likely. The slot is offered again at the
    // next event: at once, the next in line would only meet the same fate.
    lock.answer(std::move(pending.mapped().requester),
                absl::UnavailableError(
                    absl::StrCat("the tracker cannot save the lease: ", std::string(saved.message()))));
  }
  matchmaker_.end(lease.slot, lease.user);
  const auto device = devices_.find(lease.slot.device_id);
  if (device != devices_.end()) offer(device->second);
}

Grant Farm::grant_of(const Lease& lease) const {
  const Device& present = devices_.at(lease.slot.device_id);
  const std::shared_ptr<const DeviceInfo>& device = present.info;
  const auto slot = std::ranges::find(device->slots, lease.slot.slot, &SlotOffer::slot);
  return {lease, device, slot == device->slots.end() ? 0 : slot->threads, present.session == 0};
}

absl::Status Farm::may_renew(const Lease& lease) {
  const Device& device = devices_.at(lease.slot.device_id);
  const std::string& id = device.info->id;
  if (device.admission == Admission::kDraining) {
    return absl::AbortedError(
        absl::StrCat("device ", id, " is draining: release the lease and acquire another"));
  }
  const std::string reserved_for = reservations_.user_for(*device.info, clock_.now());
  if (!reserved_for.empty() && reserved_for != lease.user) {
    return absl::AbortedError(absl::StrCat("device ", id, " is reserved for ", reserved_for,
                                           ": release the lease and acquire another"));
  }
  // Nobody could have the slot next.
  if (!may_lease(device)) return absl::OkStatus();
  return matchmaker_.may_renew(lease, reserved_for);
}

absl::StatusOr<Grant> Farm::renew(const LeaseId& id, uint64_t epoch, const std::string& certificate) {
  Locked lock(*this);
  TF_RETURN_IF_ERROR(check_not_revoked(certificate));
  TF_ASSIGN_OR_RETURN(const Lease present, leases_.find(id, epoch));
  TF_RETURN_IF_ERROR(may_renew(present));
  TF_ASSIGN_OR_RETURN(const Lease lease, leases_.renew(id, epoch, certificate));
  log_lease("lease_renewed", lease);
  touch(lock, lease.slot);
  return grant_of(lease);
}

void Farm::release(const LeaseId& id, uint64_t epoch) {
  Locked lock(*this);
  if (!leases_.find(id, epoch).ok()) return;
  end_lease(lock, id, absl::NotFoundError("its holder released it"));
  match(lock);
}

// A call that was let in may have been under way when that was revoked.
absl::Status Farm::check_not_revoked(const std::string& certificate) const {
  if (!revoked_.contains(certificate)) return absl::OkStatus();
  return rpc::refused_caller(absl::StrCat("the certificate ", certificate, " is revoked"), rpc::kJoinAgain);
}

void Farm::set_revoked(std::set<std::string> serials) {
  Locked lock(*this);
  revoked_ = std::move(serials);
  for (const Lease& lease : leases_.of_certificates(revoked_))
    end_lease(lock, lease.id, absl::NotFoundError("its holder's certificate was revoked"));
  match(lock);
}

absl::Status Farm::check_member(const LeaseId& id, uint64_t epoch, const std::string& member) {
  const std::scoped_lock lock(mutex_);
  const absl::StatusOr<Lease> lease = leases_.find(id, epoch);
  if (!lease.ok() || user_of(lease->holder) == member) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the lease ", id.text, " is not held by ", member, ": acquire your own lease"));
}

}  // namespace tf::tracker
