// The queue's second part: what becomes of a job that runs.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "rpc/daemon/log_fields.h"
#include "tuner/service/jobs/job_queue.h"
#include "tuner/service/jobs/summary.h"

namespace tf::service {
namespace {

using database::JobState;

}  // namespace

void JobQueue::drain() {
  {
    std::lock_guard lock(mutex_);
    if (draining_) return;
    draining_ = true;
    for (const int64_t id : not_over_) {
      Entry& entry = *entries_.at(id);
      if (entry.intent == Intent::kFinish) entry.intent = Intent::kQueueAgain;
      entry.stop = true;
      if (entry.running) ++entry.version;  // it says so from now on
    }
  }
  changed_.notify_all();
  if (scheduler_.joinable()) scheduler_.join();
  if (looker_.joinable()) looker_.join();
  // Jobs are still submitted meanwhile, for the next process, and a job's thread needs the lock to end.
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    threads = std::exchange(over_, {});
    for (const int64_t id : not_over_) {
      std::thread& thread = entries_.at(id)->thread;
      if (thread.joinable()) threads.push_back(std::move(thread));
    }
  }
  for (std::thread& thread : threads) thread.join();
  std::lock_guard lock(mutex_);
  drained_ = true;
  changed_.notify_all();  // nobody waits for news any more
}

bool JobQueue::waits(const Entry& entry) {
  const bool is_embedded = entry.job.device.empty();
  return entry.job.state == JobState::kQueued && !entry.running && !is_embedded;
}

std::string JobQueue::ending(const Entry& entry) const {
  if (!entry.running) return "";
  switch (entry.intent) {
    case Intent::kFinish:
      return "";
    case Intent::kCancel:
      return "cancelling";
    case Intent::kPause:
      return "pausing";
    case Intent::kQueueAgain:
      return draining_ ? "stopping with the tuner" : "resuming";
  }
  return "";
}

void JobQueue::begin(Entry& entry) {
  database::Job begun = in_state(entry.job, JobState::kRunning, "");
  if (begun.started_unix_ns == 0) begun.started_unix_ns = absl::GetCurrentTimeNanos();
  if (!store_.update_job(begun).ok()) {  // not the job's fault: try again
    entry.not_before = options_.clock->now() + options_.retry_after;
    return;
  }
  become(entry, std::move(begun));
  entry.running = true;
  charge(entry, 1);
  entry.intent = Intent::kFinish;
  entry.stop = false;
  entry.thread = std::thread([this, &entry] { run(entry); });
}

void JobQueue::ended(Entry& entry) {
  entry.running = false;
  entry.slots.clear();
  charge(entry, 0);
}

rpc::Instant JobQueue::next_wake() {
  rpc::Instant wake = absl::InfiniteDuration();
  for (const int64_t id : not_over_) {
    const Entry& entry = *entries_.at(id);
    if (waits(entry)) wake = std::min(wake, entry.not_before);
  }
  for (const auto& [id, end] : unsaved_) wake = std::min(wake, entries_.at(id)->not_before);
  return wake;
}

void JobQueue::schedule() {
  std::unique_lock lock(mutex_);
  while (!draining_) {
    for (std::thread& thread : std::exchange(over_, {})) thread.join();  // whose last act was under the lock
    save_ends();
    if (options_.clock->now() >= next_wake()) is_share_due_ = true;
    if (std::exchange(is_share_due_, false)) share_slots();
    const absl::Duration wait =
        std::clamp(next_wake() - options_.clock->now(), absl::Milliseconds(10), absl::Seconds(1));
    changed_.wait_for(lock, absl::ToChronoMilliseconds(wait));
  }
}

void JobQueue::run(Entry& entry) {
  const auto report = [&](const session::Progress& progress) {
    std::lock_guard lock(mutex_);
    entry.progress = progress;
    changed(entry);
  };
  const auto slots = [&](const std::vector<std::string>& names) {
    std::lock_guard lock(mutex_);
    set_slots(entry, names);
  };
  const auto waits = [&](const std::string& what) {
    std::lock_guard lock(mutex_);
    set_lack(entry, what);
  };
  finish(entry, executor_.run(entry.job, entry.spec, entry.allotment, entry.stop,
                              {.progress = report, .slots = slots, .waits = waits}));
}

void JobQueue::set_lack(Entry& entry, const std::string& lack) {
  entry.lacks = lack;
  log_state(entry);
  changed(entry);
}

