#include "tuner/service/job_queue.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "tuner/service/turn.h"

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

std::string summary(const session::Progress& progress) {
  return absl::StrCat(progress.trials, " trials, ", progress.failures, " failed");
}

database::Job in_state(database::Job job, JobState state, std::string detail) {
  job.state = state;
  job.detail = std::move(detail);
  if (database::is_final(state)) job.finished_unix_ns = absl::GetCurrentTimeNanos();
  return job;
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
  return queue;
}

JobQueue::~JobQueue() {
  drain();
}

absl::Status JobQueue::take_over() {
  std::lock_guard lock(mutex_);
  TF_ASSIGN_OR_RETURN(std::vector<database::Job> jobs, store_.jobs());
  for (database::Job& job : jobs) {
    auto entry = std::make_unique<Entry>();
    absl::StatusOr<JobSpec> spec = stored_spec(job);
    entry->job = std::move(job);
    if (spec.ok()) entry->spec = *spec;
    Entry& kept = *(entries_[entry->job.id] = std::move(entry));
    // An embedded run that died belongs to `tuner tune`, not to the queue.
    if (kept.job.device.empty() || database::is_final(kept.job.state)) continue;
    if (!spec.ok()) {
      kept.job.status_code = static_cast<int32_t>(spec.status().code());
      TF_RETURN_IF_ERROR(set_state(kept, JobState::kFailed,
                                   absl::StrCat("cannot go on after a restart of the tuner: ",
                                                spec.status().message(), "; submit it again")));
      continue;
    }
    if (kept.job.state == JobState::kRunning) {
      TF_RETURN_IF_ERROR(set_state(kept, JobState::kQueued, "goes on after a restart of the tuner"));
    }
  }
  return absl::OkStatus();
}

absl::Status JobQueue::find_room(const std::string& submitter) {
  size_t in_all = arriving_.size(), of_submitter = arriving_.count(submitter);
  for (const auto& [id, entry] : entries_) {
    // An embedded run waits for nothing here.
    const bool waits = !entry->job.device.empty() && !entry->running && !database::is_final(entry->job.state);
    in_all += waits;
    of_submitter += waits && entry->job.submitter == submitter;
  }
  return service::check_room(options_.limits, submitter, in_all, of_submitter);
}

absl::Status JobQueue::check_room(const std::string& submitter) {
  const std::lock_guard lock(mutex_);
  return find_room(submitter);
}

absl::StatusOr<int64_t> JobQueue::submit(database::Job job, const JobSpec& spec) {
  TF_RETURN_IF_ERROR(service::check(spec));
  job.options = to_json(spec);
  job.state = JobState::kQueued;
  job.created_unix_ns = absl::GetCurrentTimeNanos();
  const auto keep = [&]() -> absl::StatusOr<int64_t> {
    TF_RETURN_IF_ERROR(executor_.check(job, spec));
    return store_.add_job(job);
  };
  std::unique_lock lock(mutex_);
  TF_RETURN_IF_ERROR(find_room(job.submitter));
  const auto arriving = arriving_.insert(job.submitter);
  lock.unlock();  // the executor reads the model and asks the tracker
  const absl::StatusOr<int64_t> id = keep();
  lock.lock();
  arriving_.erase(arriving);
  TF_RETURN_IF_ERROR(id.status());
  job.id = *id;
  auto entry = std::make_unique<Entry>();
  entry->job = job;
  entry->spec = spec;
  Entry& kept = *(entries_[job.id] = std::move(entry));
  changed(kept);
  return job.id;
}

