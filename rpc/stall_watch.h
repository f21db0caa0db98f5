#pragma once
// Owns: the ends of waits that bring nothing: whoever begins a transfer or a stream and then sends nothing,
// or takes nothing, keeps what it holds, memory or a thread, for as long as they like. A peer that is gone is
// noticed sooner (channel.h); this is for one that lives. Does not know: calls, what is waited for.

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/clock.h"

namespace tf::rpc {

// For the next bytes of a transfer, to come or to be taken.
inline constexpr absl::Duration kTransferGracePeriod = absl::Minutes(1);
// For what a stream begins with, which is known when it is opened.
inline constexpr absl::Duration kHelloGracePeriod = absl::Seconds(20);

// Thread-safe; has a thread of its own. Must outlive its waits.
class StallWatch {
 public:
  // The clock must be thread-safe and outlive this; it is looked at often enough to be a test's.
  explicit StallWatch(const Clock& clock = real_clock(), absl::Duration grace_period = kTransferGracePeriod);
  ~StallWatch();

  class Wait;
  // From now on somebody waits. If that lasts longer than the grace period, `end` is called, once, on the
  // watch's thread; it has to make what is waited for return.
  Wait begin(std::function<void()> end);

  // What `read` returns, which waits for a peer. `end` has to make it return, and then this is stalled().
  absl::StatusOr<bool> read(const std::function<bool()>& read, std::function<void()> end);

  // DEADLINE_EXCEEDED: nothing came for so long.
  absl::Status stalled() const;

  const Clock& clock() const { return clock_; }

 private:
  // Its lock is recursive: `end` may be what finishes the wait.
  struct Waiting {
    std::function<void()> end;
    Instant until;
    bool listed = true;  // under the watch's lock
    std::list<std::shared_ptr<Waiting>>::iterator at;
    std::recursive_mutex mutex;
    bool over = false;   // under its own, as is the next
    bool ended = false;  // by us
  };

  void watch();
  bool finish(Waiting& waiting);

  const Clock& clock_;
  const absl::Duration grace_period_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Waiting>> waits_;  // by their ends: all have the same grace period
  bool stop_ = false;
  std::thread thread_;
};

class StallWatch::Wait {
 public:
  Wait(Wait&& other) noexcept : watch_(other.watch_), waiting_(std::move(other.waiting_)) {}
  Wait& operator=(Wait&&) = delete;
  ~Wait() { finish(); }

  // It is over: `end` is not called any more, and has returned if it was, unless this is called by it.
  // Whether it was.
  bool finish();

 private:
  friend class StallWatch;
  Wait(StallWatch& watch, std::shared_ptr<Waiting> waiting) : watch_(&watch), waiting_(std::move(waiting)) {}

  StallWatch* watch_;
  std::shared_ptr<Waiting> waiting_;  // null: finished
};

}  // namespace tf::rpc