void JobQueue::finish(Entry& entry, const absl::StatusOr<session::Progress>& result) {
  std::lock_guard lock(mutex_);
  is_share_due_ = true;
  ended(entry);
  entry.lacks.clear();
  if (result.ok()) entry.progress = *result;
  const std::string after = entry.progress ? absl::StrCat(" after ", summary(*entry.progress)) : "";
  // It is not the job's fault either if this tuner is not a member of the farm any more, or if its disk is
  // full.
  const bool away = absl::IsUnavailable(result.status()) || absl::IsUnauthenticated(result.status()) ||
                    absl::IsResourceExhausted(result.status());
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
    entry.lacks = std::string(result.status().message());
    next = in_state(entry.job, JobState::kQueued, "");
  } else {
    next = in_state(entry.job, JobState::kFailed, std::string(result.status().message()));
    next.status_code = static_cast<int32_t>(result.status().code());
  }
  (void)save_end(entry, std::move(next));                                 // what fails is tried again
  if (entry.thread.joinable()) over_.push_back(std::move(entry.thread));  // else drain() has it
}

absl::Status JobQueue::save_end(Entry& entry, database::Job next) {
  const absl::Status kept = store_.update_job(next);
  // What was cancelled or paused is so in the store already, without how far it came: for that nobody waits.
  const bool is_known = entry.intent == Intent::kCancel || entry.intent == Intent::kPause;
  if ((kept.ok() || is_known) && next.state != entry.job.state) become(entry, next);
  if (kept.ok()) {
    unsaved_.erase(next.id);
    return kept;
  }
  const rpc::LogFields about({{"job", absl::StrCat(next.id), true}});
  spdlog::error(absl::StrCat("cannot save that job ", next.id, " is ",
                             std::string(database::job_state_name(next.state)),
                             "; retrying: ", kept.message()));
  unsaved_.insert_or_assign(next.id, std::move(next));
  entry.not_before = options_.clock->now() + options_.retry_after;
  changed(entry);
  return kept;
}

void JobQueue::save_ends() {
  std::vector<database::Job> due;
  for (const auto& [id, end] : unsaved_) {
    if (entries_.at(id)->not_before <= options_.clock->now()) due.push_back(end);
  }
  for (database::Job& end : due) {
    Entry& entry = *entries_.at(end.id);
    (void)save_end(entry, std::move(end));
  }
}

database::Job JobQueue::in_state(database::Job job, JobState state, std::string detail) {
  job.state = state;
  job.detail = std::move(detail);
  if (database::is_final(state)) job.finished_unix_ns = absl::GetCurrentTimeNanos();
  return job;
}

absl::Status JobQueue::set_state(Entry& entry, JobState state, std::string detail) {
  database::Job next = in_state(entry.job, state, std::move(detail));
  TF_RETURN_IF_ERROR(store_.update_job(next));
  become(entry, std::move(next));
  return absl::OkStatus();
}

std::string JobQueue::detail_of(const Entry& entry) const {
  const std::string why = why_no_slot(entry);
  const std::string waits = !why.empty()           ? absl::StrCat("waits for a free device: ", why)
                            : !entry.lacks.empty() ? absl::StrCat("waits: ", entry.lacks)
                                                   : "";
  const bool has_both = !waits.empty() && !entry.job.detail.empty();
  return absl::StrCat(entry.job.detail, has_both ? "; " : "", waits);
}

void JobQueue::log_state(Entry& entry) {
  const std::string detail = detail_of(entry);
  std::string now = absl::StrCat(std::string(database::job_state_name(entry.job.state)),
                                 detail.empty() ? "" : ": ", detail);
  if (now == entry.told) return;
  const rpc::LogFields about({{"job", absl::StrCat(entry.job.id), true}});
  spdlog::info(absl::StrCat("job ", entry.job.id, " (", entry.job.model_name, ") ", now));
  entry.told = std::move(now);
}

void JobQueue::become(Entry& entry, database::Job next) {
  if (database::is_final(next.state)) not_over_.erase(next.id);
  entry.job = std::move(next);
  unsaved_.erase(entry.job.id);
  const bool goes_on = entry.job.state == JobState::kQueued || entry.job.state == JobState::kRunning;
  if (!goes_on) entry.lacks.clear();
  if (goes_on && entry.progress) entry.progress->set_phase(session::PHASE_MEASURING);
  // One that only tries again is worth no line until it has what it lacks.
  if (entry.job.state != JobState::kRunning || entry.lacks.empty()) log_state(entry);
  if (database::is_final(entry.job.state) && options_.on_end) options_.on_end(entry.job);
  is_share_due_ = true;
  changed(entry);
}

}  // namespace tf::service
