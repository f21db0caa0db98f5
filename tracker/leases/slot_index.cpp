#include "tracker/leases/slot_index.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace tf::tracker {
namespace {

size_t common_beginning(const std::string& one, const std::string& other) {
  const auto [end, ignored] = std::ranges::mismatch(one, other);
  return static_cast<size_t>(end - one.begin());
}

}  // namespace

SlotIndex::Slot& SlotIndex::at(const SlotKey& slot) {
  const auto device = devices_.find(slot.device_id);
  TF_CHECK(device != devices_.end()) << slot.device_id << " is not described";
  const auto found = device->second.slots.find(slot.slot);
  TF_CHECK(found != device->second.slots.end()) << slot.device_id << "/" << slot.slot << " is not described";
  return found->second;
}

void SlotIndex::enter(const SlotKey& key, const Slot& slot, Class& kind) {
  kind.free[slot.terms->reserved_for].insert({slot.terms->standing, key});
}

void SlotIndex::leave(const SlotKey& key, const Slot& slot, Class& kind) {
  const auto owned = kind.free.find(slot.terms->reserved_for);
  owned->second.erase({slot.terms->standing, key});
  if (owned->second.empty()) kind.free.erase(owned);
}

void SlotIndex::connect(const DeviceInfo& info, Slot& slot, RequestKindId id, Class& kind) {
  if (!unmet_requirement(info, slot.offer, kind.kind.requirements).empty()) return;
  slot.meets.insert(id);
  ++kind.capable;
  if (slot.terms) enter({info.id, slot.offer.slot}, slot, kind);
}

void SlotIndex::clear(Device& device) {
  for (auto& [number, slot] : device.slots) {
    const SlotKey key{device.info->id, number};
    for (const RequestKindId id : slot.meets) {
      Class& kind = kinds_.at(id);
      --kind.capable;
      if (slot.terms) leave(key, slot, kind);
    }
  }
  const auto same_key = by_key_.find(device.info->key);
  same_key->second.erase(device.info->id);
  if (same_key->second.empty()) by_key_.erase(same_key);
  device = {};
}

void SlotIndex::forget(const std::string& device_id) {
  const auto device = devices_.find(device_id);
  if (device == devices_.end()) return;
  clear(device->second);
  devices_.erase(device);
}

void SlotIndex::describe(const std::shared_ptr<const DeviceInfo>& info) {
  Device& device = devices_[info->id];
  if (device.info) clear(device);
  device.info = info;
  by_key_[info->key].insert(info->id);
  for (const SlotOffer& offer : info->slots) device.slots[offer.slot].offer = offer;
  const auto kinds = kinds_of_key_.find(info->key);
  if (kinds == kinds_of_key_.end()) return;
  for (auto& [number, slot] : device.slots) {
    for (const RequestKindId id : kinds->second) connect(*info, slot, id, kinds_.at(id));
  }
}

void SlotIndex::set_free(const SlotKey& key, const Terms& terms) {
  Slot& slot = at(key);
  if (slot.terms == terms) return;
  set_taken(key);
  slot.terms = terms;
  for (const RequestKindId id : slot.meets) enter(key, slot, kinds_.at(id));
}

void SlotIndex::set_taken(const SlotKey& key) {
  Slot& slot = at(key);
  if (!slot.terms) return;
  for (const RequestKindId id : slot.meets) leave(key, slot, kinds_.at(id));
  slot.terms.reset();
}

const Terms* SlotIndex::free(const SlotKey& key) const {
  const auto device = devices_.find(key.device_id);
  if (device == devices_.end()) return nullptr;
  const auto slot = device->second.slots.find(key.slot);
  return slot == device->second.slots.end() || !slot->second.terms ? nullptr : &*slot->second.terms;
}

RequestKindId SlotIndex::intern(const RequestKind& kind) {
  const auto [known, is_new] = ids_.try_emplace(kind, last_id_ + 1);
  if (!is_new) return known->second;
  const RequestKindId id = ++last_id_;
  Class& made = kinds_[id];
  made.kind = kind;
  made.idle_since = ++last_idle_;
  idle_[made.idle_since] = id;
  kinds_of_key_[kind.key].insert(id);
  for (const std::string& device_id : devices_with(kind.key)) {
    Device& device = devices_.at(device_id);
    for (auto& [number, slot] : device.slots) connect(*device.info, slot, id, made);
  }
  evict_idle();
  return id;
}

