// What operators see of a Farm: devices, reservations, who waits, who has how much.

#include <algorithm>
#include <iterator>

#include "tracker/farm_state.h"

namespace tf::tracker {
namespace {

// Under one lock: what nobody notices who waits for it.
constexpr size_t kLookedAt = 512;

bool is_asked_for(const DeviceInfo& device, const DeviceQuery& query) {
  if (!query.key.empty() && query.key != device.key) return false;
  if (!query.selector.matches(device.labels)) return false;
  if (!query.requirements) return true;
  return std::ranges::any_of(device.slots, [&](const SlotOffer& slot) {
    return unmet_requirement(device, slot, *query.requirements).empty();
  });
}

}  // namespace

DeviceStatus Farm::status_of(const Device& device, bool all_samples) const {
  DeviceStatus status{.info = device.info,
                      .address = device.address,
                      .online = device.session != 0,
                      .stopping = device.stopping,
                      .admission = device.admission,
                      .health = device.health.health(),
                      .health_reason = device.health.reason(),
                      .health_for = std::nullopt,
                      .reserved_for = reservations_.user_for(*device.info, clock_.now()),
                      .since = clock_.now() - device.since,
                      .leases_end_in = std::nullopt,
                      .slots = {}};
  if (device.health_since) status.health_for = clock_.now() - *device.health_since;
  const absl::Duration grace_left = options_.agent_grace - status.since;
  if (!status.online && grace_left > absl::ZeroDuration()) status.leases_end_in = grace_left;
  for (const SlotOffer& offer : device.info->slots) {
    const SlotKey key{device.info->id, offer.slot};
    SlotStatus& slot = status.slots.emplace_back();
    slot.slot = offer.slot;
    slot.epoch = leases_.epoch(key);
    if (const auto golden = device.golden.find(offer.slot); golden != device.golden.end()) {
      slot.golden = all_samples ? golden->second : golden->second.latest();
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
    const auto direct = direct_.find(lease->id);
    if (direct == direct_.end()) continue;
    const DirectWork& told = direct->second.told;
    slot.unanswered += told.queued;
    slot.unacknowledged += told.unacknowledged;
    slot.answered += direct->second.earlier + told.acknowledged + told.unacknowledged;
  }
  return status;
}

DevicePage Farm::page(const DeviceQuery& query) {
  Locked lock(*this);
  DevicePage result;
  size_t looked_at = 0;
  auto next = devices_.upper_bound(query.after);
  for (; next != devices_.end() && result.devices.size() < query.most && looked_at < kLookedAt; ++next) {
    ++looked_at;
    const Device& device = next->second;
    if (is_asked_for(*device.info, query)) result.devices.push_back(status_of(device, query.all_samples));
  }
  if (next != devices_.end()) result.next = looked_at == 0 ? query.after : std::prev(next)->first;
  return result;
}

std::vector<std::string> Farm::known_keys(const std::string& key, size_t most) {
  Locked lock(*this);
  return matchmaker_.slots().keys_like(key, most);
}

std::vector<ReservationStatus> Farm::reservations(uint64_t after, size_t most) {
  Locked lock(*this);
  std::vector<ReservationStatus> result;
  const auto& all = reservations_.all();
  for (auto next = all.upper_bound(after); next != all.end() && result.size() < most; ++next)
    result.push_back(status_of(next->second));
  return result;
}

std::vector<WaitingStatus> Farm::waiting(const WaitingPlace& after, size_t most) {
  Locked lock(*this);
  std::vector<std::pair<Rank, RequestId>> ranked;
  for (const auto& [id, request] : matchmaker_.queue().requests())
    ranked.emplace_back(matchmaker_.rank(request), id);
  std::ranges::sort(ranked);
  // Those before it may have been served since, so that it has moved up.
  const auto known = std::ranges::find(ranked, after.id, &std::pair<Rank, RequestId>::second);
  size_t number = known == ranked.end() ? after.number : static_cast<size_t>(known - ranked.begin()) + 1;
  std::vector<WaitingStatus> result;
  for (; number < ranked.size() && result.size() < most; ++number) {
    const RequestId id = ranked[number].second;
    const WaitingRequest& request = matchmaker_.queue().at(id);
    const RequestKind& kind = matchmaker_.slots().kind(request.kind);
    result.push_back({.request = request,
                      .key = kind.key,
                      .requirements = kind.requirements,
                      .waited = clock_.now() - request.arrived,
                      .place = {.number = number + 1, .id = id}});
  }
  return result;
}

std::vector<UserStatus> Farm::users(const std::optional<std::string>& after, size_t most) {
  Locked lock(*this);
  std::set<std::string> names;
  for (const auto& [user, account] : matchmaker_.usage().accounts()) names.insert(user);
  for (const auto& [id, request] : matchmaker_.queue().requests()) names.insert(request.user);
  std::vector<UserStatus> result;
  for (auto next = after ? names.upper_bound(*after) : names.begin();
       next != names.end() && result.size() < most; ++next) {
    const std::string& user = *next;
    result.push_back({.user = user,
                      .share = options_.policies.of(user).share,
                      .slots = matchmaker_.usage().held(user),
                      .waiting = matchmaker_.queue().waiting(user),
                      .slot_seconds = matchmaker_.usage().held_seconds(user)});
  }
  return result;
}

}  // namespace tf::tracker
