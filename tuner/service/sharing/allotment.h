#pragma once
// Owns: which slots a running job is to have, from who decides that to who acquires them. Does not know:
// either.

#include <functional>
#include <mutex>
#include <utility>

#include "tuner/measure/fleet_runner.h"

namespace tf::service {

// Thread-safe.
class Allotment {
 public:
  using Follower = std::function<void(const measure::FleetTarget&)>;

  void set(measure::FleetTarget target) {
    const std::scoped_lock lock(mutex_);
    target_ = std::move(target);
    if (follower_) follower_(target_);
  }
  measure::FleetTarget get() const {
    const std::scoped_lock lock(mutex_);
    return target_;
  }
  // Called with the target as it is, and each time that it is set, until another follows; null: nobody does.
  // It must not block.
  void follow(Follower follower) {
    const std::scoped_lock lock(mutex_);
    follower_ = std::move(follower);
    if (follower_) follower_(target_);
  }

 private:
  mutable std::mutex mutex_;
  measure::FleetTarget target_;
  Follower follower_;
};

}  // namespace tf::service
