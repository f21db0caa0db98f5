#pragma once
// Owns: one slot at work: its state behind a lock, the threads that run its trials, one after another or as many at once as its executor takes, and the
// golden kernel between them, the thread that fetches artifacts ahead, the one that ends what runs and what
// is fetched when its lease does. Does not know: the connections to tracker and holder (it is told what they
// want and tells them that there is something to take).

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "device_agent/agent/slots/slot_state.h"
#include "device_agent/agent/trials/trial_runner.h"

namespace tf::agent {

class GoldenKernel;

// The stream of a holder that comes straight to the agent.
class DirectLink {
 public:
  virtual ~DirectLink() = default;
  // A serialized farm.v1.MeasureReply. Blocks while the holder reads nothing. False: the stream is over.
  virtual bool write(const std::string& reply) = 0;
  // Ends the stream, also a blocked write. Thread-safe.
  virtual void cancel() = 0;
};

struct SlotSettings {
  uint32_t slot = 0;
  // Between two runs of the golden kernel while the device is idle; positive. After twice as long it goes
  // before the slot's next trial.
  absl::Duration golden_every = absl::Minutes(5);
};

// Thread-safe.
class SlotRunner {
 public:
  // The means and the golden kernel (may be null) must outlive the runner.
  SlotRunner(SlotSettings settings, SlotState state, TrialMeans means, const GoldenKernel* golden);
  ~SlotRunner();  // stops

  uint32_t slot() const { return settings_.slot; }

  // Begins to work. `something_to_tell` is called without a lock when there is something for the tracker to
  // take, but not for direct work alone: that changes too often, and it is for the caller to look now and
  // then.
  void start(std::function<void()> something_to_tell);
  // Ends what runs, trial or golden kernel, what is being fetched, and the threads. Blocks.
  void stop();

  // What the tracker wants; as SlotState.
  absl::Status apply(const Desired& desired);
  LeaseRef newest() const;
  void rewind();
  std::vector<UnsentReply> take_unsent();
  // The newest golden sample, if it was not taken since the last rewind().
  struct Golden {
    std::string sample;  // serialized farm.v1.GoldenSample
    absl::Duration age;
  };
  std::optional<Golden> take_golden();
  // The tracker wants a golden sample: as soon as the device is idle, but not right after the last one; if it
  // is not idle for long, before the slot's next trial.
  void want_golden();
  // How trials ended whose replies went straight to their holder (serialized farm.v1.TrialOutcome), since the
  // last call; if there are too many, the newest.
  std::vector<std::string> take_outcomes();
  // What goes straight, if the tracker has been told something else since the last rewind(). Reports that
  // several threads take may overtake each other on their way: of two the one with the higher number is
  // newer.
  struct DirectReport {
    DirectWork work;
    uint64_t number = 0;
  };
  std::optional<DirectReport> take_direct_work();

  // A holder that comes straight; as SlotState.
  absl::Status open_direct(const LeaseRef& lease, std::shared_ptr<DirectLink> link);
  void close_direct(const LeaseRef& lease, const DirectLink* link);
  // Who holds the lease, if it is the one that is served now.
  std::optional<std::string> user_of(const LeaseRef& lease) const;
  // From that stream. Blocks while too much is under way. False: the stream is over, or can never go on
  // because nothing is acknowledged.
  bool submit_direct(const LeaseRef& lease, const DirectLink* link, QueuedTrial trial);
  void acknowledge_direct(const LeaseRef& lease, const std::vector<uint64_t>& sequences);

  // Starts nothing new from now on.
  void drain();
  // Waits until nothing runs, or until the time is over.
  void wait_until_idle(rpc::Instant deadline);
  // Waits until everything is acknowledged, nobody can be told (`can_tell` says no and no holder is here), or
  // until the time is over.
  void wait_until_acknowledged(rpc::Instant deadline, const std::function<bool()>& can_tell);
  void wake() { changed_.notify_all(); }
  // Returns once it could look at its state.
  void answer() const { const std::scoped_lock lock(mutex_); }

 private:
  void work();
  bool golden_is_due() const;
  bool golden_is_overdue() const;
  void run_golden(std::unique_lock<std::mutex>& lock);
  void fetch_ahead();
  void watch_lease();
  // What goes on although its lease is over.
  std::optional<std::stop_source> outlived() const;
  void deliver();

  const SlotSettings settings_;
  const TrialMeans means_;
  const GoldenKernel* const golden_;
  std::function<void()> something_to_tell_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  SlotState state_;
  std::list<std::stop_source> running_;  // of the trials that run
  // While the golden kernel runs, or waits until it may. It belongs to no lease.
  std::optional<std::stop_source> golden_run_;
  std::shared_ptr<DirectLink> direct_;  // while the state's route is direct
  std::optional<std::string> newest_golden_;
  bool golden_told_ = true;
  rpc::Instant golden_at_;                                   // when newest_golden_ was taken
  rpc::Instant golden_due_ = -absl::InfiniteDuration();      // from then on when the device is idle
  rpc::Instant golden_overdue_ = -absl::InfiniteDuration();  // from then on before the next trial
  std::deque<std::string> outcomes_;                         // that the tracker has not been told
  std::optional<DirectWork> work_told_;                      // to the tracker
  uint64_t work_reports_ = 0;
  bool queue_changed_ = false;
  bool draining_ = false;
  bool stop_ = false;
  std::stop_source ahead_;  // of what is fetched ahead
  LeaseRef ahead_of_;       // under this lease
  std::vector<std::thread> working_;
  std::thread fetching_;
  std::thread watching_;
};

}  // namespace tf::agent
