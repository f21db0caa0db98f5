#pragma once
// Owns: the way from builders to devices, and whose turn it is where both use the same CPUs: then built
// candidates are collected and measured one after another while building is held up, so that neither disturbs
// the other and both have all CPUs. It takes whatever is pushed: what waits is bounded by how much is handed
// out at once (Pipeline::depth). Does not know: how anything is built or measured.

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "tuner/session/loop/queue.h"

namespace tf::session {

struct TurnOptions {
  std::function<int()> most;    // how many may be measured at once, by now; empty: any number
  int most_of_bench = 1;        // the same, of one bench
  size_t burst = 1;             // how many built ones start a turn of measuring
  std::function<void()> pause;  // holds building up; may be empty
  std::function<void()> resume;
};

// Thread-safe. After close(), nothing is taken any more. `Before` may change its mind about those that wait.
template <typename T, typename Before = AsTheyCame>
class MeasureQueue {
 public:
  // `bench_of` names the one device that is to measure a value; 0, or without it: any.
  explicit MeasureQueue(TurnOptions options, std::function<uint64_t(const T&)> bench_of = nullptr)
      : options_(std::move(options)), bench_of_(std::move(bench_of)) {}

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
      const bool is_ready = !values_.empty() && (turn_ || values_.size() >= options_.burst || coming_ == 0);
      if (!is_ready || (options_.most && measuring_ >= options_.most())) return closed_;
      return closed_ || std::ranges::any_of(values_, [this](const T& value) { return may_begin(value); });
    });
    if (closed_) return std::nullopt;
    T value = *take_first_if<Before>(values_, [this](const T& each) { return may_begin(each); });
    ++measuring_;
    if (const uint64_t bench = bench_of(value); bench != 0) ++of_benches_[bench];
    if (!std::exchange(turn_, true) && options_.pause) options_.pause();
    return value;
  }
  void done(const T& value) {
    change([&] {
      --measuring_;
      if (const uint64_t bench = bench_of(value); bench != 0) --of_benches_[bench];
      end_turn();
    });
  }

  // More, or fewer, may be measured at once.
  void look_again() { ready_.notify_all(); }

  void close() {
    change([this] {
      closed_ = true;
      end_turn();
    });
  }

 private:
  uint64_t bench_of(const T& value) const { return bench_of_ ? bench_of_(value) : 0; }
  // One whose device is busy would only hold up those for others.
  bool may_begin(const T& value) const {
    const auto measuring = of_benches_.find(bench_of(value));
    return measuring == of_benches_.end() || measuring->second < options_.most_of_bench;
  }

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
  const std::function<uint64_t(const T&)> bench_of_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<T> values_;
  int64_t coming_ = 0;
  int measuring_ = 0;
  std::map<uint64_t, int> of_benches_;  // of those
  bool turn_ = false;                   // the measurers'
  bool closed_ = false;
};

}  // namespace tf::session
