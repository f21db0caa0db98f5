#include "tracker/leases/lease.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace tf::tracker {

Lease LeaseTable::propose(Lease lease) const {
  TF_CHECK(!by_slot_.contains(lease.slot))
      << lease.slot.device_id << "/" << lease.slot.slot << " is already leased";
  lease.epoch = epoch(lease.slot) + 1;
  lease.granted_at = clock_.now();
  lease.expires_at = clock_.now() + lease.term;
  return lease;
}

void LeaseTable::commit(const Lease& lease) {
  TF_CHECK(!by_slot_.contains(lease.slot))
      << lease.slot.device_id << "/" << lease.slot.slot << " is already leased";
  TF_CHECK(lease.epoch > epoch(lease.slot))
      << "epoch " << lease.epoch << " is not above " << epoch(lease.slot);
  epochs_[lease.slot] = lease.epoch;
  insert(lease);
}

void LeaseTable::insert(Lease lease) {
  by_slot_[lease.slot] = lease.id;
  by_expiry_.insert({lease.expires_at, lease.id});
  by_holder_[lease.holder].insert(lease.id);
  leases_[lease.id] = std::move(lease);
}

void LeaseTable::restore(Lease lease) {
  lease.granted_at = clock_.now();
  lease.expires_at = clock_.now() + lease.term;
  raise_epoch(lease.slot, lease.epoch);
  insert(std::move(lease));
}

void LeaseTable::raise_epoch(const SlotKey& slot, uint64_t epoch) {
  if (epoch == 0) return;  // says nothing, and must not be remembered for ever
  uint64_t& highest = epochs_[slot];
  highest = std::max(highest, epoch);
}

uint64_t LeaseTable::epoch(const SlotKey& slot) const {
  const auto found = epochs_.find(slot);
  return found == epochs_.end() ? 0 : found->second;
}

absl::StatusOr<Lease> LeaseTable::find(const LeaseId& id, uint64_t epoch) const {
  const auto found = leases_.find(id);
  if (found == leases_.end())
    return absl::NotFoundError(absl::StrCat("lease ", id.text, " has ended: acquire a new one"));
  const Lease& lease = found->second;
  if (lease.epoch != epoch) {
    return absl::NotFoundError(
        absl::StrCat("lease ", id.text, " has epoch ", lease.epoch, ", not ", epoch, ": acquire a new one"));
  }
  if (clock_.now() >= lease.expires_at) {
    return absl::NotFoundError(absl::StrCat("lease ", id.text, " has expired: acquire a new one"));
  }
  return lease;
}

absl::StatusOr<Lease> LeaseTable::renew(const LeaseId& id, uint64_t epoch, const std::string& certificate) {
  TF_RETURN_IF_ERROR(find(id, epoch).status());
  Lease& lease = leases_.at(id);
  if (!certificate.empty()) lease.certificate = certificate;
  by_expiry_.erase({lease.expires_at, id});
  lease.expires_at = clock_.now() + lease.term;
  by_expiry_.insert({lease.expires_at, id});
  return lease;
}

std::optional<Lease> LeaseTable::end(const LeaseId& id) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return std::nullopt;
  Lease lease = std::move(found->second);
  leases_.erase(found);
  by_slot_.erase(lease.slot);
  by_expiry_.erase({lease.expires_at, lease.id});
  const auto same_holder = by_holder_.find(lease.holder);
  same_holder->second.erase(lease.id);
  if (same_holder->second.empty()) by_holder_.erase(same_holder);
  return lease;
}

const Lease* LeaseTable::on(const SlotKey& slot) const {
  const auto found = by_slot_.find(slot);
  return found == by_slot_.end() ? nullptr : &leases_.at(found->second);
}

std::vector<Lease> LeaseTable::expired() const {
  std::vector<Lease> result;
  for (const auto& [expires_at, id] : by_expiry_) {
    if (expires_at > clock_.now()) break;
    result.push_back(leases_.at(id));
  }
  return result;
}

std::optional<rpc::Instant> LeaseTable::next_expiry() const {
  if (by_expiry_.empty()) return std::nullopt;
  return by_expiry_.begin()->first;
}

std::vector<Lease> LeaseTable::of_holder(const std::string& holder) const {
  std::vector<Lease> result;
  const auto found = by_holder_.find(holder);
  if (found == by_holder_.end()) return result;
  for (const LeaseId& id : found->second) result.push_back(leases_.at(id));
  return result;
}

std::vector<Lease> LeaseTable::of_certificates(const std::set<std::string>& serials) const {
  std::vector<Lease> result;
  for (const auto& [id, lease] : leases_) {
    if (serials.contains(lease.certificate)) result.push_back(lease);
  }
  return result;
}

}  // namespace tf::tracker
