#pragma once
// Owns: saying what trials wait for, of what two threads know of it. Does not know: streams, leases, who
// listens.

#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace tf::measure {

// Thread-safe; says each change once, in its order. Empty: for nothing.
class Waits {
 public:
  explicit Waits(std::function<void(const std::string&)> say) : say_(std::move(say)) {}

  // By who keeps the stream: for a tracker to connect to, or a lease. Said before the other.
  void set_of_stream(const std::string& what) { set(of_stream_, what); }
  // By who renews the lease: for a tracker that answers, though the stream goes on.
  void set_of_lease(const std::string& what) { set(of_lease_, what); }

 private:
  void set(std::string& mine, const std::string& what) {
    const std::scoped_lock lock(mutex_);
    mine = what;
    const std::string& now = of_stream_.empty() ? of_lease_ : of_stream_;
    if (now == said_) return;
    said_ = now;
    if (say_) say_(now);
  }

  const std::function<void(const std::string&)> say_;
  std::mutex mutex_;
  std::string of_stream_, of_lease_, said_;
};

}  // namespace tf::measure
