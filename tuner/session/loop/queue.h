#pragma once
// Owns: a blocking queue between the pipeline's threads, and who of those that wait goes first. Does not know: what waits.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace tf::session {

// Nobody goes before another who came first.
struct AsTheyCame {
  template <typename T>
  bool operator()(const T&, const T&) const {
    return false;
  }
};

// Takes, of those that may go, the one that goes before all others by now, or of several such the one that
// came first; nothing if none may.
template <typename Before, typename T, typename Filter>
std::optional<T> take_first_if(std::deque<T>& line, Filter may_go) {
  auto first = line.end();
  for (auto each = line.begin(); each != line.end(); ++each)
    if (may_go(*each) && (first == line.end() || Before()(*each, *first))) first = each;
  if (first == line.end()) return std::nullopt;
  std::optional<T> value = std::move(*first);
  line.erase(first);
  return value;
}

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
    return take_first_if<Before>(values_, [](const T&) { return true; });
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<T> values_;
  bool closed_ = false;
};

}  // namespace tf::session
