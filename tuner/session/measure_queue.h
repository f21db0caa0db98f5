#pragma once
// Owns: the way from builders to devices, and whose turn it is where both use the same CPUs: then built
// candidates are collected and measured one after another while building is held up, so that neither disturbs
// the other and both have all CPUs. It takes whatever is pushed: what waits is bounded by how much is handed
// out at once (Pipeline::depth). Does not know: how anything is built or measured.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "tuner/session/line.h"

namespace tf::session {

struct TurnOptions {
  size_t burst = 1;             // how many built ones start a turn of measuring
  std::function<void()> pause;  // holds building up; may be empty
  std::function<void()> resume;
};

// Thread-safe. After close(), nothing is taken any more. `Before` may change its mind about those that wait.
template <typename T, typename Before = AsTheyCame>
class MeasureQueue {
 public:
  explicit MeasureQueue(TurnOptions options) : options_(std::move(options)) {}

  // One more is being built, or was and will not come.
  void expect() {
    change([this] { ++coming_; });
  }
  void drop() {
    change([this] { --coming_; });
  }
  // An expected one.
  void push(T value) {
    change([&] {
      --coming_;
      values_.push_back(std::move(value));
    });
  }

  // The next one to measure; its taker says done() afterwards. Waits until there are enough of them, or
  // nothing more is being built, or the turn is the measurers' anyway; nothing after close().
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] {
      return closed_ || (!values_.empty() && (turn_ || values_.size() >= options_.burst || coming_ == 0));
    });
    if (closed_) return std::nullopt;
    T value = take_first<Before>(values_);
    ++measuring_;
    if (!std::exchange(turn_, true) && options_.pause) options_.pause();
    return value;
  }
  void done() {
    change([this] {
      --measuring_;
      end_turn();
    });
  }

  void close() {
    change([this] {
      closed_ = true;
      end_turn();
    });
  }

 private:
  // Once the last one is measured and no other waits.
  void end_turn() {
    if (!turn_ || measuring_ > 0 || (!values_.empty() && !closed_)) return;
    turn_ = false;
    if (options_.resume) options_.resume();
  }

  template <typename F>
  void change(F what) {
    {
      std::lock_guard lock(mutex_);
      what();
    }
    ready_.notify_all();
  }

  const TurnOptions options_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<T> values_;
  int64_t coming_ = 0;
  int measuring_ = 0;
  bool turn_ = false;  // the measurers'
  bool closed_ = false;
};

}  // namespace tf::session
