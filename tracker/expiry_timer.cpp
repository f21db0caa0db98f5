#include "tracker/expiry_timer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tracker/farm.h"

namespace tf::tracker {

ExpiryTimer::ExpiryTimer(Farm& farm, const rpc::Clock& clock) : farm_(farm), clock_(clock) {
  farm_.on_deadline_change([this] {
    const std::scoped_lock lock(mutex_);
    deadline_changed_ = true;
    changed_.notify_one();
  });
  thread_ = std::thread([this] { run(); });
}

ExpiryTimer::~ExpiryTimer() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    changed_.notify_one();
  }
  thread_.join();
  farm_.on_deadline_change(nullptr);
}

void ExpiryTimer::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    deadline_changed_ = false;
    lock.unlock();
    const std::optional<rpc::Instant> next = farm_.tick();
    lock.lock();
    const auto interrupted = [this] { return stop_ || deadline_changed_; };
    if (!next) {
      changed_.wait(lock, interrupted);
      continue;
    }
    // One millisecond more than needed: waking just before the deadline would only mean waking twice.
    const absl::Duration left = *next - clock_.now() + absl::Milliseconds(1);
    changed_.wait_for(lock, absl::ToChronoMilliseconds(std::max(left, absl::Milliseconds(1))), interrupted);
  }
}

}  // namespace tf::tracker
