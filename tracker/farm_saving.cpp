// How what Farm knows comes to the disk: outside its lock, and all that comes up while the disk syncs in one
// transaction.

#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "tracker/farm_state.h"

namespace tf::tracker {

bool Farm::Unsaved::empty() const {
  return forgotten.empty() && devices.empty() && golden.empty() && ended.empty() && leases.empty() &&
         reservations.empty() && awaited.empty();
}

// Devices and baselines as they are now, whatever became of them since they were noted. The new leases are
// moved from `unsaved`.
Changes Farm::changes_of(Unsaved& unsaved) const {
  Changes changes{.forgotten = {unsaved.forgotten.begin(), unsaved.forgotten.end()},
                  .devices = {},
                  .golden = {},
                  .ended = unsaved.ended,
                  .begun = std::move(unsaved.leases),
                  .reservations = unsaved.reservations};
  for (const std::string& id : unsaved.devices) {
    const auto device = devices_.find(id);
    if (device == devices_.end()) continue;  // forgotten
    StoredDevice& stored =
        changes.devices.emplace_back(StoredDevice{device->second.info, device->second.admission,
                                                  device->second.health.stored(), device->second.away_since});
    if (device->second.health_since && stored.health.health != Health::kHealthy)
      stored.health_since = options_.wall_now() - (clock_.now() - *device->second.health_since);
  }
  for (const SlotKey& slot : unsaved.golden) {
    std::optional<GoldenBaseline>& baseline = changes.golden[slot];
    const auto device = devices_.find(slot.device_id);
    if (device == devices_.end()) continue;
    const auto trend = device->second.golden.find(slot.slot);
    if (trend != device->second.golden.end() && trend->second.baseline().time_ns > 0)
      baseline = trend->second.baseline();
  }
  return changes;
}

// To be written with what comes next, which is newer where both say something. Leases that began are not
// among it: who asked for them has been refused.
void Farm::put_back(Unsaved unsaved) {
  unsaved_.forgotten.merge(unsaved.forgotten);
  unsaved_.devices.merge(unsaved.devices);
  unsaved_.golden.merge(unsaved.golden);
  unsaved_.reservations.merge(unsaved.reservations);
  unsaved_.ended.insert(unsaved_.ended.end(), unsaved.ended.begin(), unsaved.ended.end());
}

absl::Status Farm::save() {
  while (true) {
    Unsaved batch;
    Changes changes;
    {
      const std::scoped_lock lock(mutex_);
      if (saving_ || unsaved_.empty()) return absl::OkStatus();
      saving_ = true;
      batch = std::exchange(unsaved_, {});
      changes = changes_of(batch);
    }
    const rpc::Instant begun = clock_.now();
    const absl::Status saved = store_.save(changes);
    const absl::Duration took = clock_.now() - begun;
    if (!saved.ok()) spdlog::error(code_and_message(saved));
    std::vector<std::promise<absl::Status>> awaited = std::move(batch.awaited);
    bool is_asked_for = false;  // what has come up meanwhile has somebody who waits for it
    {
      Locked lock(*this, Locked::Saves::kLeft);
      saving_ = false;
      counts_.saving_time.add(took);
      for (const Lease& lease : changes.begun) finish(lock, lease, saved);
      if (saved.ok()) {
        match(lock);  // a slot that was not granted after all is another's
      } else {
        put_back(std::move(batch));
      }
      is_asked_for = !unsaved_.leases.empty() || !unsaved_.awaited.empty();
    }
    for (std::promise<absl::Status>& each : awaited) each.set_value(saved);
    if (!saved.ok() && !is_asked_for) return saved;
  }
}

void Farm::saving_wanted() {
  if (unsaved_callback_) {
    unsaved_callback_();
  } else {
    save().IgnoreError();  // logged; it is tried again with what comes next
  }
}

absl::Status Farm::change(absl::FunctionRef<absl::Status(Locked&)> apply) {
  std::future<absl::Status> saved;
  {
    Locked lock(*this);
    TF_RETURN_IF_ERROR(apply(lock));
    lock.save();
    saved = unsaved_.awaited.emplace_back().get_future();
    match(lock);
  }
  const absl::Status written = saved.get();
  if (written.ok()) return written;
  return absl::UnavailableError(absl::StrCat("done, but a restart of the tracker will undo it, because ",
                                             "it cannot be saved: ", std::string(written.message())));
}

}  // namespace tf::tracker
