#include "tracker/farm.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "tracker/farm_state.h"
#include "tracker/state_store.h"

namespace tf::tracker {
namespace {

LeaseId new_lease_id() {
  std::random_device random;
  return {absl::StrFormat("%08x%08x", random(), random())};
}

}  // namespace

Farm::Farm(const rpc::Clock& clock, StateStore& store, FarmOptions options)
    : clock_(clock), store_(store), options_(options), leases_(clock) {}

Farm::~Farm() = default;

absl::StatusOr<std::unique_ptr<Farm>> Farm::open(const rpc::Clock& clock, StateStore& store,
                                                 FarmOptions options) {
  TF_ASSIGN_OR_RETURN(StoredState state, store.load());
  auto farm = std::unique_ptr<Farm>(new Farm(clock, store, options));
  for (StoredDevice& stored : state.devices) {
    Device& device = farm->devices_[stored.info.id];
    device.draining = stored.draining;
    device.since = clock.now();
    device.info = std::move(stored.info);
  }
  for (const auto& [slot, epoch] : state.epochs) farm->leases_.raise_epoch(slot, epoch);
  for (Lease& lease : state.leases) {
    farm->relays_.emplace(lease.id, Relay(options.flow));
    farm->leases_.restore(std::move(lease));
  }
  return farm;
}

Farm::Device* Farm::by_session(SessionId session) {
  const auto found = device_of_.find(session);
  return found == device_of_.end() ? nullptr : &devices_.at(found->second);
}

Farm::Stream* Farm::by_stream(SessionId stream) {
  const auto found = lease_of_.find(stream);
  return found == lease_of_.end() ? nullptr : &streams_.at(found->second);
}

void Farm::touch(Locked& lock, const SlotKey& slot) {
  const auto found = devices_.find(slot.device_id);
  if (found == devices_.end()) return;
  found->second.dirty.insert(slot.slot);
  lock.wake(found->second.link);
}

void Farm::end_lease(Locked& lock, const LeaseId& id, const absl::Status& why) {
  const std::optional<Lease> lease = leases_.end(id);
  if (!lease) return;
  // If this cannot be written, a restart finds the lease again and lets it expire: late, but safe.
  if (const absl::Status saved = store_.end_lease(id); !saved.ok()) spdlog::error("{}", saved.ToString());
  spdlog::info("lease {} on {}/{} ends: {}", id.text, lease->slot.device_id, lease->slot.slot,
               std::string(why.message()));
  relays_.erase(id);
  if (const auto stream = streams_.find(id); stream != streams_.end()) {
    lock.close(stream->second.link, why);
    lease_of_.erase(stream->second.id);
    streams_.erase(stream);
  }
  touch(lock, lease->slot);
}

// Agents
// ------------------------------------------------------------------------------------------------------------

// A device that comes back under another key or with fewer slots keeps no lease of what it no longer offers.
void Farm::end_orphans(Locked& lock, const DeviceInfo& now) {
  const DeviceInfo& before = devices_.at(now.id).info;
  for (const SlotOffer& old : before.slots) {
    const bool kept = before.key == now.key && std::ranges::any_of(now.slots, [&](const SlotOffer& slot) {
                        return slot.slot == old.slot && slot.threads == old.threads;
                      });
    const Lease* lease = leases_.on({now.id, old.slot});
    if (kept || !lease) continue;
    end_lease(lock, LeaseId(lease->id),
              absl::NotFoundError(absl::StrCat("device ", now.id, " no longer offers this slot")));
  }
}

absl::StatusOr<Farm::SessionId> Farm::attach(const DeviceInfo& info, const std::string& run,
                                             std::shared_ptr<Link> link) {
  Locked lock(*this);
  const auto known = devices_.find(info.id);
  const bool draining = known != devices_.end() && known->second.draining;
  TF_RETURN_IF_ERROR(store_.save_device(info, draining));
  if (known != devices_.end()) end_orphans(lock, info);
  Device& device = devices_[info.id];
  if (device.session != 0) {
    const bool same_run = device.run == run;
    lock.close(device.link,
               same_run ? absl::AbortedError("a newer stream of this agent has begun")
                        : absl::AlreadyExistsError(absl::StrCat("another agent has taken over the id ",
                                                                info.id, ": give each its own --id")));
    device_of_.erase(device.session);
  }
  for (const SlotOffer& slot : info.slots) {
    leases_.raise_epoch({info.id, slot.slot}, slot.highest_epoch);
    device.dirty.insert(slot.slot);
  }
  device.info = info;
  device.session = ++last_session_;
  device.link = std::move(link);
  device.run = run;
  device.since = clock_.now();
  device.stopping = false;
  device_of_[device.session] = info.id;
  spdlog::info("device {} ({}) is online", info.id, info.key);
  match(lock);
  return device.session;
}

void Farm::detach(SessionId session) {
  Locked lock(*this);
  Device* device = by_session(session);
  if (!device) return;
  spdlog::info("device {} is away", device->info.id);
  device_of_.erase(session);
  device->session = 0;
  device->link = nullptr;
  device->since = clock_.now();
  lock.deadline_changed();
}

void Farm::report(SessionId session, const std::vector<AgentReply>& replies, bool stopping) {
  Locked lock(*this);
  Device* device = by_session(session);
  if (!device) return;
  for (const AgentReply& reply : replies) {
    // A reply of a lease that is over is of no use to anyone: its holder measures again under the next one.
    if (reply.slot.device_id != device->info.id || !leases_.find(reply.lease, reply.epoch).ok()) continue;
    if (leases_.active().at(reply.lease).slot != reply.slot) continue;
    relays_.at(reply.lease).answer(reply.sequence, reply.reply);
    if (const auto stream = streams_.find(reply.lease); stream != streams_.end())
      lock.wake(stream->second.link);
    touch(lock, reply.slot);
    end_if_stuck(lock, LeaseId(reply.lease));
  }
  if (!stopping) return;
  device->stopping = true;
  for (const SlotOffer& slot : device->info.slots) {
    const Lease* lease = leases_.on({device->info.id, slot.slot});
    if (lease)
      end_lease(lock, LeaseId(lease->id),
                absl::NotFoundError(absl::StrCat("device ", device->info.id, " is stopping")));
  }
}

std::vector<DesiredSlot> Farm::take_desired(SessionId session) {
  Locked lock(*this);
  std::vector<DesiredSlot> result;
  Device* device = by_session(session);
  if (!device) return result;
  for (const uint32_t slot : std::exchange(device->dirty, {})) {
    DesiredSlot& desired = result.emplace_back(DesiredSlot{.slot = slot});
    const Lease* lease = leases_.on({device->info.id, slot});
    if (!lease) continue;
    Relay& relay = relays_.at(lease->id);
    desired.lease = *lease;
    desired.remaining = std::max(lease->expires_at - clock_.now(), absl::ZeroDuration());
    desired.window = relay.window(options_.window);
    desired.acknowledged = relay.take_acknowledged();
  }
  return result;
}

// Tuners
// ------------------------------------------------------------------------------------------------------------

absl::Status Farm::why_unknown(const std::string& key) const {
  std::set<std::string> keys;
  for (const auto& [id, device] : devices_) keys.insert(device.info.key);
  if (keys.empty()) {
    return absl::NotFoundError(absl::StrCat("no device has the key ", key,
                                            ": no device has ever registered here; start ",
                                            "`device_agent --tracker HOST:PORT --key ", key, "`"));
  }
  return absl::NotFoundError(
      absl::StrCat("no device has the key ", key, "; known keys: ", absl::StrJoin(keys, ", ")));
}

absl::Status Farm::check_satisfiable(const AcquireRequest& request) const {
  std::string unmet;
  bool known = false;
  for (const auto& [id, device] : devices_) {
    if (device.info.key != request.key) continue;
    known = true;
    for (const SlotOffer& slot : device.info.slots) {
      unmet = unmet_requirement(device.info, slot, request.requirements);
      if (unmet.empty()) return absl::OkStatus();
    }
  }
  if (!known) return why_unknown(request.key);
  return absl::NotFoundError(absl::StrCat("no device with the key ", request.key, " has ", unmet));
}

std::string Farm::busy_text(const AcquireRequest& request) const {
  int away = 0;
  int draining = 0;
  int busy = 0;
  for (const auto& [id, device] : devices_) {
    if (device.info.key != request.key) continue;
    ++(device.session == 0 ? away : device.draining || device.stopping ? draining : busy);
  }
  return absl::StrCat("no device with the key ", request.key, " became free in time: ", busy, " busy, ",
                      draining, " draining, ", away, " away; see `tracker devices`");
}

void Farm::acquire(AcquireRequest request, std::shared_ptr<Waiter> waiter) {
  Locked lock(*this);
  if (absl::Status status = check_satisfiable(request); !status.ok()) {
    lock.answer(std::move(waiter), std::move(status));
    return;
  }
  for (const Lease& old : leases_.superseded(request.holder, request.holder_run)) {
    end_lease(lock, old.id, absl::NotFoundError("its holder has been started again"));
  }
  if (request.term <= absl::ZeroDuration()) request.term = options_.default_term;
  request.term = std::min(request.term, options_.longest_term);
  const rpc::Instant deadline = clock_.now() + std::min(request.wait, options_.longest_wait);
  waiting_.push_back({std::move(request), std::move(waiter), deadline});
  match(lock);
  lock.deadline_changed();
}

bool Farm::cancel(const Waiter* waiter) {
  Locked lock(*this);
  return std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.waiter.get() == waiter; }) > 0;
}

