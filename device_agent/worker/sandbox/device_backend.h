#pragma once
// Owns: the interface between the harness of a trial and a device: facts, load, run, time. It is called in
// the sandboxed child. Does not know: any device, what is measured or why.

#include <cstdint>

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// The memory that one run of a job's launches reads and writes.
struct RunBuffers {
  void* const* ports;  // in the job's order
  const uint64_t* sizes_bytes;
  void* workspace;  // null: the job has none
};

// Sets of ports that the runs rotate through. The pointers of set s start at ports[s * port_count].
struct RunSets {
  void* const* ports;
  uint32_t port_count, set_count;
  uint32_t next = 0;  // the set of the next run
};

// 0, or the error that a launch returned.
struct RunEnd {
  int32_t error = 0;
  uint32_t launch = 0;
};

struct TimedRuns {
  RunEnd end;
  int64_t total_ns = 0;  // the sum of all runs
};

// A device that runs one job. Methods that can fail write a line into `detail` (kDetailChars) and return
// false.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;

  // The highest fp32 FMA rate of one thread, in GFLOP/s, measured within about `budget_ns`.
  virtual double peak_gflops(int64_t budget_ns) = 0;

  // Creates the resources that the candidate needs (threads, a context), while system calls are still
  // allowed. The candidate is not loaded yet. False: this device cannot measure now.
  virtual bool open(const Job& job, char* detail) = 0;

  // Loads the blobs, whose descriptors are in the job's order, and looks up the entry points of the launches.
  virtual bool load(const Job& job, const int* blob_fds, char* detail) = 0;

  // All launches once, in order.
  virtual RunEnd run(const RunBuffers& buffers) = 0;

  // Runs `runs` times on the next sets, in rotation, until the first error. The other fields of `buffers`
  // apply to every set.
  virtual TimedRuns time(RunSets& sets, const RunBuffers& buffers, uint32_t runs) = 0;
};

// A row of the table: a kind of device and the blobs that it loads.
struct DeviceKind {
  const char* name;          // Job.device
  int32_t blob_kind;         // kernel.v1.BlobKind
  DeviceBackend* (*make)();  // called once per process; never freed
};

}  // namespace tf::worker::sandbox
