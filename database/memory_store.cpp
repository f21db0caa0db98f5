#include "database/memory_store.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "database/store_errors.h"
#include "database/which_count.h"

namespace tf::database {
namespace {

using LeaseKey = std::tuple<std::string, uint64_t, uint64_t>;

LeaseKey lease_key(const LeaseStamp& lease) {
  return {lease.lease_id, lease.epoch, lease.sequence};
}

bool matches(const Filter& filter, const Measurement& m) {
  return (!filter.workload || m.problem.workload == *filter.workload) &&
         (!filter.problem || m.problem == *filter.problem) &&
         (!filter.job_id || m.job_id == *filter.job_id) &&
         (filter.which != Filter::Which::kOk || m.outcome == Outcome::kOk);
}

// Whether the record has a say in what answers the query: as an answer, or because it failed.
bool counts(const BestQuery& query, const Measurement& m) {
  return tensor::same_kernel(m.problem, query.problem) &&
         (!query.device_class || m.device.device_class == *query.device_class) &&
         (!query.semantics_version || m.semantics_version == *query.semantics_version) &&
         (!query.schedule || m.schedule == *query.schedule) &&
         (query.of != BestQuery::Of::kUntuned || m.untuned);
}

class MemoryStore final : public Store {
 public:
  absl::StatusOr<std::vector<Measurement>> top(const BestQuery& query, size_t limit) override {
    std::lock_guard lock(mutex_);
    std::vector<const Measurement*> asked;
    for (const Measurement& m : measurements_)
      if (counts(query, m)) asked.push_back(&m);
    const auto nearer = tensor::nearer_to(query.problem.reuse_distance_bytes);
    std::map<uint64_t, std::vector<const Measurement*>, decltype(nearer)> answers(nearer);
    for (const Measurement* m : which_count(std::move(asked))) {
      if (is_answer(*m) && numerics_allowed(m->numerics, query.allowed_numerics))
        answers[m->problem.reuse_distance_bytes].push_back(m);
    }
    for (auto& [distance, found] : answers) {
      std::ranges::stable_sort(found, [&](const Measurement* a, const Measurement* b) {
        if (query.of == BestQuery::Of::kUntuned) return counting_order(*a) > counting_order(*b);
        return std::pair(*a->median_ns(), a->id) < std::pair(*b->median_ns(), b->id);
      });
      std::vector<Measurement> out;
      for (size_t i = 0; i < std::min(limit, found.size()); ++i) out.push_back(*found[i]);
      return out;
    }
    return std::vector<Measurement>();
  }

  absl::StatusOr<Workload> find_workload(const std::string& key_or_prefix) override {
    TF_RETURN_IF_ERROR(check_key_prefix(key_or_prefix));
    std::lock_guard lock(mutex_);
    const Workload* found = nullptr;
    for (const Workload& workload : workloads_) {
      if (!workload.key().hex().starts_with(key_or_prefix)) continue;
      if (found != nullptr) return ambiguous_workload(key_or_prefix);
      found = &workload;
    }
    if (found == nullptr) return unknown_workload(key_or_prefix);
    return *found;
  }

  absl::StatusOr<std::vector<Workload>> workloads() override {
    std::lock_guard lock(mutex_);
    return workloads_;
  }

  absl::StatusOr<std::vector<tensor::KernelKey>> problems() override {
    std::lock_guard lock(mutex_);
    std::vector<tensor::KernelKey> out;
    for (const Measurement& m : measurements_) {
      if (std::ranges::find(out, m.problem) == out.end()) out.push_back(m.problem);
    }
    return out;
  }

