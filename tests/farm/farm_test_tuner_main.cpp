// A tuner of made-up candidates: farm_test_tuner HOST:PORT KEY COUNT DATABASE [TERM_SECONDS]
// Measures candidates 0 … COUNT-1 from two threads, stores each result before it acknowledges it, and begins
// with what the database lacks. Exit codes: 0 all stored, 1 failed, 2 usage, 3 no such device.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/testing/event_log.h"
#include "database/sqlite/sqlite_store.h"
#include "proto/farm/v1/trial.pb.h"
#include "rpc/daemon/daemon_environment.h"
#include "tests/farm/harness.h"
#include "tests/farm/stored_candidates.h"

namespace {

namespace farm_test = tf::farm_test;
using tf::measure::FarmRunner;
using tunefarm::farm::v1::TrialResult;

class Job {
 public:
  Job(FarmRunner& runner, tf::database::Store& store, int count)
      : runner_(runner), store_(store), count_(count) {}

  absl::Status run() {
    TF_RETURN_IF_ERROR(store_.add_workload(farm_test::made_up_workload()));
    std::thread other([this] { work(); });
    work();
    other.join();
    return failed_;
  }

 private:
  void work() {
    for (int i = next_++; i < count_; i = next_++) {
      const absl::Status status = settle(i);
      const std::scoped_lock lock(mutex_);
      failed_.Update(status);
      if (!failed_.ok()) return;
    }
  }

  // Until the candidate's result is stored, under this run or an earlier one.
  absl::Status settle(int i) {
    const std::string name = farm_test::candidate_name(i);
    tf::log_event("candidate_proposed", {{"candidate", name}});
    TF_ASSIGN_OR_RETURN(bool stored, store_.is_measured(farm_test::made_up_problem(), name));
    while (!stored) {
      const tunefarm::farm::v1::Trial trial;
      const absl::StatusOr<TrialResult> result =
          runner_.run(farm_test::request(trial, farm_test::candidate_bytes(i)));
      if (absl::IsUnavailable(result.status()))
        continue;  // could not be measured: no word about the candidate
      TF_RETURN_IF_ERROR(result.status());
      TF_ASSIGN_OR_RETURN(stored, keep(name, *result));
    }
    tf::log_event("candidate_ended", {{"candidate", name}, {"outcome", "ok"}});
    return absl::OkStatus();
  }

  // False: fenced off, measure again.
  absl::StatusOr<bool> keep(const std::string& name, const TrialResult& result) {
    const auto inserted = store_.insert(farm_test::measurement_of(name, result));
    if (absl::IsAborted(inserted.status())) return false;
    TF_RETURN_IF_ERROR(inserted.status());
    tf::log_event("result_durable", {{"candidate", name},
                                     {"lease", result.lease_id()},
                                     {"epoch", result.epoch()},
                                     {"sequence", result.sequence()}});
    TF_RETURN_IF_ERROR(tell_best());
    runner_.acknowledge(result);
    return true;
  }

  absl::Status tell_best() {
    const std::scoped_lock lock(mutex_);  // the order of the log is that of the questions
    TF_ASSIGN_OR_RETURN(const auto best, store_.best({farm_test::made_up_problem()}));
    if (best) {
      tf::log_event("best_changed",
                    {{"candidate", "task"}, {"ns", static_cast<uint64_t>(best->median_ns().value_or(0))}});
    }
    return absl::OkStatus();
  }

  FarmRunner& runner_;
  tf::database::Store& store_;
  const int count_;
  std::atomic<int> next_ = 0;
  std::mutex mutex_;
  absl::Status failed_;
};

absl::Status tune(int argc, char** argv) {
  TF_RETURN_IF_ERROR(tf::rpc::obey_test_environment("tuner"));
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint tracker, tf::rpc::parse_endpoint(argv[1]));
  TF_ASSIGN_OR_RETURN(const auto store, tf::database::open_sqlite_store(argv[4]));
  TF_ASSIGN_OR_RETURN(const auto runner,
                      FarmRunner::connect({.tracker = tracker,
                                           .device_key = argv[2],
                                           .holder = "test tuner",
                                           .first_wait = absl::Seconds(20),
                                           .term = absl::Seconds(argc > 5 ? std::atoi(argv[5]) : 6)}));
  return Job(*runner, *store, std::atoi(argv[3])).run();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const absl::Status status = tune(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "farm_test_tuner: %s\n", status.ToString().c_str());
  return absl::IsNotFound(status) ? 3 : 1;
}