std::optional<RequestKindId> SlotIndex::find(const RequestKind& kind) const {
  const auto known = ids_.find(kind);
  return known == ids_.end() ? std::nullopt : std::optional(known->second);
}

void SlotIndex::use(RequestKindId id) {
  Class& kind = kinds_.at(id);
  if (++kind.uses == 1) idle_.erase(kind.idle_since);
}

void SlotIndex::unuse(RequestKindId id) {
  Class& kind = kinds_.at(id);
  TF_CHECK(kind.uses > 0) << "no request waits with a request of this kind";
  if (--kind.uses > 0) return;
  kind.idle_since = ++last_idle_;
  idle_[kind.idle_since] = id;
  evict_idle();
}

void SlotIndex::evict_idle() {
  // Never the newest: its id is about to be used.
  while (idle_.size() > idle_kinds_ && idle_.size() > 1) {
    const RequestKindId id = idle_.begin()->second;
    idle_.erase(idle_.begin());
    const auto evicted = kinds_.find(id);
    const std::string& key = evicted->second.kind.key;
    for (const std::string& device_id : devices_with(key)) {
      for (auto& [number, slot] : devices_.at(device_id).slots) slot.meets.erase(id);
    }
    const auto same_key = kinds_of_key_.find(key);
    same_key->second.erase(id);
    if (same_key->second.empty()) kinds_of_key_.erase(same_key);
    ids_.erase(evicted->second.kind);
    kinds_.erase(evicted);
  }
}

std::optional<SlotKey> SlotIndex::pick(RequestKindId id, const std::string& user) const {
  const auto& free = kinds_.at(id).free;
  for (const std::string& owner : {user, std::string()}) {
    const auto found = free.find(owner);
    if (found != free.end()) return found->second.begin()->slot;
  }
  return std::nullopt;
}

const std::set<RequestKindId>& SlotIndex::met_by(const SlotKey& key) const {
  static const std::set<RequestKindId> none;
  const auto device = devices_.find(key.device_id);
  if (device == devices_.end()) return none;
  const auto slot = device->second.slots.find(key.slot);
  return slot == device->second.slots.end() ? none : slot->second.meets;
}

const std::set<std::string>& SlotIndex::devices_with(const std::string& key) const {
  static const std::set<std::string> none;
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? none : found->second;
}

std::vector<std::string> SlotIndex::keys_like(const std::string& key, size_t most) const {
  std::vector<std::pair<size_t, const std::string*>> keys;  // by how much they have in common
  for (const auto& [each, devices] : by_key_) keys.emplace_back(common_beginning(key, each), &each);
  const size_t count = std::min(most, keys.size());
  const auto before = [](const auto& one, const auto& other) {
    return one.first != other.first ? one.first > other.first : *one.second < *other.second;
  };
  std::ranges::partial_sort(keys, keys.begin() + static_cast<std::ptrdiff_t>(count), before);
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i) result.push_back(*keys[i].second);
  return result;
}

absl::Status SlotIndex::why_unsatisfiable(const RequestKind& kind) const {
  if (by_key_.empty()) {
    return absl::NotFoundError(absl::StrCat("no device has the key ", kind.key,
                                            ": no device has registered yet; start ",
                                            "`device_agent --tracker HOST:PORT --key ", kind.key, "`"));
  }
  const std::set<std::string>& devices = devices_with(kind.key);
  if (devices.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no device has the key ", kind.key,
                     "; known keys: ", absl::StrJoin(keys_like(kind.key, kKeysNamed), ", "),
                     keys() > kKeysNamed ? absl::StrCat(" and ", keys() - kKeysNamed, " others") : ""));
  }
  // Any one device's lack is an example; the last one's is as good as another.
  const Device& device = devices_.at(*devices.rbegin());
  std::string unmet = "a slot";
  if (!device.slots.empty()) {
    unmet = unmet_requirement(*device.info, device.slots.rbegin()->second.offer, kind.requirements);
  }
  return absl::NotFoundError(absl::StrCat("no device with the key ", kind.key, " has ", unmet));
}

}  // namespace tf::tracker
