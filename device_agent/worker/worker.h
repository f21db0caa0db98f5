#pragma once
// Owns: running one candidate kernel at a time on this machine's CPUs, in a sandboxed process, and saying how
// it ended: timings, a wrong answer, a crash. Does not know: the farm, leases, or how candidates are made.

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

// Of what a candidate prints, whatever its trial asks for: a result fits into a message together with others.
inline constexpr uint64_t kMostPrintedBytes = 64 << 10;

struct WorkerOptions {
  std::string program;         // trial_worker's path; empty: beside the running executable
  std::string device = "cpu";  // a row of sandbox/device_backends.cpp, or as "cuda:0" (gpu/device_kinds.cpp)
  SandboxPolicy sandbox;       // by default a machine that lacks a layer runs no candidates
  std::vector<int> cpus;       // CPUs that candidates are pinned to; empty: not pinned
  // Beside them: where a trial's buffers and inputs are made while the one before runs. Empty: it waits. Candidates of a driver
  // that compiles them (OpenCL's) are made ready on all CPUs, but while one is timed on these CPUs the others stand still.
  std::vector<int> spare_cpus;
  int64_t reference_timeout_ns =
      120'000'000'000;  // the reference is unoptimised: it gets its own wall-time limit
  uint64_t reference_cache_bytes = 512ull
                                   << 20;  // expected answers kept in memory, least recently used go first
  // Whatever a trial asks for: one that wants to run for longer is refused; one that wants more memory, by
  // its limit, its outputs, its threads or its reuse distance, gets so much for all of that together.
  int64_t longest_run_ns = 600'000'000'000;
  uint64_t most_memory_bytes = UINT64_MAX;
};

// A GPU that candidates run on.
struct GpuDevice {
  std::string back_end;  // "opencl", "cuda"
  std::string model, driver;
  uint64_t memory_bytes = 0;
  uint32_t capability = 0, units = 0;         // CUDA's, as 90 for 9.0; multiprocessors; 0: not told
  uint32_t clock_mhz = 0, temperature_c = 0;  // when it was last used
  bool throttled = false;
  bool is_processor = false;  // this machine's CPUs, as PoCL
};

// One slot: helper processes (zygotes) that fork a child for each trial. Thread-safe; trials of one Worker
// run one after another, because two at a time would disturb each other's timings.
class Worker {
 public:
  // Starts the helper. NOT_FOUND if the program is not there; FAILED_PRECONDITION if this machine lacks a
  // part of the sandbox that `options.sandbox` does not go without: one line that says which, and what to do.
  static absl::StatusOr<std::unique_ptr<Worker>> start(WorkerOptions options);
  virtual ~Worker() = default;  // kills what still runs

  // Runs one trial to its end, at most trial.limits.run_timeout_ns and as long for making its buffers (and
  // once a reference and seed, the same with the reference's own limit). `candidate` and `reference` are
  // serialized kernel.v1.Artifact messages; `reference` may be empty if trial.reference_digest is, and also
  // if its answers for trial.input_seed are cached (has_reference). Whatever the candidate does is a
  // TrialResult. A status means "not measured": INVALID_ARGUMENT (malformed trial, artifact or digest, or it
  // asks to run for too long), FAILED_PRECONDITION (reference unknown or failing, other ABI), UNAVAILABLE
  // (the helper died; it is restarted, try again), RESOURCE_EXHAUSTED (this machine's memory or descriptors),
  // CANCELLED (`end` came first: all that ran is killed).
  virtual absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const tunefarm::farm::v1::Trial& trial,
                                                              std::string_view candidate,
                                                              std::string_view reference,
                                                              std::stop_token end = {}) = 0;

  // How many calls of run() at a time keep it busy: while one is measured, others are made ready.
  virtual size_t trials_at_once() const = 0;

  // True if the answers of this reference for this seed are cached, so that run() does without its bytes.
  virtual bool has_reference(std::string_view reference_digest, uint64_t input_seed) const = 0;

  // New helpers for the trials from now on, in a new sandbox, once those that run have ended: no process of
  // an earlier one is left. Takes some 10 ms. Errors as start().
  virtual absl::Status renew_sandbox() = 0;

  // Ends a running run() soon, and every later one at once, with CANCELLED. Thread-safe, not undone.
  virtual void cancel() = 0;

  // The parts of the sandbox that it goes without, because it was told to or because they are missing.
  virtual CapabilitySet without_sandbox() const = 0;

  // The layers that this machine lacks beyond those that it was told to leave out, and why.
  virtual const std::vector<CapabilityState>& missing_layers() const = 0;

  // What the machine is like now.
  virtual tunefarm::farm::v1::DeviceState device_state() const = 0;

  // Highest fp32 FMA rate of one thread, or of the whole GPU, seen so far, in GFLOP/s; measured on the first use (about 30
  // ms).
  virtual absl::StatusOr<double> peak_gflops() = 0;

  // The GPU that candidates run on, once peak_gflops() has been asked; nothing: they run on CPUs.
  virtual std::optional<GpuDevice> gpu() = 0;
};

}  // namespace tf::worker