void Farm::match(Locked& lock) {
  std::erase_if(waiting_, [&](Waiting& waiting) { return try_grant(lock, waiting); });
}

// True: answered, one way or the other.
bool Farm::try_grant(Locked& lock, Waiting& waiting) {
  const AcquireRequest& request = waiting.request;
  for (auto& [id, device] : devices_) {
    if (device.info.key != request.key || device.session == 0 || device.draining || device.stopping) continue;
    for (const SlotOffer& slot : device.info.slots) {
      const SlotKey key{id, slot.slot};
      if (leases_.on(key) || !unmet_requirement(device.info, slot, request.requirements).empty()) continue;
      const Lease lease =
          leases_.propose(new_lease_id(), key, request.holder, request.holder_run, request.term);
      if (absl::Status saved = store_.save_lease(lease); !saved.ok()) {
        lock.answer(waiting.waiter, std::move(saved));
        return true;
      }
      leases_.commit(lease);
      relays_.emplace(lease.id, Relay(options_.flow));
      spdlog::info("lease {} on {}/{} epoch {} to {}", lease.id.text, id, slot.slot, lease.epoch,
                   request.holder);
      lock.answer(waiting.waiter, Grant{lease, device.info, slot.threads});
      lock.deadline_changed();
      touch(lock, key);
      return true;
    }
  }
  return false;
}

