#include "tracker/farm_threads.h"

#include <algorithm>
#include <optional>

#include "tracker/farm.h"

namespace tf::tracker {
namespace {

// What could not be written is tried again after this, or as soon as there is more.
constexpr absl::Duration kTryAgain = absl::Seconds(1);

absl::Duration save(Farm& farm) {
  return farm.save().ok() ? absl::InfiniteDuration() : kTryAgain;
}

absl::Duration tick(Farm& farm, const rpc::Clock& clock) {
  const std::optional<rpc::Instant> next = farm.tick();
  if (!next) return absl::InfiniteDuration();
  // One millisecond more than needed: waking just before the deadline would only mean waking twice.
  return std::max(*next - clock.now(), absl::ZeroDuration()) + absl::Milliseconds(1);
}

}  // namespace

// Both begin once the callbacks are set.
FarmThreads::FarmThreads(Farm& farm, const rpc::Clock& clock)
    : farm_(farm),
      saving_([&farm] { return save(farm); }, absl::InfiniteDuration()),
      timer_([&farm, &clock] { return tick(farm, clock); }, absl::InfiniteDuration()) {
  farm.on_unsaved([this] { saving_.wake(); });
  farm.on_deadline_change([this] { timer_.wake(); });
  saving_.wake();
  timer_.wake();
}

FarmThreads::~FarmThreads() {
  timer_.stop();
  saving_.stop();
  farm_.on_deadline_change(nullptr);
  farm_.on_unsaved(nullptr);
  farm_.save().IgnoreError();  // logged
}

}  // namespace tf::tracker
