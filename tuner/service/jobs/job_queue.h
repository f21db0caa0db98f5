#pragma once
// Owns: the jobs of a running tuner: their states, which of them run, on how many slots, and who watches
// them. Jobs with the same device key share the slots that are there (slot_shares.h). Every state is in the
// store before anyone is told, so that a killed tuner goes on with the same jobs. Does not know: gRPC, how a
// job is tuned.

#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "database/store.h"
#include "rpc/clock.h"
#include "rpc/usage_ledger.h"
#include "tuner/service/jobs/job_executor.h"
#include "tuner/service/jobs/waiting_limits.h"
#include "tuner/service/sharing/slot_shares.h"

namespace tf::service {

struct JobView {
  database::Job job;
  int64_t trials = 0;  // recorded, over all runs
  std::optional<session::Progress> progress;
  std::vector<std::string> slots;  // on which it measures now, "DEVICE/SLOT"
  uint64_t version = 0;            // grows with each change
  bool unchanged = false;          // by what this answers: the job was so already
};

struct JobQueueOptions {
  absl::Duration retry_after = absl::Seconds(5);  // when the farm was away
  absl::Duration look_every = absl::Seconds(2);   // which slots there are
  // After so long, a second that a job had a slot counts half against its submitter.
  absl::Duration share_half_life = absl::Hours(1);
  WaitingLimits limits;
  // Called once for each job that is over, when that is durable: nobody will read its model again. Holds up
  // the queue, and must not call it.
  std::function<void(const database::Job&)> on_end = nullptr;
  const rpc::Clock* clock = &rpc::real_clock();  // must outlive the queue, and be thread-safe
};

// Thread-safe.
class JobQueue {
 public:
  // Takes over what an earlier process left (running jobs are queued again, jobs whose options are damaged
  // fail) and begins to work. The store and the executor must outlive the queue.
  static absl::StatusOr<std::unique_ptr<JobQueue>> start(database::Store& store, JobExecutor& executor,
                                                         JobQueueOptions options = {});
  // As drain().
  ~JobQueue();

  // Whether such a job of this submitter would be taken now, for who has to bring its model first. What is
  // wrong with it comes before whether there is room, which may change. Errors as service::check,
  // JobExecutor::check and service::check_room.
  absl::Status check_submission(const std::string& submitter, const JobSpec& spec);
  // Checks the model of a job that check_submission would take, keeps it, and queues it; its id. The model's
  // file must be there already. RESOURCE_EXHAUSTED: too many wait. Asks no tracker.
  absl::StatusOr<int64_t> submit(database::Job job, const JobSpec& spec);

  // Running trials are finished first: the view may still say running, with a detail like "pausing", but the
  // store has it already, so that a process that dies meanwhile forgets nothing that anybody was told. A job
  // that is so already stays as it is (JobView::unchanged); one that is still on its way there is told so
  // again, as if for the first time. FAILED_PRECONDITION if it is over, or a run of `tuner tune` that is to
  // be resumed, NOT_FOUND if there is none.
  absl::StatusOr<JobView> cancel(int64_t id);
  absl::StatusOr<JobView> pause(int64_t id);
  absl::StatusOr<JobView> resume(int64_t id);

  absl::StatusOr<JobView> find(int64_t id);
  // So many of those after that one, in order of submission.
  absl::StatusOr<std::vector<JobView>> list(int64_t after = 0,
                                            size_t most = std::numeric_limits<size_t>::max());
  // How many jobs are in each state, by its name; a state that none is in is there too.
  std::map<std::string, double> count_by_state();
  // The job once its version differs from `seen`; as it is after `timeout`.
  absl::StatusOr<JobView> wait_for_change(int64_t id, uint64_t seen, absl::Duration timeout);

  // Stops all running jobs; they are queued again, for the next process. Returns when none runs.
  void drain();

 private:
  // What becomes of a running job when its executor returns.
  enum class Intent { kFinish, kCancel, kPause, kQueueAgain };
  struct Entry {
    database::Job job;
    JobSpec spec;
    std::optional<session::Progress> progress;
    std::optional<int64_t> trials;  // once it is over: no more are added
    // What it waits for at the farm, as its run has said last, or why that ended; empty: it has a device, or
    // has not been told. Of now only, so the store does not have it.
    std::string lacks;
    std::string told;                // of its state, in the log
    std::vector<std::string> slots;  // on which its run measures
    size_t charged = 0;  // slots for which its submitter's account runs: at least one while it runs
    Allotment allotment;
    uint64_t version = 1;
    rpc::Instant not_before = -absl::InfiniteDuration();
    bool running = false;
    Intent intent = Intent::kFinish;
    std::atomic<bool> stop = false;
    std::thread thread;
  };

