#include "tracker/farm.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/testing/event_log.h"
#include "rpc/daemon/log_fields.h"
#include "tracker/farm_state.h"
#include "tracker/health/blocklist_wire.h"

namespace tf::tracker {
namespace {

// What an agent is told at once ends with the slot that exceeds this.
constexpr uint64_t kMostDesiredBytes = 1 << 20;

uint64_t bytes_of(const DesiredSlot& desired) {
  uint64_t bytes = desired.acknowledged.size() * sizeof(uint64_t);
  for (const QueuedTrial& trial : desired.window) bytes += trial.trial.size();
  return bytes;
}

}  // namespace

void log_lease(std::string_view event, const Lease& lease) {
  if (!event_log_is_open()) return;
  const std::string slot = absl::StrCat(lease.slot.device_id, "/", lease.slot.slot);
  log_event(event, {{"lease", lease.id.text},
                    {"epoch", lease.epoch},
                    {"slot", slot},
                    {"term_ms", static_cast<uint64_t>(absl::ToInt64Milliseconds(lease.term))}});
}

Farm::Farm(const rpc::Clock& clock, StateStore& store, FarmOptions options)
    : clock_(clock),
      store_(store),
      options_(std::move(options)),
      leases_(clock),
      matchmaker_(clock, options_.match, options_.policies),
      blocklist_({}, clock) {}

Farm::~Farm() = default;

absl::StatusOr<std::unique_ptr<Farm>> Farm::open(const rpc::Clock& clock, StateStore& store,
                                                 FarmOptions options) {
  TF_ASSIGN_OR_RETURN(StoredState state, store.load());
  auto farm = std::unique_ptr<Farm>(new Farm(clock, store, std::move(options)));
  farm->take_over(std::move(state));
  farm->save().IgnoreError();  // logged, and tried again
  return farm;
}

void Farm::take_over(StoredState state) {
  for (StoredDevice& stored : state.devices) {
    const auto [entry, is_new] =
        devices_.try_emplace(stored.info->id, clock_, options_.health, std::move(stored.health));
    Device& device = entry->second;
    device.admission = stored.admission;
    device.info = std::move(stored.info);
    device.away_since = stored.away_since;
    if (stored.health_since && device.health.health() != Health::kHealthy) {
      const absl::Duration lasted = options_.wall_now() - *stored.health_since;  // that clock may have jumped
      device.health_since = clock_.now() - std::max(absl::ZeroDuration(), lasted);
    }
    device.health.runs_golden(device.info->runs_golden());
    matchmaker_.describe(device.info);
    became_away(device);
    if (!device.health.may_measure()) quarantined_.insert(entry->first);
  }
  for (auto& [slot, baseline] : state.golden) {
    const auto device = devices_.find(slot.device_id);
    if (device != devices_.end() && device->second.info->offers(slot.slot)) {
      device->second.golden[slot.slot] = GoldenTrend(std::move(baseline));
    } else {
      unsaved_.golden.insert(slot);
    }
  }
  for (const auto& [slot, epoch] : state.epochs) leases_.raise_epoch(slot, epoch);
  for (Lease& lease : state.leases) take_over(std::move(lease));
  for (StoredReservation& stored : state.reservations) {
    const absl::Status taken = take_over(std::move(stored));
    if (!taken.ok())
      spdlog::error(absl::StrCat("a stored reservation was skipped: ", code_and_message(taken)));
  }
  reservations_change_ = reservations_.next_change(clock_.now());
}

// A lease that was to end, as those in quarantine, may have lost that on its way to the disk.
void Farm::take_over(Lease lease) {
  const auto device = devices_.find(lease.slot.device_id);
  if (device == devices_.end() || !device->second.health.may_measure() ||
      !device->second.info->offers(lease.slot.slot)) {
    leases_.raise_epoch(lease.slot, lease.epoch);
    unsaved_.ended.push_back(lease.id);
    return;
  }
  relays_.emplace(lease.id, Relay(options_.flow));
  matchmaker_.begin(lease.user);
  log_lease("lease_restored", lease);
  leases_.restore(std::move(lease));
}

Farm::Device* Farm::by_session(SessionId session) {
  const auto found = device_of_.find(session);
  return found == device_of_.end() ? nullptr : &devices_.at(found->second);
}

void Farm::touch(Locked& lock, const SlotKey& slot) {
  const auto found = devices_.find(slot.device_id);
  if (found == devices_.end()) return;
  found->second.dirty.insert(slot.slot);
  lock.wake(found->second.link);
}

void Farm::touch_all(Locked& lock, Device& device) {
  for (const SlotOffer& slot : device.info->slots) touch(lock, {device.info->id, slot.slot});
}

void Farm::end_lease(Locked& lock, const LeaseId& id, const absl::Status& why) {
  const std::optional<Lease> lease = leases_.end(id);
  if (!lease) return;
  unsaved_.ended.push_back(lease->id);
  lock.save();
  log_lease("lease_ended", *lease);
  const rpc::LogFields about({{"device", lease->slot.device_id}, {"lease", lease->id.text}});
  spdlog::info(absl::StrCat("lease ", lease->id.text, " on ", lease->slot.device_id, "/", lease->slot.slot,
                            " ended: ", why.message()));
  relays_.erase(lease->id);
  unanswered_.erase(lease->id);
  failures_told_.erase(lease->id);
  direct_.erase(lease->id);
  if (const auto stream = streams_.find(lease->id); stream != streams_.end()) {
    lock.close(stream->second.link, why);
    lease_of_.erase(stream->second.id);
    streams_.erase(stream);
  }
  matchmaker_.end(lease->slot, lease->user);
  if (const auto device = devices_.find(lease->slot.device_id); device != devices_.end())
    offer(device->second);
  touch(lock, lease->slot);
}

void Farm::end_leases(Locked& lock, const Device& device, const absl::Status& why) {
  for (const SlotOffer& slot : device.info->slots) {
    const Lease* lease = leases_.on({device.info->id, slot.slot});
    if (lease) end_lease(lock, LeaseId(lease->id), why);
  }
}

// Agents
// ------------------------------------------------------------------------------------------------------------

void Farm::report(SessionId session, const std::vector<AgentReply>& replies, bool stopping) {
  Locked lock(*this);
  Device* device = by_session(session);
  if (!device) return;
  for (const AgentReply& reply : replies) {
    // A reply of a lease that is over is of no use to anyone: its holder measures again under the next one.
    if (reply.slot.device_id != device->info->id || !leases_.find(reply.lease, reply.epoch).ok()) continue;
    if (leases_.active().at(reply.lease).slot != reply.slot) continue;
    const std::string user = leases_.active().at(reply.lease).user;
    Relay& relay = relays_.at(reply.lease);
    const bool was_cut = relay.is_beyond_window(options_.window);
    const bool is_new = relay.answer(reply.sequence, reply.reply);
    if (const auto stream = streams_.find(reply.lease); stream != streams_.end())
      lock.wake(stream->second.link);
    // The agent knows what it has answered, and will hear of the acknowledgement. Now it needs to hear only
    // of a trial that comes into its window, of a reply that was acknowledged before, or that it gets no
    // more.
    if (was_cut || !is_new || !relay.takes_replies()) touch(lock, reply.slot);
    std::map<uint64_t, TrialFacts>::node_type trial;
    if (is_new) {
      ++counts_.replies_relayed;
      log_event("reply_relayed",
                {{"lease", reply.lease.text}, {"epoch", reply.epoch}, {"sequence", reply.sequence}});
      trial = unanswered_[reply.lease].extract(reply.sequence);
    }
    end_if_stuck(lock, LeaseId(reply.lease));
    // After a restart of the tracker the trial may be unknown: then its answer is passed on, and blames
    // nobody.
    if (trial.empty()) continue;
    judge(lock, *device,
          {.candidate = trial.mapped().candidate,
           .user = user,
           .end = reply.end,
           .run_timeout = trial.mapped().run_timeout,
           .signal = reply.signal,
           .detail = reply.detail});
  }
  if (stopping) {
    device->stopping = true;
    offer(*device);
    end_leases(lock, *device, absl::NotFoundError(absl::StrCat("device ", device->info->id, " is stopping")));
  }
  match(lock);
}

void Farm::tell_again(SessionId session) {
  Locked lock(*this);
  if (Device* device = by_session(session)) touch_all(lock, *device);
}

std::vector<DesiredSlot> Farm::take_desired(SessionId session) {
  Locked lock(*this);
  std::vector<DesiredSlot> result;
  Device* device = by_session(session);
  if (!device) return result;
  uint64_t bytes = 0;
  while (!device->dirty.empty() && bytes < kMostDesiredBytes) {
    auto next = device->dirty.lower_bound(device->next_told);
    if (next == device->dirty.end()) next = device->dirty.begin();
    const uint32_t slot = *next;
    device->dirty.erase(next);
    device->next_told = slot + 1;
    bytes += bytes_of(result.emplace_back(take_desired(*device, slot)));
  }
  return result;
}

DesiredSlot Farm::take_desired(const Device& device, uint32_t slot) {
  DesiredSlot desired{.slot = slot};
  desired.golden_wanted = device.health.wants_golden();
  const Lease* lease = leases_.on({device.info->id, slot});
  if (!lease) return desired;
  Relay& relay = relays_.at(lease->id);
  desired.lease = *lease;
  desired.remaining = std::max(lease->expires_at - clock_.now(), absl::ZeroDuration());
  desired.window = relay.window(options_.window);
  desired.acknowledged = relay.take_acknowledged();
  std::map<uint64_t, TrialFacts>& facts = unanswered_[lease->id];
  for (const QueuedTrial& trial : desired.window) {
    if (const auto known = facts.find(trial.sequence); known != facts.end()) known->second.shown = true;
  }
  return desired;
}

// Streams of trials
// ------------------------------------------------------------------------------------------------------------

absl::StatusOr<Farm::SessionId> Farm::open_stream(const LeaseId& id, uint64_t epoch,
                                                  std::shared_ptr<Link> link) {
  Locked lock(*this);
  TF_ASSIGN_OR_RETURN(const Lease lease, leases_.find(id, epoch));
  Stream& stream = streams_[id];
  lock.close(stream.link, absl::AbortedError("a newer stream of this lease replaced it"));
  lease_of_.erase(stream.id);
  stream = {.id = ++last_session_, .link = std::move(link)};
  lease_of_[stream.id] = id;
  relays_.at(id).rewind_replies();
  lock.wake(stream.link);
  touch(lock, lease.slot);  // whoever has everything told again may miss what was lost beyond us
  return stream.id;
}

void Farm::close_stream(SessionId stream) {
  Locked lock(*this);
  const auto found = lease_of_.find(stream);
  if (found == lease_of_.end()) return;
  streams_.erase(found->second);
  lease_of_.erase(found);
}

bool Farm::submit(SessionId stream, uint64_t sequence, std::string trial, TrialFacts facts) {
  Locked lock(*this);
  const auto found = lease_of_.find(stream);
  if (found == lease_of_.end()) return true;
  Relay& relay = relays_.at(found->second);
  const Lease& lease = leases_.active().at(found->second);
  if (!relay.submit(sequence, std::move(trial))) return relay.takes_trials();
  const BlockedCandidate* known = blocklist_.blocked_candidate(facts.candidate, facts.run_timeout);
  if (known &&
      relay.answer(sequence, blocked_reply(*known, facts.candidate, lease.id.text, lease.epoch, sequence))) {
    lock.wake(streams_.at(lease.id).link);
  } else {
    unanswered_[lease.id][sequence] = std::move(facts);
    if (relay.unanswered() <= options_.window) touch(lock, lease.slot);
  }
  const bool room = relay.takes_trials();
  end_if_stuck(lock, LeaseId(found->second));
  match(lock);
  return room;
}

// Its stream is not read, so no acknowledgement could come, so the device gets nothing.
void Farm::end_if_stuck(Locked& lock, const LeaseId& id) {
  const auto relay = relays_.find(id);
  if (relay == relays_.end() || relay->second.takes_trials() || relay->second.takes_replies()) return;
  end_lease(lock, id,
            absl::ResourceExhaustedError(absl::StrCat("its holder has ", relay->second.unanswered(),
                                                      " unanswered trials and has not acknowledged any of ",
                                                      relay->second.unacknowledged(),
                                                      " results: acknowledge results while sending trials")));
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
  const LeaseId id = found->second;
  Relay& relay = relays_.at(id);
  for (const uint64_t sequence : sequences) {
    relay.acknowledge(sequence);
    unanswered_[id].erase(sequence);  // withdrawn
  }
  if (!relay.is_in_order()) {
    end_lease(lock, id,
              absl::InvalidArgumentError(absl::StrCat("its holder skipped sequence numbers more than ",
                                                      Relay::kMostRuns,
                                                      " times: number the trials of a lease without gaps")));
    match(lock);
    return;
  }
  touch(lock, leases_.active().at(id).slot);
}

std::vector<std::string> Farm::take_replies(SessionId stream) {
  Locked lock(*this);
  const auto found = lease_of_.find(stream);
  if (found == lease_of_.end()) return {};
  return relays_.at(found->second).take_replies();
}

}  // namespace tf::tracker