absl::StatusOr<Grant> Farm::renew(const LeaseId& id, uint64_t epoch) {
  Locked lock(*this);
  TF_ASSIGN_OR_RETURN(const Lease lease, leases_.renew(id, epoch));
  touch(lock, lease.slot);
  const DeviceInfo& device = devices_.at(lease.slot.device_id).info;
  const auto slot = std::ranges::find(device.slots, lease.slot.slot, &SlotOffer::slot);
  return Grant{lease, device, slot == device.slots.end() ? 0 : slot->threads};
}

void Farm::release(const LeaseId& id, uint64_t epoch) {
  Locked lock(*this);
  if (!leases_.find(id, epoch).ok()) return;
  end_lease(lock, id, absl::NotFoundError("its holder has released it"));
  match(lock);
}

absl::StatusOr<Farm::SessionId> Farm::open_stream(const LeaseId& id, uint64_t epoch,
                                                  std::shared_ptr<Link> link) {
  Locked lock(*this);
  TF_RETURN_IF_ERROR(leases_.find(id, epoch).status());
  Stream& stream = streams_[id];
  lock.close(stream.link, absl::AbortedError("a newer stream of this lease has begun"));
  lease_of_.erase(stream.id);
  stream = {.id = ++last_session_, .link = std::move(link)};
  lease_of_[stream.id] = id;
  relays_.at(id).rewind_replies();
  lock.wake(stream.link);
  return stream.id;
}

void Farm::close_stream(SessionId stream) {
  Locked lock(*this);
  const auto found = lease_of_.find(stream);
  if (found == lease_of_.end()) return;
  streams_.erase(found->second);
  lease_of_.erase(found);
}

bool Farm::submit(SessionId stream, uint64_t sequence, std::string trial) {
  Locked lock(*this);
  const auto found = lease_of_.find(stream);
  if (found == lease_of_.end()) return true;
  Relay& relay = relays_.at(found->second);
  if (relay.submit(sequence, std::move(trial)) && relay.unanswered() <= options_.window) {
    touch(lock, leases_.active().at(found->second).slot);
  }
  const bool room = relay.takes_trials();
  end_if_stuck(lock, LeaseId(found->second));
  return room;
}

// Its stream is not read, so no acknowledgement could come, so the device gets nothing.
void Farm::end_if_stuck(Locked& lock, const LeaseId& id) {
  const auto relay = relays_.find(id);
  if (relay == relays_.end() || relay->second.takes_trials() || relay->second.takes_replies()) return;
  end_lease(
      lock, id,
      absl::ResourceExhaustedError(absl::StrCat(
          "its holder has ", relay->second.unanswered(), " trials unanswered and has acknowledged none of ",
          relay->second.unacknowledged(), " results: acknowledge results while sending trials")));
}

bool Farm::has_room(SessionId stream) {
  Locked lock(*this);
  const auto found = lease_of_.find(stream);
  return found == lease_of_.end() || relays_.at(found->second).takes_trials();
}

void Farm::acknowledge(SessionId stream, const std::vector<uint64_t>& sequences) {
  Locked lock(*this);
  const auto found = lease_of_.find(stream);
  if (found == lease_of_.end()) return;
  for (const uint64_t sequence : sequences) relays_.at(found->second).acknowledge(sequence);
  touch(lock, leases_.active().at(found->second).slot);
}

std::vector<std::string> Farm::take_replies(SessionId stream) {
  Locked lock(*this);
  const auto found = lease_of_.find(stream);
  if (found == lease_of_.end()) return {};
  return relays_.at(found->second).take_replies();
}

}  // namespace tf::tracker