absl::StatusOr<JobView> JobQueue::cancel(int64_t id) {
  std::lock_guard lock(mutex_);
  TF_ASSIGN_OR_RETURN(Entry * entry, find_entry(id));
  if (entry->job.state == JobState::kCancelled) return as_before(*entry);
  if (database::is_final(entry->job.state)) return wrong_state(entry->job, "cancel");
  if (entry->running && entry->intent == Intent::kCancel) return view(*entry);
  if (entry->running) {
    TF_RETURN_IF_ERROR(store_.update_job(in_state(entry->job, JobState::kCancelled, "cancelled")));
    entry->intent = Intent::kCancel;
    entry->stop = true;
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
  TF_ASSIGN_OR_RETURN(Entry * entry, find_entry(id));
  if (entry->job.state == JobState::kPaused) return as_before(*entry);
  if (database::is_final(entry->job.state)) return wrong_state(entry->job, "pause");
  if (entry->running) {
    if (entry->intent == Intent::kCancel) return being_cancelled(id, "pause");
    if (entry->intent == Intent::kPause) return view(*entry);
    TF_RETURN_IF_ERROR(store_.update_job(in_state(entry->job, JobState::kPaused, "paused")));
    entry->intent = Intent::kPause;
    entry->stop = true;
  } else {
    TF_RETURN_IF_ERROR(set_state(*entry, JobState::kPaused, "paused"));
  }
  return view(*entry);
}

absl::StatusOr<JobView> JobQueue::resume(int64_t id) {
  std::lock_guard lock(mutex_);
  TF_ASSIGN_OR_RETURN(Entry * entry, find_entry(id));
  if (database::is_final(entry->job.state)) return wrong_state(entry->job, "resume");
  if (entry->job.device.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot resume job ", id, ": it is a run of `tuner tune`; the same command goes on with it"));
  }
  if (entry->running && entry->intent == Intent::kCancel) return being_cancelled(id, "resume");
  // One that is still draining towards its pause goes straight back into the queue.
  if (entry->running && entry->intent == Intent::kPause) {
    TF_RETURN_IF_ERROR(store_.update_job(entry->job));
    entry->intent = Intent::kQueueAgain;
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
  std::map<std::string, double> counts;
  for (const JobState state : {kQueued, kRunning, kPaused, kDone, kFailed, kCancelled})
    counts[std::string(database::job_state_name(state))] = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : entries_) ++counts[std::string(database::job_state_name(entry->job.state))];
  return counts;
}

absl::StatusOr<JobView> JobQueue::wait_for_change(int64_t id, uint64_t seen, absl::Duration timeout) {
  std::unique_lock lock(mutex_);
  TF_ASSIGN_OR_RETURN(Entry * entry, find_entry(id));
  changed_.wait_for(lock, absl::ToChronoMilliseconds(timeout),
                    [&] { return draining_ || entry->version != seen; });
  return view(*entry);
}

void JobQueue::drain() {
  {
    std::lock_guard lock(mutex_);
    if (draining_) return;
    draining_ = true;
    for (auto& [id, entry] : entries_) {
      if (entry->intent == Intent::kFinish) entry->intent = Intent::kQueueAgain;
      entry->stop = true;
    }
  }
  changed_.notify_all();
  if (scheduler_.joinable()) scheduler_.join();
  // Jobs are still submitted meanwhile, for the next process, and a job's thread needs the lock to end.
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, entry] : entries_) {
      if (entry->thread.joinable()) threads.push_back(std::move(entry->thread));
    }
  }
  for (std::thread& thread : threads) thread.join();
}

JobQueue::Entry* JobQueue::next_to_run() {
  const rpc::Instant now = options_.clock->now();
  const auto devices_of = [](const Entry& entry) { return std::pair(entry.job.device, entry.spec.selector); };
  std::set<std::pair<std::string, std::string>> busy;
  for (const auto& [id, entry] : entries_) {
    if (entry->running) busy.insert(devices_of(*entry));
  }
  std::map<std::string, double> costs;  // by submitter, all of one moment
  Entry* next = nullptr;
  Turn first;
  for (const auto& [id, entry] : entries_) {
    const bool waits = entry->job.state == JobState::kQueued && !entry->running;
    if (!waits || entry->not_before > now || busy.contains(devices_of(*entry))) continue;
    const std::string& submitter = entry->job.submitter;
    auto cost = costs.find(submitter);
    if (cost == costs.end()) cost = costs.emplace(submitter, running_.cost(submitter)).first;
    const Turn turn = turn_of(id, entry->spec.priority, cost->second);
    if (next != nullptr && !(turn < first)) continue;
    next = entry.get();
    first = turn;
  }
  return next;
}

void JobQueue::begin(Entry& entry) {
  if (entry.thread.joinable()) entry.thread.join();  // an earlier run's, which has ended
  database::Job begun = in_state(entry.job, JobState::kRunning, "");
  if (begun.started_unix_ns == 0) begun.started_unix_ns = absl::GetCurrentTimeNanos();
  if (!store_.update_job(begun).ok()) {  // not the job's fault: try again
    entry.not_before = options_.clock->now() + options_.retry_after;
    return;
  }
  become(entry, std::move(begun));
  entry.running = true;
  running_.begin(entry.job.submitter);
  entry.intent = Intent::kFinish;
  entry.stop = false;
  entry.thread = std::thread([this, &entry] { run(entry); });
}

void JobQueue::ended(Entry& entry) {
  entry.running = false;
  running_.end(entry.job.submitter);
}

rpc::Instant JobQueue::next_wake() {
  rpc::Instant wake = absl::InfiniteDuration();
  for (const auto& [id, entry] : entries_) {
    const bool waits = entry->job.state == JobState::kQueued && !entry->running;
    if (waits || entry->unsaved) wake = std::min(wake, entry->not_before);
  }
  return wake;
}

