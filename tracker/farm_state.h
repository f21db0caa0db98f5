#pragma once
// Owns: the inside of Farm, for its own source files only.

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tracker/farm.h"

namespace tf::tracker {

struct Farm::Device {
  DeviceInfo info;
  bool draining = false;
  bool stopping = false;  // until the next session
  SessionId session = 0;  // 0: away
  std::shared_ptr<Link> link;
  std::string run;
  rpc::Instant since;        // online or away
  std::set<uint32_t> dirty;  // slots whose desired state the agent has not been told
};

struct Farm::Stream {
  SessionId id = 0;
  std::shared_ptr<Link> link;
};

struct Farm::Waiting {
  AcquireRequest request;
  std::shared_ptr<Waiter> waiter;
  rpc::Instant deadline;
};

// Holds the farm's lock; what must happen outside it is noted here and done after the unlock.
class Farm::Locked {
 public:
  explicit Locked(Farm& farm) : farm_(farm), lock_(farm.mutex_) {}
  Locked(const Locked&) = delete;
  ~Locked() {
    lock_.unlock();
    for (auto& [waiter, grant] : answers_) waiter->answer(std::move(grant));
    for (auto& [link, status] : closes_) link->close(status);
    for (const auto& link : wakes_) link->wake();
    if (deadline_changed_ && farm_.deadline_changed_) farm_.deadline_changed_();
  }

  void wake(const std::shared_ptr<Link>& link) {
    if (link) wakes_.insert(link);
  }
  void close(const std::shared_ptr<Link>& link, absl::Status status) {
    if (link) closes_.emplace_back(link, std::move(status));
  }
  void answer(std::shared_ptr<Waiter> waiter, absl::StatusOr<Grant> grant) {
    answers_.emplace_back(std::move(waiter), std::move(grant));
  }
  void deadline_changed() { deadline_changed_ = true; }

 private:
  Farm& farm_;
  std::unique_lock<std::mutex> lock_;
  std::set<std::shared_ptr<Link>> wakes_;
  std::vector<std::pair<std::shared_ptr<Link>, absl::Status>> closes_;
  std::vector<std::pair<std::shared_ptr<Waiter>, absl::StatusOr<Grant>>> answers_;
  bool deadline_changed_ = false;
};

}  // namespace tf::tracker
