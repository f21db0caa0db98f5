#pragma once
// Owns: the inside of Farm, for its own source files only.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tracker/farm.h"

namespace tf::tracker {

// Into the event log, in the order in which the farm does it: under the farm's lock.
void log_lease(std::string_view event, const Lease& lease);

// An agent that asks for a device, until it is known whether it may have it.
struct Farm::Contender {
  SessionId session = 0;
  DeviceInfo info;
  std::string run;
  std::string address;
  std::shared_ptr<Link> link;
  rpc::Instant deadline{};  // of the present agent's answer
  bool pinged = false;
};

struct Farm::Device {
  Device(const rpc::Clock& clock, const HealthOptions& options, StoredHealth stored)
      : health(clock, options, std::move(stored)), saved_health(health.stored()), since(clock.now()) {}

  std::shared_ptr<const DeviceInfo> info;
  Admission admission = Admission::kOpen;
  DeviceHealth health;
  StoredHealth saved_health;
  std::map<uint32_t, GoldenTrend> golden;  // by slot
  bool stopping = false;                   // until the next session
  SessionId session = 0;                   // 0: away
  std::shared_ptr<Link> link;
  std::string run;
  std::string address;                   // from which its agent called last
  std::unique_ptr<Contender> contender;  // only while it has a session
  rpc::Instant since;                    // online or away
  rpc::Instant forget_at;                // its place in long_away_
  // As the wall clock said it, also of an earlier tracker; absent: it is here, or has gone just now.
  std::optional<absl::Time> away_since;
  // Before this run's start for what an earlier tracker wrote down; absent: healthy, or not known.
  std::optional<rpc::Instant> health_since;
  std::set<uint32_t> dirty;  // slots whose desired state the agent has not been told
  uint32_t next_told = 0;    // the first of them to be told, or the next one above
};

struct Farm::Stream {
  SessionId id = 0;
  std::shared_ptr<Link> link;
};

struct Farm::DirectCounts {
  DirectWork told;
  uint64_t earlier = 0;  // acknowledged under earlier runs of the agent, which counts from 0 in each

  // What the run that has ended had queued is gone with it.
  void next_run() {
    earlier += told.acknowledged;
    told = {};
  }
};

struct Farm::PendingAcquire {
  std::shared_ptr<Requester> requester;
  AcquireRequest request;
  rpc::Instant asked;
  bool superseded = false;  // its holder has been started again
};

// Holds the farm's lock; what must happen outside it is noted here and done after the unlock.
class Farm::Locked {
 public:
  // Whether the end of the lock has what came up under it saved, or leaves that to the caller.
  enum class Saves { kDone, kLeft };

  explicit Locked(Farm& farm, Saves saves = Saves::kDone) : farm_(farm), saves_(saves), lock_(farm.mutex_) {}
  Locked(const Locked&) = delete;
  ~Locked() {
    lock_.unlock();
    for (auto& [requester, grant] : answers_) requester->answer(std::move(grant));
    for (auto& [link, status] : closes_) link->close(status);
    for (const auto& link : wakes_) link->wake();
    for (const auto& [device_id, reason] : need_help_) {
      if (farm_.help_needed_) farm_.help_needed_(device_id, reason);
    }
    if (deadline_changed_ && farm_.deadline_changed_) farm_.deadline_changed_();
    if (save_ && saves_ == Saves::kDone) farm_.saving_wanted();
  }

  void wake(const std::shared_ptr<Link>& link) {
    if (link) wakes_.insert(link);
  }
  void close(const std::shared_ptr<Link>& link, absl::Status status) {
    if (link) closes_.emplace_back(link, std::move(status));
  }
  void answer(std::shared_ptr<Requester> requester, absl::StatusOr<Grant> grant) {
    answers_.emplace_back(std::move(requester), std::move(grant));
  }
  void needs_help(const std::string& device_id, const std::string& reason) {
    need_help_.emplace_back(device_id, reason);
  }
  void save() { save_ = true; }
  void deadline_changed() { deadline_changed_ = true; }

 private:
  Farm& farm_;
  const Saves saves_;
  std::unique_lock<std::mutex> lock_;
  std::set<std::shared_ptr<Link>> wakes_;
  std::vector<std::pair<std::shared_ptr<Link>, absl::Status>> closes_;
  std::vector<std::pair<std::shared_ptr<Requester>, absl::StatusOr<Grant>>> answers_;
  std::vector<std::pair<std::string, std::string>> need_help_;
  bool deadline_changed_ = false;
  bool save_ = false;
};

}  // namespace tf::tracker
