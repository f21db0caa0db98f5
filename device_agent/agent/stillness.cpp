#include "device_agent/agent/stillness.h"

namespace tf::agent {

bool Stillness::begin_trial(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, end, [this] { return !golden_; })) return false;
  ++trials_;
  return true;
}

void Stillness::end_trial() {
  const std::scoped_lock lock(mutex_);
  --trials_;
  changed_.notify_all();
}

bool Stillness::begin_golden(absl::Duration patience) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !golden_; });
  golden_ = true;
  if (changed_.wait_for(lock, absl::ToChronoNanoseconds(patience), [this] { return trials_ == 0; }))
    return true;
  golden_ = false;
  changed_.notify_all();
  return false;
}

void Stillness::end_golden() {
  const std::scoped_lock lock(mutex_);
  golden_ = false;
  changed_.notify_all();
}

}  // namespace tf::agent
