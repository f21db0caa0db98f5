#pragma once
// Owns: filling pools: building what runs propose, and measuring it with all samples, in turns, so that
// nothing disturbs a measurement. Does not know: strategies, what is made of the records.

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "database/store.h"
#include "tests/bench/search/replay/pool.h"
#include "tests/bench/search/replay/run_set.h"
#include "tuner/measure/local_runner.h"
#include "tuner/measure/pool_builder.h"

namespace tf::replay {

// What the machine is, for people who read figures.
struct Machine {
  std::string model;
  double peak_gflops = 0;  // of one thread; 0: not known
};

class Recorder {
 public:
  // `stop` ends recording at the next candidate. Errors: the runner's, the build workers'.
  static absl::StatusOr<Recorder> start(int threads, const std::atomic<bool>& stop,
                                        std::chrono::steady_clock::time_point deadline);

  Machine machine();
  // CPUs that search, while nothing is measured.
  int search_threads() const;

  // Runs until every run of the set is finished, time is up, or it is stopped; whatever was measured by then
  // is in the store and in the pool. `trials_left_elsewhere` is for the estimate of the time left only.
  // Errors: the store's; a device or a build worker that gave nothing after three tries.
  absl::Status record(RunSet& runs, const BenchTask& task, const std::string& target, database::Store& store,
                      Pool& pool, int64_t trials_left_elsewhere);

  bool is_over() const { return stop_ || std::chrono::steady_clock::now() >= deadline_; }
  int64_t measured() const { return measured_; }

 private:
  Recorder(const std::atomic<bool>& stop, std::chrono::steady_clock::time_point deadline)
      : stop_(stop), deadline_(deadline), started_(std::chrono::steady_clock::now()) {}
  absl::Status measure_all(std::span<const Wanted> wanted, const BenchTask& task, const std::string& target,
                           database::Store& store, Pool& pool);
  void show(const RunSet& runs, const BenchTask& task, int64_t trials_left);

  const std::atomic<bool>& stop_;
  std::chrono::steady_clock::time_point deadline_, started_, shown_{};
  int threads_ = 1;
  std::unique_ptr<measure::LocalRunner> runner_;
  std::unique_ptr<measure::PoolBuilder> builder_;
  std::string reference_of_;  // the task whose reference is built
  measure::ArtifactBytes reference_;
  int64_t measured_ = 0;
};

}  // namespace tf::replay
