#pragma once
// Owns: a blocking queue between the pipeline's threads. Does not know: what waits in it, who goes first.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "tuner/session/loop/line.h"

namespace tf::session {

// Thread-safe. After close(), push is ignored and pop returns nothing, also to those who wait. `Before` may
// change its mind about those that wait.
template <typename T, typename Before = AsTheyCame>
class Queue {
 public:
  void push(T value) {
    {
      std::lock_guard lock(mutex_);
      if (closed_) return;
      values_.push_back(std::move(value));
    }
    ready_.notify_one();
  }

  // Waits for a value; nothing after close().
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return closed_ || !values_.empty(); });
    return take();
  }

  // Waits at most that long.
  std::optional<T> pop_for(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, timeout, [this] { return closed_ || !values_.empty(); });
    return take();
  }

  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
  }

 private:
  std::optional<T> take() {
    if (closed_ || values_.empty()) return std::nullopt;
    return take_first<Before>(values_);
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<T> values_;
  bool closed_ = false;
};

}  // namespace tf::session