  absl::Status scan(const Filter& filter, const Visitor& visit) override {
    const std::set<Program> answers = answering(filter.which);
    const auto is_wanted = [&](const Measurement& m) {
      return matches(filter, m) && (filter.which == Filter::Which::kAll || m.outcome != Outcome::kOk ||
                                    answers.contains(program_of(m)));
    };
    for (size_t next = 0;;) {
      Measurement measurement;
      {
        std::lock_guard lock(mutex_);
        while (next < measurements_.size() && !is_wanted(measurements_[next])) ++next;
        if (next == measurements_.size()) return absl::OkStatus();
        measurement = measurements_[next++];
      }
      TF_RETURN_IF_ERROR(visit(measurement));
    }
  }

  absl::StatusOr<Measurement> find_record(const Digest& digest) override {
    std::lock_guard lock(mutex_);
    auto found = by_digest_.find(digest);
    if (found == by_digest_.end()) return unknown_record(digest);
    return measurements_[static_cast<size_t>(found->second - 1)];
  }

  absl::StatusOr<bool> is_measured(const tensor::KernelKey& problem, const std::string& schedule) override {
    std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        measurements_, [&](const Measurement& m) { return m.schedule == schedule && m.problem == problem; });
  }

  absl::StatusOr<std::vector<NetworkVerdict>> verdicts() override {
    std::lock_guard lock(mutex_);
    std::vector<NetworkVerdict> all;
    for (const auto& [key, verdict] : verdicts_) all.push_back(verdict);
    std::ranges::stable_sort(all, std::greater<>(), &NetworkVerdict::decided_unix_ns);
    return all;
  }

  absl::Status save_verdict(const NetworkVerdict& verdict, Origin origin) override {
    std::lock_guard lock(mutex_);
    const auto [known, is_new] = verdicts_.try_emplace(verdict.key, verdict);
    if (is_new || origin == Origin::kLive || known->second.decided_unix_ns < verdict.decided_unix_ns)
      known->second = verdict;
    return absl::OkStatus();
  }

  absl::Status add_workload(const Workload& workload) override {
    std::lock_guard lock(mutex_);
    if (!knows(workload.key())) workloads_.push_back(workload);
    return absl::OkStatus();
  }

  absl::StatusOr<InsertResult> insert(const Measurement& measurement, Origin origin) override {
    if (const absl::Status possible = check(measurement); !possible.ok()) return refused(possible);
    std::lock_guard lock(mutex_);
    const Digest digest = record_digest(measurement);
    if (measurement.lease) {
      auto known = by_lease_.find(lease_key(*measurement.lease));
      if (known != by_lease_.end()) return InsertResult{.id = known->second, .duplicate = true};
    }
    if (auto known = by_digest_.find(digest); known != by_digest_.end()) {
      return InsertResult{.id = known->second, .duplicate = true};
    }
    if (!knows(measurement.problem.workload)) return workload_missing(measurement.problem.workload);
    if (measurement.lease && origin == Origin::kLive) TF_RETURN_IF_ERROR(pass_fence(*measurement.lease));
    const auto id = static_cast<int64_t>(measurements_.size() + 1);
    Measurement row = measurement;
    row.id = id;
    row.imported_after.reset();
    if (origin == Origin::kLive) {
      has_own_ = true;
    } else {
      row.imported_after = has_own_ ? imported_after(measurement, measurements_) : 0;
    }
    measurements_.push_back(std::move(row));
    by_digest_[digest] = id;
    if (measurement.lease) by_lease_[lease_key(*measurement.lease)] = id;
    return InsertResult{.id = id};
  }

  void insert_async(const Measurement& measurement, Origin origin, InsertDone done) override {
    done(insert(measurement, origin));
  }

