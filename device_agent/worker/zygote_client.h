#pragma once
// Owns: the parent's end of a zygote: starting it in its sandbox and control group, sending one job at a
// time, collecting what comes back. Does not know: what the job means.

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
  sandbox::Result result;  // a copy: the child may still have changed the memory while we looked
  SharedMemory memory;     // the answers lie at their ports' result_offset; nobody writes to it any more
  std::string printed;
  int64_t ready_timeout_ns = 0;  // what it had to be ready
  // This process's clock: told to go, and the arrival of the child's marks around its timed samples (0:
  // none).
  int64_t sent_ns = 0;
  int64_t timing_started_ns = 0;
  int64_t timing_ended_ns = 0;
  // What the child had worked before it loaded the candidate; unset if it did not get there.
  std::optional<int64_t> cpu_before_loading_ns;
};

// A helper program, and what of its control group is its own, beyond a job's memory and threads: the helper, and its
// children's libraries.
struct Helper {
  std::string path;  // empty: `name` beside the running executable
  const char* name = "trial_worker";
  uint64_t own_bytes = 128 << 20;
  uint64_t own_processes = 8;
  bool has_driver = false;  // of a GPU, which sees its own environment variables
};

// Not thread-safe but for kill().
class ZygoteClient {
 public:
  // Starts the helper in a sandbox of all capabilities but `without`. NOT_FOUND, or the reason why it cannot be started. FAILED_PRECONDITION if the sandbox cannot
  // be had: then `missing` says what of it.
  static absl::StatusOr<std::unique_ptr<ZygoteClient>> start(const Helper& helper, CapabilitySet without,
                                                             std::vector<CapabilityState>* missing);
  ~ZygoteClient();

  // Has a child make ready what the job needs, without waiting for it. `result_bytes` is the size of the
  // result memory, which is a part of the job's; `at_once` is how many zygotes may do so at once, which gives each so many
  // times the job's time limit for it. UNAVAILABLE, here and below: the zygote is gone, make a new one.
  absl::Status prepare(const sandbox::Job& job, std::span<const OwnedFd> blobs, uint64_t result_bytes,
                       size_t at_once = 1);

  // Of one for GPUs, whose jobs take their time: waits until the prepared one is ready. False: it has ended before its turn, and
  // run() tells how at once.
  absl::StatusOr<bool> wait_until_ready(uint64_t output_bytes);

  // Whether the zygote has to fill memory for the job first, which is work of its own
  // (sandbox/flush_buffer.h).
  bool must_fill(const sandbox::Job& job) const { return job.reuse_distance_bytes > flush_bytes_; }

  // Runs the prepared job on these CPUs, to its end or its deadline. At most `output_bytes` of what the child
  // prints are kept.
  absl::StatusOr<ChildRun> run(const sandbox::CpuSet& cpus, uint64_t output_bytes);

  // Of one for GPUs, while no job has its turn: has its processes stop where they are, or go on. Whether they
  // have: it waits a second for them. In pairs. Thread-safe.
  bool pause(bool on);

  // Kills the zygote and with it its child: a running run() returns UNAVAILABLE. Thread-safe.
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
  uint64_t flush_bytes_ = 0;                                         // the most that it was asked for
  std::atomic<int64_t> paused_before_ns_ = 0, paused_since_ns_ = 0;  // the latter 0: it is not paused
  Prepared prepared_;
};

}  // namespace tf::worker
