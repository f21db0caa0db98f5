#include "tracker/saving_thread.h"

#include <chrono>

#include "tracker/farm.h"

namespace tf::tracker {
namespace {

// What could not be written is tried again after this, or as soon as there is more.
constexpr std::chrono::seconds kTryAgain{1};

}  // namespace

SavingThread::SavingThread(Farm& farm) : farm_(farm) {
  farm_.on_unsaved([this] {
    const std::scoped_lock lock(mutex_);
    wanted_ = true;
    changed_.notify_one();
  });
  thread_ = std::thread([this] { run(); });
}

SavingThread::~SavingThread() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    changed_.notify_one();
  }
  thread_.join();
  farm_.on_unsaved(nullptr);
}

void SavingThread::run() {
  std::unique_lock lock(mutex_);
  const auto called = [this] { return stop_ || wanted_; };
  bool failed = false;
  while (true) {
    if (failed) {
      changed_.wait_for(lock, kTryAgain, called);
    } else {
      changed_.wait(lock, called);
    }
    const bool last = stop_;
    wanted_ = false;
    lock.unlock();
    failed = !farm_.save().ok();
    lock.lock();
    if (last) return;
  }
}

}  // namespace tf::tracker
