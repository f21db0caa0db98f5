// The agents' side of Farm: which agent serves a device, and what becomes of it when agents come and go.

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/daemon/log_fields.h"
#include "tracker/farm_state.h"
#include "tracker/leases/device_wire.h"

namespace tf::tracker {
namespace {

std::string place_of(const std::string& address) {
  return address.empty() ? "an unknown address" : address;
}

absl::Status newcomer_refused(const std::string& id, const std::string& present,
                              const std::string& newcomer) {
  return absl::AlreadyExistsError(
      absl::StrCat("another agent serves the device ", id, ": the one at ", place_of(present),
                   " responds, so the one at ", place_of(newcomer),
                   " is refused; stop one of them, or give each its own --id, --state-dir and, on a secured "
                   "farm, certificate (boards cloned from one disk image share them)"));
}

absl::Status taken_over(const std::string& id, const std::string& present, const std::string& newcomer,
                        absl::Duration silence) {
  return absl::AlreadyExistsError(
      absl::StrCat("another agent at ", place_of(newcomer), " took over the device ", id, ": the one at ",
                   place_of(present), " did not respond for ", absl::FormatDuration(silence),
                   "; stop one of them, or give each its own --id and --state-dir"));
}

}  // namespace

// A device that comes back under another key or with fewer slots keeps no lease of what it no longer offers.
void Farm::end_orphans(Locked& lock, const Device& device, const DeviceInfo& now) {
  const std::shared_ptr<const DeviceInfo> before = device.info;
  for (const SlotOffer& old : before->slots) {
    const bool kept = before->key == now.key && std::ranges::any_of(now.slots, [&](const SlotOffer& slot) {
                        return slot.slot == old.slot && slot.threads == old.threads;
                      });
    const Lease* lease = leases_.on({now.id, old.slot});
    if (kept || !lease) continue;
    end_lease(lock, LeaseId(lease->id),
              absl::NotFoundError(absl::StrCat("device ", now.id, " no longer offers this slot")));
  }
}

void Farm::became_away(Device& device) {
  device.session = 0;
  device.link = nullptr;
  device.since = clock_.now();
  away_.insert({device.since + options_.agent_grace, device.info->id});
}

void Farm::describe(Locked& lock, Device& device, const DeviceInfo& info) {
  const std::shared_ptr<const DeviceInfo> before = device.info;
  if (!before || !offers_the_same(*before, info)) {
    unsaved_.devices.insert(info.id);
    lock.save();
  }
  if (before) end_orphans(lock, device, info);
  device.info = std::make_shared<const DeviceInfo>(info);
  device.health.runs_golden(info.runs_golden());
  if (!device.health.may_measure()) lock.deadline_changed();  // without a golden kernel that ends in time
  std::erase_if(device.golden, [&](const auto& each) {
    if (info.offers(each.first)) return false;
    unsaved_.golden.insert({info.id, each.first});
    lock.save();
    return true;
  });
  matchmaker_.describe(device.info);
}

// The ping of its last stream may be lost.
void Farm::ping_again(Locked& lock, Device& device) {
  Contender& newcomer = *device.contender;
  contenders_.erase({newcomer.deadline, device.info->id});
  newcomer.pinged = false;
  newcomer.deadline = clock_.now() + options_.ping_grace_period;
  contenders_.insert({newcomer.deadline, device.info->id});
  lock.deadline_changed();
}

// `device` may be new.
void Farm::admit(Locked& lock, Device& device, Contender agent) {
  const DeviceInfo& info = agent.info;
  // A reconnection of what is known costs no write and no new description.
  if (!device.info || device.info->hello != info.hello) describe(lock, device, info);
  if (device.session != 0) {
    device_of_.erase(device.session);
  } else {
    away_.erase({device.since + options_.agent_grace, info.id});
    long_away_.erase({device.forget_at, info.id});
    missing_.erase({device.since + options_.missing_after, info.id});
    if (std::exchange(device.away_since, std::nullopt)) {
      unsaved_.devices.insert(info.id);
      lock.save();
    }
  }
  device.dirty.clear();  // of slots that it offered before, perhaps, and does not now
  for (const SlotOffer& slot : info.slots) {
    const SlotKey key{info.id, slot.slot};
    leases_.raise_epoch(key, slot.highest_epoch);
    device.dirty.insert(slot.slot);
    const Lease* lease = leases_.on(key);
    if (const auto direct = lease ? direct_.find(lease->id) : direct_.end();
        direct != direct_.end() && device.run != agent.run)
      direct->second.next_run();
  }
  device.session = agent.session;
  device.link = std::move(agent.link);
  device.run = std::move(agent.run);
  device.address = std::move(agent.address);
  device.since = clock_.now();
  device.stopping = false;
  device_of_[device.session] = info.id;
  const rpc::LogFields about({{"device", info.id}});
  spdlog::info(
      absl::StrCat("device ", info.id, " (", info.key, ") is online, from ", place_of(device.address)));
  if (device.contender) ping_again(lock, device);
  lock.wake(device.link);
  offer(device);
  match(lock);
}

absl::StatusOr<Farm::SessionId> Farm::attach(const DeviceInfo& info, const std::string& run,
                                             std::shared_ptr<Link> link, const std::string& address) {
  Locked lock(*this);
  TF_RETURN_IF_ERROR(check_room(info.id));
  Device& device = devices_.try_emplace(info.id, clock_, options_.health, StoredHealth()).first->second;
  const SessionId session = ++last_session_;
  Contender agent{.session = session, .info = info, .run = run, .address = address, .link = std::move(link)};
  if (device.session == 0 || device.run == run) {
    if (device.session != 0)
      lock.close(device.link, absl::AbortedError("a newer stream of this agent replaced it"));
    admit(lock, device, std::move(agent));
    return session;
  }
  if (device.contender && device.contender->run != run) {
    return absl::UnavailableError(absl::StrCat("the agent at ", place_of(device.contender->address),
                                               " also claims the device ", info.id));
  }
  if (device.contender)
    lock.close(drop_contender(device)->link, absl::AbortedError("a newer stream of this agent replaced it"));
  agent.deadline = clock_.now() + options_.ping_grace_period;
  contenders_.insert({agent.deadline, info.id});
  contends_for_[session] = info.id;
  device.contender = std::make_unique<Contender>(std::move(agent));
  lock.wake(device.link);
  lock.deadline_changed();
  return session;
}

std::unique_ptr<Farm::Contender> Farm::drop_contender(Device& device) {
  contenders_.erase({device.contender->deadline, device.info->id});
  contends_for_.erase(device.contender->session);
  return std::move(device.contender);
}

bool Farm::is_attached(SessionId session) {
  const std::scoped_lock lock(mutex_);
  return by_session(session) != nullptr;
}

std::optional<uint64_t> Farm::take_ping(SessionId session) {
  const std::scoped_lock lock(mutex_);
  const Device* device = by_session(session);
  if (!device || !device->contender || std::exchange(device->contender->pinged, true)) return std::nullopt;
  return device->contender->session;
}

void Farm::pong(SessionId session, uint64_t number) {
  Locked lock(*this);
  Device* device = by_session(session);
  if (!device || !device->contender || device->contender->session != number) return;
  const std::unique_ptr<Contender> newcomer = drop_contender(*device);
  const absl::Status why = newcomer_refused(device->info->id, device->address, newcomer->address);
  const rpc::LogFields about({{"device", device->info->id}});
  spdlog::warn(absl::StrCat("two agents have one device id: ", why.message()));
  lock.close(newcomer->link, why);
}

void Farm::detach(SessionId session) {
  Locked lock(*this);
  if (const auto contends = contends_for_.find(session); contends != contends_for_.end()) {
    drop_contender(devices_.at(contends->second));
    return;
  }
  Device* device = by_session(session);
  if (!device) return;
  const rpc::LogFields about({{"device", device->info->id}});
  spdlog::info(absl::StrCat("device ", device->info->id, " is away"));
  device_of_.erase(session);
  became_away(*device);
  if (device->contender) admit(lock, *device, std::move(*drop_contender(*device)));
  offer(*device);
  lock.deadline_changed();
}

// An agent that is silent is gone, or as good as gone: its connection may be dead while both ends believe in
// it.
void Farm::tick_contenders(Locked& lock) {
  while (!contenders_.empty() && contenders_.begin()->first <= clock_.now()) {
    Device& device = devices_.at(contenders_.begin()->second);
    std::unique_ptr<Contender> newcomer = drop_contender(device);
    const absl::Status why =
        taken_over(device.info->id, device.address, newcomer->address, options_.ping_grace_period);
    const rpc::LogFields about({{"device", device.info->id}});
    spdlog::warn(std::string(why.message()));
    lock.close(device.link, why);
    admit(lock, device, std::move(*newcomer));
  }
}

}  // namespace tf::tracker
