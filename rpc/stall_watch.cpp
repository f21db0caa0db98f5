#include "rpc/stall_watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tf::rpc {
namespace {

// While anybody waits: a clock that is not the machine's tells nobody that it moves.
constexpr absl::Duration kLookEvery = absl::Milliseconds(100);

}  // namespace

StallWatch::StallWatch(const Clock& clock, absl::Duration grace_period)
    : clock_(clock), grace_period_(grace_period), thread_([this] { watch(); }) {}

StallWatch::~StallWatch() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

StallWatch::Wait StallWatch::begin(std::function<void()> end) {
  auto waiting = std::make_shared<Waiting>();
  waiting->end = std::move(end);
  const std::scoped_lock lock(mutex_);
  waiting->until = clock_.now() + grace_period_;
  waiting->at = waits_.insert(waits_.end(), waiting);
  if (waits_.size() == 1) changed_.notify_all();
  return Wait(*this, std::move(waiting));
}

absl::StatusOr<bool> StallWatch::read(const std::function<bool()>& read, std::function<void()> end) {
  Wait wait = begin(std::move(end));
  const bool came = read();
  if (wait.finish()) return stalled();
  return came;
}

absl::Status StallWatch::stalled() const {
  return absl::DeadlineExceededError(absl::StrCat(
      "no data received for ", absl::FormatDuration(grace_period_), "; the call was ended: send it again"));
}

void StallWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (waits_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const absl::Duration left = waits_.front()->until - clock_.now();
    if (left > absl::ZeroDuration()) {
      changed_.wait_for(lock, absl::ToChronoNanoseconds(std::min(left, kLookEvery)));
      continue;
    }
    const std::shared_ptr<Waiting> stalled = std::move(waits_.front());
    waits_.pop_front();
    stalled->listed = false;
    lock.unlock();
    {
      const std::scoped_lock own(stalled->mutex);
      if (!stalled->over) {
        stalled->ended = true;
        stalled->end();
      }
    }
    lock.lock();
  }
}

bool StallWatch::finish(Waiting& waiting) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(waiting.listed, false)) waits_.erase(waiting.at);
  }
  const std::scoped_lock own(waiting.mutex);
  waiting.over = true;
  return waiting.ended;
}

bool StallWatch::Wait::finish() {
  const std::shared_ptr<Waiting> waiting = std::exchange(waiting_, nullptr);
  return waiting && watch_->finish(*waiting);
}

}  // namespace tf::rpc