void JobQueue::schedule() {
  std::unique_lock lock(mutex_);
  while (!draining_) {
    save_ends();
    // One at a time: each that begins counts when the next is chosen.
    while (Entry* entry = next_to_run()) begin(*entry);
    // A job that waits only for its device is woken by that device's job, so a second is soon enough for it.
    const absl::Duration wait =
        std::clamp(next_wake() - options_.clock->now(), absl::Milliseconds(10), absl::Seconds(1));
    changed_.wait_for(lock, absl::ToChronoMilliseconds(wait));
  }
}

void JobQueue::run(Entry& entry) {
  finish(entry, executor_.run(entry.job, entry.spec, entry.stop, [&](const session::Progress& progress) {
    std::lock_guard lock(mutex_);
    entry.progress = progress;
    changed(entry);
  }));
}

void JobQueue::finish(Entry& entry, const absl::StatusOr<session::Progress>& result) {
  std::lock_guard lock(mutex_);
  ended(entry);
  if (result.ok()) entry.progress = *result;
  const std::string after = entry.progress ? absl::StrCat(" after ", summary(*entry.progress)) : "";
  // Nor is it the job's fault if the farm takes this tuner for no member any more.
  const bool away = absl::IsUnavailable(result.status()) || absl::IsUnauthenticated(result.status());
  database::Job next;
  if (entry.intent == Intent::kCancel) {
    next = in_state(entry.job, JobState::kCancelled, "cancelled" + after);
  } else if (entry.intent == Intent::kPause) {
    next = in_state(entry.job, JobState::kPaused, "paused" + after);
  } else if (entry.intent == Intent::kQueueAgain) {
    next = in_state(entry.job, JobState::kQueued, "stopped" + after);
  } else if (result.ok()) {
    next = in_state(entry.job, JobState::kDone, summary(*result));
  } else if (away) {
    entry.not_before = options_.clock->now() + options_.retry_after;
    next = in_state(entry.job, JobState::kQueued,
                    absl::StrCat("waits: ", std::string(result.status().message())));
  } else {
    next = in_state(entry.job, JobState::kFailed, std::string(result.status().message()));
    next.status_code = static_cast<int32_t>(result.status().code());
  }
  save_end(entry, std::move(next));
}

void JobQueue::save_end(Entry& entry, database::Job next) {
  const absl::Status kept = store_.update_job(next);
  if (kept.ok()) return become(entry, std::move(next));
  spdlog::error("cannot keep that job {} is {}, and tries again: {}", next.id,
                database::job_state_name(next.state), std::string(kept.message()));
  entry.unsaved = std::move(next);
  entry.not_before = options_.clock->now() + options_.retry_after;
  changed(entry);
}

void JobQueue::save_ends() {
  for (const auto& [id, entry] : entries_) {
    if (entry->unsaved && entry->not_before <= options_.clock->now())
      save_end(*entry, *std::exchange(entry->unsaved, std::nullopt));
  }
}

absl::Status JobQueue::set_state(Entry& entry, JobState state, std::string detail) {
  database::Job next = in_state(entry.job, state, std::move(detail));
  TF_RETURN_IF_ERROR(store_.update_job(next));
  become(entry, std::move(next));
  return absl::OkStatus();
}

void JobQueue::become(Entry& entry, database::Job next) {
  entry.job = std::move(next);
  entry.unsaved.reset();
  spdlog::info("job {} ({}) {}{}{}", entry.job.id, entry.job.model_name,
               database::job_state_name(entry.job.state), entry.job.detail.empty() ? "" : ": ",
               entry.job.detail);
  if (database::is_final(entry.job.state) && options_.on_end) options_.on_end(entry.job);
  changed(entry);
}

absl::StatusOr<JobQueue::Entry*> JobQueue::find_entry(int64_t id) {
  auto found = entries_.find(id);
  if (found != entries_.end()) return found->second.get();
  return absl::NotFoundError(absl::StrCat("there is no job ", id, "; `tuner jobs` lists them"));
}

absl::StatusOr<JobView> JobQueue::as_before(const Entry& entry) {
  TF_ASSIGN_OR_RETURN(JobView unchanged, view(entry));
  unchanged.unchanged = true;
  return unchanged;
}

absl::StatusOr<JobView> JobQueue::view(const Entry& entry) {
  TF_ASSIGN_OR_RETURN(int64_t trials, store_.count_trials(entry.job.id));
  return JobView{.job = entry.job, .trials = trials, .progress = entry.progress, .version = entry.version};
}

void JobQueue::changed(Entry& entry) {
  ++entry.version;
  changed_.notify_all();
}

}  // namespace tf::service
