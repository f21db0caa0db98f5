#include "tuner/service/jobs/job_queue.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace tf::service {
namespace {

using database::JobState;

absl::Status wrong_state(const database::Job& job, const char* verb) {
  return absl::FailedPreconditionError(absl::StrCat("cannot ", verb, " job ", job.id, ": it is ",
                                                    std::string(database::job_state_name(job.state)),
                                                    "; `tuner jobs` shows the states"));
}

absl::Status being_cancelled(int64_t id, const char* verb) {
  return absl::FailedPreconditionError(absl::StrCat("cannot ", verb, " job ", id, ": it is being cancelled"));
}

// The options of a stored job, which somebody else may have written or damaged.
absl::StatusOr<JobSpec> stored_spec(const database::Job& job) {
  TF_ASSIGN_OR_RETURN(JobSpec spec, job_spec_from_json(job.options));
  TF_RETURN_IF_ERROR(check(spec));
  return spec;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobQueue>> JobQueue::start(database::Store& store, JobExecutor& executor,
                                                          JobQueueOptions options) {
  std::unique_ptr<JobQueue> queue(new JobQueue(store, executor, std::move(options)));
  TF_RETURN_IF_ERROR(queue->take_over());
  queue->scheduler_ = std::thread([q = queue.get()] { q->schedule(); });
  queue->looker_ = std::thread([q = queue.get()] { q->keep_looking(); });
  return queue;
}

JobQueue::~JobQueue() {
  drain();
}

absl::Status JobQueue::take_over() {
  std::lock_guard lock(mutex_);
  TF_ASSIGN_OR_RETURN(std::vector<database::Job> jobs, store_.jobs());
  for (const database::Job& job : jobs) {
    Entry& kept = keep(job);
    // An embedded run that died belongs to `tuner tune`, not to the queue.
    if (job.device.empty() || database::is_final(job.state)) continue;
    const absl::StatusOr<JobSpec> spec = stored_spec(job);
    if (spec.ok()) kept.spec = *spec;
    if (!spec.ok()) {
      kept.job.status_code = static_cast<int32_t>(spec.status().code());
      TF_RETURN_IF_ERROR(set_state(kept, JobState::kFailed,
                                   absl::StrCat("cannot continue after a restart of the tuner: ",
                                                spec.status().message(), "; submit it again")));
      continue;
    }
    if (job.state == JobState::kRunning) {
      TF_RETURN_IF_ERROR(set_state(kept, JobState::kQueued, "continues after a restart of the tuner"));
    }
  }
  return absl::OkStatus();
}

JobQueue::Entry& JobQueue::keep(const database::Job& job) {
  auto entry = std::make_unique<Entry>();
  entry->job = job;
  if (!database::is_final(job.state)) not_over_.insert(job.id);
  return *(entries_[job.id] = std::move(entry));
}

absl::Status JobQueue::find_room(const std::string& submitter) {
  size_t in_all = arriving_.size(), of_submitter = arriving_.count(submitter);
  for (const int64_t id : not_over_) {
    const Entry& entry = *entries_.at(id);
    const bool waits = !entry.job.device.empty() && !entry.running;  // an embedded run waits for nothing here
    in_all += waits;
    of_submitter += waits && entry.job.submitter == submitter;
  }
  return service::check_room(options_.limits, submitter, in_all, of_submitter);
}

absl::Status JobQueue::check_submission(const std::string& submitter, const JobSpec& spec) {
  TF_RETURN_IF_ERROR(service::check(spec));
  TF_RETURN_IF_ERROR(executor_.check(spec));  // which asks the tracker
  const std::lock_guard lock(mutex_);
  return find_room(submitter);
}

absl::StatusOr<int64_t> JobQueue::submit(database::Job job, const JobSpec& spec) {
  TF_RETURN_IF_ERROR(service::check(spec));
  job.options = to_json(spec);
  job.state = JobState::kQueued;
  job.created_unix_ns = absl::GetCurrentTimeNanos();
  const auto store = [&]() -> absl::StatusOr<int64_t> {
    TF_RETURN_IF_ERROR(executor_.check_model(job, spec));
    return store_.add_job(job);
  };
  std::unique_lock lock(mutex_);
  TF_RETURN_IF_ERROR(find_room(job.submitter));
  const auto arriving = arriving_.insert(job.submitter);
  lock.unlock();  // the executor reads the model
  const absl::StatusOr<int64_t> id = store();
  lock.lock();
  arriving_.erase(arriving);
  TF_RETURN_IF_ERROR(id.status());
  job.id = *id;
  Entry& kept = keep(job);
  kept.spec = spec;
  changed(kept);
  return job.id;
}

absl::StatusOr<JobView> JobQueue::cancel(int64_t id) {
  std::lock_guard lock(mutex_);
  TF_ASSIGN_OR_RETURN(Entry * entry, find_settled(id));
  if (entry->job.state == JobState::kCancelled) return as_before(*entry);
  if (database::is_final(entry->job.state)) return wrong_state(entry->job, "cancel");
  if (entry->running && entry->intent == Intent::kCancel) return view(*entry);
  if (entry->running) {
    TF_RETURN_IF_ERROR(store_.update_job(in_state(entry->job, JobState::kCancelled, "cancelled")));
    entry->intent = Intent::kCancel;
    entry->stop = true;
    changed(*entry);
  } else {
    const std::string before(database::job_state_name(entry->job.state));
    TF_RETURN_IF_ERROR(set_state(
        *entry, JobState::kCancelled,
        entry->job.started_unix_ns == 0 ? "cancelled before it ran" : "cancelled while it was " + before));
  }
  return view(*entry);
}

absl::StatusOr<JobView> JobQueue::pause(int64_t id) {
  std::lock_guard lock(mutex_);
  TF_ASSIGN_OR_RETURN(Entry * entry, find_settled(id));
  if (entry->job.state == JobState::kPaused) return as_before(*entry);
  if (database::is_final(entry->job.state)) return wrong_state(entry->job, "pause");
  if (entry->running) {
    if (entry->intent == Intent::kCancel) return being_cancelled(id, "pause");
    if (entry->intent == Intent::kPause) return view(*entry);
    TF_RETURN_IF_ERROR(store_.update_job(in_state(entry->job, JobState::kPaused, "paused")));
    entry->intent = Intent::kPause;
    entry->stop = true;
    changed(*entry);
  } else {
    TF_RETURN_IF_ERROR(set_state(*entry, JobState::kPaused, "paused"));
  }
  return view(*entry);
}

absl::StatusOr<JobView> JobQueue::resume(int64_t id) {
  std::lock_guard lock(mutex_);
  TF_ASSIGN_OR_RETURN(Entry * entry, find_settled(id));
  if (database::is_final(entry->job.state)) return wrong_state(entry->job, "resume");
  if (entry->job.device.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot resume job ", id, ": it belongs to `tuner tune`; run that command again to continue"));
  }
  if (entry->running && entry->intent == Intent::kCancel) return being_cancelled(id, "resume");
  // One that is still draining towards its pause goes straight back into the queue.
  if (entry->running && entry->intent == Intent::kQueueAgain) return view(*entry);
  if (entry->running && entry->intent == Intent::kPause) {
    TF_RETURN_IF_ERROR(store_.update_job(entry->job));
    entry->intent = Intent::kQueueAgain;
    changed(*entry);
    return view(*entry);
  }
  if (entry->job.state != JobState::kPaused) return as_before(*entry);
  entry->not_before = -absl::InfiniteDuration();
  TF_RETURN_IF_ERROR(set_state(*entry, JobState::kQueued, "resumed"));
  return view(*entry);
}

absl::StatusOr<JobView> JobQueue::find(int64_t id) {
  std::lock_guard lock(mutex_);
  TF_ASSIGN_OR_RETURN(Entry * entry, find_entry(id));
  return view(*entry);
}

absl::StatusOr<std::vector<JobView>> JobQueue::list(int64_t after, size_t most) {
  std::lock_guard lock(mutex_);
  std::vector<JobView> out;
  for (auto at = entries_.upper_bound(after); at != entries_.end() && out.size() < most; ++at) {
    TF_ASSIGN_OR_RETURN(JobView one, view(*at->second));
    out.push_back(std::move(one));
  }
  return out;
}

std::map<std::string, double> JobQueue::count_by_state() {
  using enum JobState;
  std::array<double, static_cast<size_t>(kCancelled) + 1> of_state = {};
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : entries_) ++of_state[static_cast<size_t>(entry->job.state)];
  }
  std::map<std::string, double> counts;
  for (const JobState state : {kQueued, kRunning, kPaused, kDone, kFailed, kCancelled})
    counts[std::string(database::job_state_name(state))] = of_state[static_cast<size_t>(state)];
  return counts;
}

