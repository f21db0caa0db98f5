#include "rpc/connection/call_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tf::rpc {

CallPool::CallPool(CallPoolOptions options) : options_(std::move(options)) {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
}

void CallPool::finish() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

absl::Status CallPool::run(std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  if (waiting_.size() >= options_.most_waiting) {
    return absl::UnavailableError(absl::StrCat("too many concurrent ", options_.what, ": ", waiting_.size(),
                                               " are waiting; try again in a moment"));
  }
  waiting_.push_back(std::move(work));
  changed_.notify_one();
  return absl::OkStatus();
}

void CallPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::function<void()> next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next();
    next = nullptr;
    lock.lock();
  }
}

}  // namespace tf::rpc
