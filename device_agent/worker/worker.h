#pragma once
// Owns: running candidate kernels one at a time in a sandboxed process, and reporting the outcome: timings, a
// wrong answer, a crash. Does not know: the farm, leases, or how candidates are made.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "device_agent/worker/sandbox_capabilities.h"

namespace tunefarm::farm::v1 {
class Trial;
class TrialResult;
class DeviceState;
}  // namespace tunefarm::farm::v1

namespace tf::worker {

// The most printed text that is kept of a candidate, so that a result fits into a message together with
// others.
inline constexpr uint64_t kMostPrintedBytes = 64 << 10;

struct WorkerOptions {
  std::string program;         // trial_worker's path; empty: beside the running executable
  std::string device = "cpu";  // a row of sandbox/device_backends.cpp, or as "cuda:0" (gpu/device_kinds.cpp)
  SandboxPolicy sandbox;       // by default a machine that lacks a layer runs no candidates
  std::vector<int> cpus;       // CPUs that candidates are pinned to; empty: not pinned
  // Additional CPUs on which the next trial's buffers and inputs are prepared while a trial runs. Empty: the
  // next trial waits. If the driver compiles candidates (OpenCL), they are prepared on all CPUs. While one is
  // timed on these CPUs, the others are paused.
  std::vector<int> spare_cpus;
  int64_t reference_timeout_ns =
      120'000'000'000;  // the reference is unoptimised, so it has a separate wall-time limit
  uint64_t reference_cache_bytes =
      512ull << 20;  // expected answers kept in memory (least recently used are evicted)
  // Limits for all trials. A trial that requests a longer run is rejected. A trial that requests more memory,
  // for its limit, its outputs, its threads and its reuse distance together, gets this much.
  int64_t longest_run_ns = 600'000'000'000;
  uint64_t most_memory_bytes = UINT64_MAX;
};

// A GPU that candidates run on.
struct GpuDevice {
  std::string back_end;  // "opencl", "cuda"
  std::string model, driver;
  uint64_t memory_bytes = 0;
  uint32_t capability = 0, units = 0;         // CUDA's: 90 for 9.0; multiprocessors; 0: unknown
  uint32_t clock_mhz = 0, temperature_c = 0;  // when it was last used
  bool throttled = false;
  bool is_processor = false;  // the device is this machine's CPUs (PoCL)
};

// One slot: helper processes (zygotes) that fork a child for each trial. Thread-safe. The trials of a Worker
// run one after another, because parallel trials would disturb each other's timings.
class Worker {
 public:
  // Starts the helper. NOT_FOUND if the program does not exist. FAILED_PRECONDITION if this machine lacks a
  // layer of the sandbox that `options.sandbox` requires: one line that names the layer and the remedy.
  static absl::StatusOr<std::unique_ptr<Worker>> start(WorkerOptions options);
  virtual ~Worker() = default;  // kills running trials

  // Runs one trial to its end. Preparing its buffers and running it may each take
  // trial.limits.run_timeout_ns. A reference also runs, once per seed, with its own limit. `candidate` and
  // `reference` are serialized kernel.v1.Artifact messages. `reference` may be empty if
  // trial.reference_digest is empty, or if its answers for trial.input_seed are cached (has_reference). Every
  // outcome that the candidate causes is a TrialResult. An error status means "not measured":
  // - INVALID_ARGUMENT: malformed trial, artifact or digest, or a run time above the limit;
  // - FAILED_PRECONDITION: the reference is unknown or fails, or another ABI;
  // - UNAVAILABLE: the helper died and is restarted; try again;
  // - RESOURCE_EXHAUSTED: this machine is out of memory or descriptors;
  // - CANCELLED: `end` was requested; all processes of the trial are killed.
  virtual absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const tunefarm::farm::v1::Trial& trial,
                                                              std::string_view candidate,
                                                              std::string_view reference,
                                                              std::stop_token end = {}) = 0;

  // The number of concurrent calls of run() that keep the worker busy: while one trial is measured, others
  // are prepared.
  virtual size_t trials_at_once() const = 0;

  // True if the answers of this reference for this seed are cached. run() then does not need its bytes.
  virtual bool has_reference(std::string_view reference_digest, uint64_t input_seed) const = 0;

  // Waits for running trials, then starts new helpers in a new sandbox. No process of an earlier trial
  // remains. Takes about 10 ms. Errors as start().
  virtual absl::Status renew_sandbox() = 0;

  // Ends running and all later calls of run() with CANCELLED. Thread-safe; cannot be undone.
  virtual void cancel() = 0;

  // The layers of the sandbox that are not used, because they are disabled or missing.
  virtual CapabilitySet without_sandbox() const = 0;

  // The layers that this machine lacks, except those that are disabled, with reasons.
  virtual const std::vector<CapabilityState>& missing_layers() const = 0;

  // The current state of the machine.
  virtual tunefarm::farm::v1::DeviceState device_state() const = 0;

  // The highest fp32 FMA rate so far, of one thread or of the whole GPU, in GFLOP/s. The first call measures
  // it (about 30 ms).
  virtual absl::StatusOr<double> peak_gflops() = 0;

  // The GPU that candidates run on, after the first peak_gflops(). Empty if they run on CPUs.
  virtual std::optional<GpuDevice> gpu() = 0;
};

}  // namespace tf::worker
