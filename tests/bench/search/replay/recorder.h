#pragma once
// Owns: filling pools: building what runs propose, and measuring it, replicate by replicate, in turns, so
// that nothing disturbs a measurement. Does not know: strategies, what is made of the records.

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/build_pool.h"
#include "database/store.h"
#include "tests/bench/search/replay/calm.h"
#include "tests/bench/search/replay/pool.h"
#include "tests/bench/search/replay/run_set.h"
#include "tuner/measure/local_runner.h"

namespace tunefarm::farm::v1 {
class Trial;
}

namespace tf::replay {

// What the machine is, for people who read figures.
struct Machine {
  std::string model, fingerprint;
  double peak_gflops = 0;  // of one thread; 0: not known
};
// Of all that is recorded, as a session here records it.
inline constexpr char kDeviceClass[] = "local";

// One task's pool, as a file and in memory.
struct Recording {
  const BenchTask& task;
  const std::string& target;
  database::Store& store;
  Pool& pool;
  int64_t left_elsewhere = 0;  // replicates at most, of other tasks: for the estimate of the time left only
};

class Recorder {
 public:
  // `stop` ends recording at the next candidate. Errors: the runner's, the build workers'.
  static absl::StatusOr<Recorder> start(int threads, const worker::SandboxPolicy& sandbox,
                                        const std::atomic<bool>& stop,
                                        std::chrono::steady_clock::time_point deadline);

  Machine machine();
  // What the machine reaches, for the roofline model: as the store has it, or else measured and recorded now
  // (tuner/session/calibrate/calibration.h). Errors: the store's.
  absl::StatusOr<model::MeasuredRates> measure_rates(database::Store& store, const target::Target& target);
  // CPUs that search, while nothing is measured.
  int search_threads() const;

  // Makes the first replicate of what the set's runs propose, until every run is finished, time is up, or it
  // is stopped; whatever was measured by then is in the store and in the pool. Errors: the store's; a device
  // or a build worker that gave nothing after three tries.
  absl::Status record(RunSet& runs, const Recording& recording);
  // Makes replicate number `replicate` (the second is 2) of all candidates that have one fewer and are not
  // hopeless, in random order, likewise.
  absl::Status revisit(size_t replicate, const Recording& recording);

  bool is_over() const { return stop_ || std::chrono::steady_clock::now() >= deadline_; }
  int64_t measured() const { return measured_; }

 private:
  Recorder(const std::atomic<bool>& stop, std::chrono::steady_clock::time_point deadline)
      : stop_(stop), deadline_(deadline), started_(std::chrono::steady_clock::now()) {}
  struct Built;  // a candidate, compiled
  // Of one task, by schedule: later replicates do not build again.
  struct BuiltTask {
    measure::ArtifactBytes reference;
    std::map<std::string, std::shared_ptr<const Built>> candidates;
    // What is measured again and again, to see whether others are at work; it is recorded as any other, once.
    struct Anchor {
      Wanted wanted;
      std::shared_ptr<const Built> candidate;  // null: none yet
      Calm calm;
    } anchor;
  };
  absl::StatusOr<BuiltTask*> built_task(const Recording& recording);
  absl::Status build_missing(std::span<const Wanted> wanted, const Recording& recording, BuiltTask& built);
  absl::StatusOr<database::Measurement> replicate(const Wanted& wanted, const Built& candidate,
                                                  const measure::ArtifactBytes& reference,
                                                  const tunefarm::farm::v1::Trial& trial);
  absl::Status run_all(std::span<const Wanted> wanted, const Recording& recording, bool is_first);
  absl::StatusOr<std::vector<database::Measurement>> run_stretch(std::span<const Wanted> wanted,
                                                                 const BuiltTask& built,
                                                                 const tunefarm::farm::v1::Trial& trial);
  static void choose_anchor(BuiltTask& built, std::span<const Wanted> wanted,
                            std::span<const database::Measurement> records);
  absl::StatusOr<bool> look(BuiltTask& built, const tunefarm::farm::v1::Trial& trial);
  void show(const std::string& what, const Recording& recording, int64_t left);

  const std::atomic<bool>& stop_;
  std::chrono::steady_clock::time_point deadline_, started_, shown_{};
  int threads_ = 1;
  std::unique_ptr<measure::LocalRunner> runner_;
  std::unique_ptr<driver::BuildPool> builder_;
  std::map<std::string, BuiltTask> built_;  // by the task's label
  size_t built_bytes_ = 0;
  std::chrono::steady_clock::duration building_{}, measuring_{};  // in all
  int64_t measured_ = 0;
  int64_t disturbed_ = 0;  // stretches that were measured again
};

}  // namespace tf::replay