absl::StatusOr<JobView> JobQueue::wait_for_change(int64_t id, uint64_t seen, absl::Duration timeout) {
  std::unique_lock lock(mutex_);
  TF_ASSIGN_OR_RETURN(Entry * entry, find_entry(id));
  changed_.wait_for(lock, absl::ToChronoMilliseconds(timeout),
                    [&] { return drained_ || entry->version != seen; });
  return view(*entry);
}

absl::StatusOr<JobQueue::Entry*> JobQueue::find_entry(int64_t id) {
  auto found = entries_.find(id);
  if (found != entries_.end()) return found->second.get();
  return absl::NotFoundError(absl::StrCat("there is no job ", id, "; `tuner jobs` lists them"));
}

absl::StatusOr<JobQueue::Entry*> JobQueue::find_settled(int64_t id) {
  TF_ASSIGN_OR_RETURN(Entry * entry, find_entry(id));
  const auto end = unsaved_.find(id);
  if (end != unsaved_.end() && end->second.state != entry->job.state)
    TF_RETURN_IF_ERROR(save_end(*entry, database::Job(end->second)));
  return entry;
}

absl::StatusOr<JobView> JobQueue::as_before(Entry& entry) {
  TF_ASSIGN_OR_RETURN(JobView unchanged, view(entry));
  unchanged.unchanged = true;
  return unchanged;
}

absl::StatusOr<JobView> JobQueue::view(Entry& entry) {
  std::optional<int64_t> trials = entry.trials;
  if (!trials) {
    TF_ASSIGN_OR_RETURN(trials, store_.count_trials(entry.job.id));
    if (database::is_final(entry.job.state)) entry.trials = trials;
  }
  JobView view{.job = entry.job,
               .trials = *trials,
               .progress = entry.progress,
               .slots = entry.slots,
               .version = entry.version};
  // As of now: not of the job, so the store does not have it.
  view.job.detail = detail_of(entry);
  if (std::string what = ending(entry); !what.empty()) view.job.detail = std::move(what);
  return view;
}

void JobQueue::changed(Entry& entry) {
  ++entry.version;
  changed_.notify_all();
}

}  // namespace tf::service