  JobQueue(database::Store& store, JobExecutor& executor, JobQueueOptions options)
      : store_(store),
        executor_(executor),
        options_(std::move(options)),
        usage_(*options_.clock, options_.share_half_life) {}
  absl::Status take_over();
  Entry& keep(const database::Job& job);                 // which the store has; mutex_ is held
  absl::Status find_room(const std::string& submitter);  // mutex_ is held
  // What decides which slots a job can use; jobs with equal demands can use the same slots.
  struct Demand {
    std::string device, selector, target;
    uint32_t threads = 1;
    std::string person;  // for reservations
    auto operator<=>(const Demand&) const = default;
  };
  static Demand demand_of(const Entry& entry);
  // To run, which a run of `tuner tune` does only where it began. mutex_ is held.
  static bool waits(const Entry& entry);
  // Of one that finishes what it is measuring: to what end. Empty: it does not. mutex_ is held.
  std::string ending(const Entry& entry) const;
  // Why a job that could run has no slot, as far as that is known; empty: it has one. mutex_ is held.
  std::string why_no_slot(const Entry& entry) const;
  void schedule();                      // the scheduler thread
  void keep_looking();                  // the thread that asks which slots there are
  std::map<Demand, JobSpec> demands();  // of the jobs that run or wait; mutex_ is held
  void share_slots();                   // among all jobs, and begins those that have one; mutex_ is held
  void share_slots_of(const std::vector<Entry*>& jobs);  // which have the same key; mutex_ is held
  SlotClaim claim_of(const Entry& entry, const std::set<std::string>& ours,
                     std::map<std::string, double>& costs);  // mutex_ is held
  // Whether a job that has no slot runs all the same, to wait in the tracker's queue. mutex_ is held.
  bool may_wait_at_tracker(const Entry& entry) const;
  void set_slots(Entry& entry, const std::vector<std::string>& slots);  // mutex_ is held
  void charge(Entry& entry, size_t slots);                              // mutex_ is held
  void begin(Entry& entry);  // as the store takes it; mutex_ is held
  void ended(Entry& entry);  // it runs no more; mutex_ is held
  rpc::Instant next_wake();  // mutex_ is held
  void run(Entry& entry);    // a job's thread
  void finish(Entry& entry, const absl::StatusOr<session::Progress>& result);
  // How a run has ended; what the store does not take, it is asked again. mutex_ is held.
  absl::Status save_end(Entry& entry, database::Job next);
  void save_ends();                               // what was not saved before; mutex_ is held
  void become(Entry& entry, database::Job next);  // as the store has it; mutex_ is held
  // What its run waits for from now on; empty: nothing. mutex_ is held.
  void set_lack(Entry& entry, const std::string& lack);
  // Of its state, what stays and what is so now. mutex_ is held.
  std::string detail_of(const Entry& entry) const;
  void log_state(Entry& entry);  // once; mutex_ is held
  static database::Job in_state(database::Job job, database::JobState state, std::string detail);
  absl::Status set_state(Entry& entry, database::JobState state, std::string detail);  // mutex_ is held
  absl::StatusOr<Entry*> find_entry(int64_t id);                                       // mutex_ is held
  // Whose end, if it has ended, is in the store. mutex_ is held.
  absl::StatusOr<Entry*> find_settled(int64_t id);
  absl::StatusOr<JobView> view(Entry& entry);       // mutex_ is held
  absl::StatusOr<JobView> as_before(Entry& entry);  // mutex_ is held
  void changed(Entry& entry);                       // mutex_ is held

  database::Store& store_;
  JobExecutor& executor_;
  const JobQueueOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, std::unique_ptr<Entry>> entries_;
  std::set<int64_t> not_over_;  // of them: who looks for something to do walks through no others
  std::map<int64_t, database::Job> unsaved_;  // as they ended, by their ids: the store did not take it
  std::vector<std::thread> over_;             // of runs that have ended
  std::multiset<std::string> arriving_;       // submitters of jobs that are not in the store yet
  rpc::UsageLedger usage_;                    // of slots, by submitter; begins anew with the process
  std::map<Demand, absl::StatusOr<SlotSupply>> supplies_;  // as they were when somebody looked last
  bool is_share_due_ = true;                               // something has changed that the shares depend on
  bool draining_ = false, drained_ = false;
  std::thread scheduler_, looker_;
};

}  // namespace tf::service
