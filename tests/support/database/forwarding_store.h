#pragma once
// Owns: a store that passes everything on to another, for tests to override what they are about.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "database/store.h"

namespace tf::test {

class ForwardingStore : public database::Store {
 public:
  explicit ForwardingStore(database::Store& store) : store_(store) {}

  using database::Store::insert;
  absl::StatusOr<std::vector<database::Measurement>> top(const database::BestQuery& query,
                                                         size_t limit) override {
    return store_.top(query, limit);
  }
  absl::StatusOr<database::Workload> find_workload(const std::string& key_or_prefix) override {
    return store_.find_workload(key_or_prefix);
  }
  absl::StatusOr<std::vector<database::Workload>> workloads() override { return store_.workloads(); }
  absl::StatusOr<std::vector<tensor::KernelKey>> problems() override { return store_.problems(); }
  absl::Status scan(const database::Filter& filter, const database::Visitor& visit) override {
    return store_.scan(filter, visit);
  }
  absl::StatusOr<database::Measurement> find_record(const Digest& digest) override {
    return store_.find_record(digest);
  }
  absl::StatusOr<bool> is_measured(const tensor::KernelKey& problem, const std::string& schedule) override {
    return store_.is_measured(problem, schedule);
  }
  absl::StatusOr<std::vector<database::NetworkVerdict>> verdicts() override { return store_.verdicts(); }
  absl::Status save_verdict(const database::NetworkVerdict& verdict, database::Origin origin) override {
    return store_.save_verdict(verdict, origin);
  }
  absl::Status add_workload(const database::Workload& workload) override {
    return store_.add_workload(workload);
  }
  absl::StatusOr<database::InsertResult> insert(const database::Measurement& measurement,
                                                database::Origin origin) override {
    return store_.insert(measurement, origin);
  }
  void insert_async(const database::Measurement& measurement, database::Origin origin,
                    database::InsertDone done) override {
    store_.insert_async(measurement, origin, std::move(done));
  }
  absl::Status add_attempt(const database::Attempt& attempt) override { return store_.add_attempt(attempt); }
  absl::StatusOr<int64_t> count_attempts(int64_t job_id) override { return store_.count_attempts(job_id); }
  absl::StatusOr<int64_t> count_trials(int64_t job_id) override { return store_.count_trials(job_id); }
  absl::StatusOr<int64_t> add_job(const database::Job& job) override { return store_.add_job(job); }
  absl::Status update_job(const database::Job& job) override { return store_.update_job(job); }
  absl::StatusOr<database::Job> find_job(int64_t id) override { return store_.find_job(id); }
  absl::StatusOr<std::vector<database::Job>> jobs() override { return store_.jobs(); }
  absl::Status save_job_tasks(const std::vector<database::JobTask>& tasks) override {
    return store_.save_job_tasks(tasks);
  }
  absl::StatusOr<std::vector<database::JobTask>> job_tasks(int64_t job_id) override {
    return store_.job_tasks(job_id);
  }
  absl::Status save_job_network(int64_t job_id, const std::string& network) override {
    return store_.save_job_network(job_id, network);
  }
  absl::StatusOr<std::string> job_network(int64_t job_id) override { return store_.job_network(job_id); }
  absl::Status points(int64_t after_row, const database::PointVisitor& visit) override {
    return store_.points(after_row, visit);
  }
  absl::StatusOr<database::Measurement> find_row(int64_t row) override { return store_.find_row(row); }

 private:
  database::Store& store_;
};

}  // namespace tf::test
