#pragma once
// Owns: the parent's connection to a zygote: starting it in its sandbox and control group, sending one job at
// a time, collecting the result. Does not know: what the job means.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "device_agent/worker/cgroup.h"
#include "device_agent/worker/memory_file.h"
#include "device_agent/worker/sandbox/job.h"
#include "device_agent/worker/sandbox_capabilities.h"

namespace tf::worker {

struct ChildRun {
  sandbox::Reply reply;
  sandbox::Result result;  // a copy, because the child could still change the shared memory
  SharedMemory memory;     // the answers are at their ports' result_offset; no process writes to it any more
  std::string printed;
  int64_t ready_timeout_ns = 0;  // the time limit of its preparation
  // By this process's clock: when the child's turn began, and when the marks around its timed samples arrived
  // (0: none).
  int64_t sent_ns = 0;
  int64_t timing_started_ns = 0;
  int64_t timing_ended_ns = 0;
  // The child's processor time before it loaded the candidate; unset if it did not get that far.
  std::optional<int64_t> cpu_before_loading_ns;
};

// A helper program, and the overhead of its control group beyond a job's memory and threads: the helper
// itself, and the libraries of its children.
struct Helper {
  std::string path;  // empty: `name` beside the running executable
  const char* name = "trial_worker";
  uint64_t own_bytes = 128 << 20;
  uint64_t own_processes = 8;
  bool has_driver = false;  // it opens a GPU's driver, so it gets the driver's environment variables
};

// Not thread-safe, except kill() and pause().
class ZygoteClient {
 public:
  // Starts the helper in a sandbox with all capabilities except `without`. NOT_FOUND if the program does not
  // exist, or the reason why it cannot be started. FAILED_PRECONDITION if the sandbox cannot be created:
  // `missing` lists the missing capabilities.
  static absl::StatusOr<std::unique_ptr<ZygoteClient>> start(const Helper& helper, CapabilitySet without,
                                                             std::vector<CapabilityState>* missing);
  ~ZygoteClient();

  // Makes a child prepare the job, and does not wait for it. `result_bytes` is the size of the result memory,
  // which is part of the job's memory. `at_once` is the number of zygotes that may prepare jobs in parallel;
  // the time limit of the preparation is that many times the job's. UNAVAILABLE, here and below: the zygote
  // is gone; start a new one.
  absl::Status prepare(const sandbox::Job& job, std::span<const OwnedFd> blobs, uint64_t result_bytes,
                       size_t at_once = 1);

  // For a GPU's helper, whose jobs take long to prepare: waits until the prepared job is ready. False: it
  // ended before its turn, and run() returns immediately.
  absl::StatusOr<bool> wait_until_ready(uint64_t output_bytes);

  // Whether the zygote must first fill flush buffers for the job, which takes time (sandbox/flush_buffer.h).
  bool must_fill(const sandbox::Job& job) const { return job.reuse_distance_bytes > flush_bytes_; }

  // Runs the prepared job on these CPUs, to its end or its deadline. Keeps at most `output_bytes` of the
  // child's output.
  absl::StatusOr<ChildRun> run(const sandbox::CpuSet& cpus, uint64_t output_bytes);

  // For a GPU's helper, while none of its jobs has a turn: stops its processes, or lets them continue.
  // Returns whether they did, after at most one second. Call it in pairs. Thread-safe.
  bool pause(bool on);

  // Kills the zygote and its child. A running run() returns UNAVAILABLE. Thread-safe.
  void kill();

 private:
  struct Ends {
    OwnedFd requests, pauses;
  };
  ZygoteClient(const Helper& helper, Ends ends, pid_t pid, Cgroup cgroup)
      : helper_(helper),
        cgroup_(std::move(cgroup)),
        socket_(std::move(ends.requests)),
        pauses_(std::move(ends.pauses)),
        pid_(pid) {}
  struct Prepared {
    sandbox::Request request = {};
    ChildRun run;
    OwnedFd print, status;
    bool has_ended = false;
  };

  absl::Status enter_sandbox(CapabilitySet without, std::vector<CapabilityState>* missing);
  void bound(const sandbox::Job& job);
  absl::Status send(const sandbox::Request& request, std::span<const int> fds);
  int64_t paused_ns() const;
  absl::Status collect(Prepared& prepared, uint64_t output_bytes, int64_t limit_ns);
  absl::Status gone();

  const Helper helper_;
  Cgroup cgroup_;  // outlives what is in it
  OwnedFd socket_, pauses_;
  std::mutex pid_mutex_;
  pid_t pid_;  // 0 once reaped
  uint64_t next_id_ = 1;
  uint64_t flush_bytes_ = 0;                                         // the maximum requested so far
  std::atomic<int64_t> paused_before_ns_ = 0, paused_since_ns_ = 0;  // the latter 0: it is not paused
  Prepared prepared_;
};

}  // namespace tf::worker