  absl::Status add_attempt(const Attempt& attempt) override {
    std::lock_guard lock(mutex_);
    if (!knows(attempt.problem.workload)) return workload_missing(attempt.problem.workload);
    attempts_.push_back(attempt);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> count_attempts(int64_t job_id) override {
    std::lock_guard lock(mutex_);
    return std::ranges::count(attempts_, job_id, &Attempt::job_id);
  }

  absl::StatusOr<int64_t> count_trials(int64_t job_id) override {
    std::lock_guard lock(mutex_);
    std::vector<const Measurement*> trials;
    for (const Measurement& m : measurements_) {
      if (job_id == 0 || m.job_id != job_id || m.interleaved) continue;
      const bool known = std::ranges::any_of(trials, [&](const Measurement* other) {
        return other->problem == m.problem && other->schedule == m.schedule;
      });
      if (!known) trials.push_back(&m);
    }
    return static_cast<int64_t>(trials.size());
  }

  absl::StatusOr<int64_t> add_job(const Job& job) override {
    std::lock_guard lock(mutex_);
    jobs_.push_back(job);
    jobs_.back().id = static_cast<int64_t>(jobs_.size());
    return jobs_.back().id;
  }

  absl::Status update_job(const Job& job) override {
    std::lock_guard lock(mutex_);
    auto found = std::ranges::find(jobs_, job.id, &Job::id);
    if (found == jobs_.end()) return unknown_job(job.id);
    if (is_final(found->state) && job.state != found->state) return final_job(*found);
    found->state = job.state;
    found->detail = job.detail;
    found->status_code = job.status_code;
    found->started_unix_ns = job.started_unix_ns;
    found->finished_unix_ns = job.finished_unix_ns;
    return absl::OkStatus();
  }

  absl::StatusOr<Job> find_job(int64_t id) override {
    std::lock_guard lock(mutex_);
    auto found = std::ranges::find(jobs_, id, &Job::id);
    if (found == jobs_.end()) return unknown_job(id);
    return *found;
  }

  absl::StatusOr<std::vector<Job>> jobs() override {
    std::lock_guard lock(mutex_);
    return jobs_;
  }

  absl::Status save_job_tasks(const std::vector<JobTask>& tasks) override {
    std::lock_guard lock(mutex_);
    for (const JobTask& task : tasks) {
      if (!knows(task.problem.workload)) return workload_missing(task.problem.workload);
      if (std::ranges::find(jobs_, task.job_id, &Job::id) == jobs_.end()) return unknown_job(task.job_id);
    }
    for (const JobTask& task : tasks) tasks_[{task.job_id, task.index}] = task;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<JobTask>> job_tasks(int64_t job_id) override {
    std::lock_guard lock(mutex_);
    std::vector<JobTask> out;
    for (const auto& [key, task] : tasks_) {
      if (key.first == job_id) out.push_back(task);
    }
    return out;
  }

 private:
  // The programs that answer queries, where they are asked for.
  std::set<Program> answering(Filter::Which which) {
    std::set<Program> programs;
    if (which == Filter::Which::kAll) return programs;
    std::lock_guard lock(mutex_);
    for (const Measurement* m : which_count(measurements_))
      if (is_answer(*m)) programs.insert(program_of(*m));
    return programs;
  }

  bool knows(const Digest& key) const {
    return std::ranges::any_of(workloads_, [&](const Workload& workload) { return workload.key() == key; });
  }

  absl::Status pass_fence(const LeaseStamp& lease) {
    if (lease.slot.empty()) return absl::OkStatus();
    uint64_t& highest = fences_[lease.slot];
    if (lease.epoch < highest) return fenced(lease, highest);
    highest = lease.epoch;
    return absl::OkStatus();
  }

  std::mutex mutex_;
  std::vector<Workload> workloads_;
  std::vector<Measurement> measurements_;  // id = index + 1
  bool has_own_ = false;                   // one of them was not imported
  std::map<Digest, int64_t> by_digest_;
  std::map<LeaseKey, int64_t> by_lease_;
  std::map<std::string, uint64_t> fences_;
  std::map<Digest, NetworkVerdict> verdicts_;
  std::vector<Attempt> attempts_;
  std::vector<Job> jobs_;
  std::map<std::pair<int64_t, int32_t>, JobTask> tasks_;
};

}  // namespace

std::unique_ptr<Store> make_memory_store() {
  return std::make_unique<MemoryStore>();
}

}  // namespace tf::database
