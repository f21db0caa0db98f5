#pragma once
// Owns: that each artifact is transferred once at a time, so that whoever needs it meanwhile finds it there.
// Does not know: which way, and whether it came.

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

namespace tf::rpc {

// Thread-safe.
class TransferTurns {
 public:
  // Of one digest, as long as it lives. The turns must outlive it.
  class Turn {
   public:
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), digest_(std::move(other.digest_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_) turns_->end(digest_);
    }

   private:
    friend class TransferTurns;
    Turn(TransferTurns& turns, std::string digest) : turns_(&turns), digest_(std::move(digest)) {}

    TransferTurns* turns_;
    std::string digest_;
  };

  // Waits until nobody else has that digest's; none: `end` came first.
  std::optional<Turn> wait(const std::string& digest, const std::stop_token& end) {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, end, [&] { return !under_way_.contains(digest); });
    if (end.stop_requested()) return std::nullopt;
    under_way_.insert(digest);
    return Turn(*this, digest);
  }

 private:
  void end(const std::string& digest) {
    const std::scoped_lock lock(mutex_);
    under_way_.erase(digest);
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::set<std::string> under_way_;  // digests
};

}  // namespace tf::rpc
