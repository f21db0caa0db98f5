#pragma once
// Owns: what passes between a Worker, its zygote and a sandboxed child: plain structs in sealed or shared
// memory and one datagram each way. No protobuf: the zygote stays small, so that a fork costs little. Both
// sides are the same build, so there is no versioning; the child's half (Result) is never trusted.

#include <cstdint>

#include "compiler/runtime/layout.h"

namespace tf::worker::sandbox {

constexpr uint32_t kMaxPorts = 64;
constexpr uint32_t kMaxDims = 32;
constexpr uint32_t kMaxLaunches = 16;
constexpr uint32_t kMaxTensorMaps = 4, kMaxTensorAxes = 5;
constexpr uint32_t kMaxBlobs = 4;
constexpr uint32_t kMaxMaps = 2;
constexpr uint32_t kMaxMapElems = 64;
constexpr uint32_t kMaxEntryChars = 192;
constexpr uint32_t kMaxSamples = 1000;
constexpr uint32_t kMaxDeviceChars = 16;
constexpr uint32_t kDetailChars = 256;
constexpr uint32_t kCpuWords = 16;  // 1024 CPUs

// The memory of a thread beyond its job's buffers: its stack, and per-thread data of libraries.
constexpr uint64_t kThreadBytes = 16 << 20;

struct CpuSet {
  uint64_t words[kCpuWords];
};

enum class JobKind : uint32_t {
  kTrial,      // run, warm up, time
  kReference,  // run once
  kPeak,       // measure the FMA rate; no candidate
};

enum class Role : uint32_t { kInput = 1, kConstant = 2, kOutput = 3 };  // as in kernel.proto

// A linear map of a constant along one axis: compiler/runtime/axis_map.h.
struct MapJob {
  int32_t axis;
  int64_t rows;
  double matrix[kMaxMapElems];
};

struct PortJob {
  Role role;
  int32_t element;         // TF_ELEMENT_*
  int32_t element_bytes;   // 1, 2, 4 or 8
  int32_t stored_element;  // the type in memory: f16 or bf16 for some constants of f32
  int32_t stored_bytes;
  int32_t rank;
  int64_t extents[TF_LAYOUT_MAX_RANK];
  tf_layout layout;
  uint32_t row_major;  // 1: the layout is the identity
  uint32_t map_count;
  MapJob maps[kMaxMaps];
  uint32_t sum_axes;  // if not 0: the port is the sums along these axes (bits) of the port `summed`
  uint32_t summed;
  uint64_t size_bytes;
  uint64_t logical_bytes;
  double low, high;  // inputs and constants
  uint64_t
      result_offset;  // outputs: offset of the first answer in the result memory; the last one follows it
};

// As kernel.v1.TensorMap.
struct TensorMapJob {
  uint32_t buffer, element_bytes, rank;
  uint64_t extents[kMaxTensorAxes];
  uint32_t box[kMaxTensorAxes];
};

struct LaunchJob {
  char entry[kMaxEntryChars];
  uint32_t blob;
  int64_t grid[3], block[3];  // x, y, z; all 0: a plain call on the host
  int64_t shared_bytes;
  uint32_t map_count;
  TensorMapJob maps[kMaxTensorMaps];
};

// At the start of a sealed memory file.
struct Job {
  char device[kMaxDeviceChars];  // the kind of device that runs it
  JobKind kind;
  uint32_t threads;
  uint64_t seed;
  uint32_t samples;
  uint32_t rotate;  // 1: buffers rotate beyond L2
  int64_t min_sample_ns;
  int64_t warmup_ns;
  int64_t stop_if_slower_than_ns;  // 0: never
  double noise;
  int64_t enough_ns;  // 0: all samples
  int64_t timeout_ns;
  uint64_t memory_bytes;
  uint64_t rotate_bytes;          // target size of all rotating sets
  uint64_t reuse_distance_bytes;  // if not 0: bytes that are read before the same constants are read again
  uint64_t workspace_bytes;
  uint32_t abi_version;
  CpuSet ready_cpus;   // for its preparation, before its turn; none: any CPU
  CpuSet device_cpus;  // for a GPU's driver, during its turn; none: any CPU
  uint32_t port_count, dim_count, launch_count, blob_count;
  int32_t blob_kinds[kMaxBlobs];  // kernel.v1.BlobKind
  int64_t dims[kMaxDims];
  LaunchJob launches[kMaxLaunches];
  PortJob ports[kMaxPorts];
};

enum class ChildEnd : uint32_t {
  kRunning = 0,  // died before it could report its end
  kDone = 1,
  kStoppedEarly = 2,
  kBuffersDoNotFit = 3,
  kCannotLoad = 4,
  kKernelError = 5,    // a launch returned `kernel_error`
  kWroteOutside = 6,   // a canary or an input changed
  kCannotMeasure = 7,  // no thread, no signal stack: not the candidate's fault
  kOtherDevice = 8,    // the artifact is not for this device; nothing of it was loaded
  kDeviceFailed = 9,   // a GPU reports that its kernel faulted
};

struct SampleResult {
  int64_t total_ns;
  uint32_t iterations;
};

// Properties and state of a GPU. Its name is the result's detail.
struct GpuResult {
  char driver[40];  // its version
  uint64_t memory_bytes;
  uint32_t capability, units;         // CUDA's: 90 for 9.0; multiprocessors; 0: unknown
  uint8_t is_processor;               // 1: the device is this machine's CPUs
  uint8_t has_state;                  // 1: the next fields were read after the trial; 0: its runner had ended
  uint8_t throttled;                  // 1: by heat or a failing power supply, not by the power limit
  uint32_t clock_mhz, temperature_c;  // 0: unknown
};

// At the start of the shared result memory; answers follow at PortJob.result_offset.
struct Result {
  ChildEnd end;
  int32_t kernel_error;
  uint32_t sample_count;
  uint32_t timed;                // 1: the answers of the timed runs are present, too
  uint32_t disturbed;            // 1: the samples include time in which others had the processor
  uint64_t limit_address_bytes;  // the address-space limit, and the size before the first run and at the
                                 // fatal signal
  uint64_t start_address_bytes;
  uint64_t fault_address_bytes;
  double peak_gflops;
  char detail[kDetailChars];
  SampleResult samples[kMaxSamples];
  GpuResult gpu;  // kPeak on a GPU sets all fields; a trial on a GPU sets the state
};

// Descriptors that travel with a request, in this order; the blobs follow.
enum : uint32_t { kJobFd, kResultFd, kPrintFd, kStatusFd, kFirstBlobFd, kMaxFds = kFirstBlobFd + kMaxBlobs };

// Written to the status pipe around the timed samples. The parent reads its own clock when they arrive.
constexpr char kTimingStarts = 'B', kTimingEnds = 'E';
// The first message in the status pipe, sent before any code of the candidate is in the process. `cpu_ns` is
// the process's processor time until then. The candidate cannot remove it from the pipe.
struct Loading {
  int64_t cpu_ns;
};

// Makes a child prepare a job: limits, buffers, inputs. Does not touch the candidate.
struct Request {
  uint64_t id;
  int64_t ready_timeout_ns;  // for the preparation
  int64_t timeout_ns;        // for the run, from its turn on
  uint64_t flush_bytes;      // that the child may read (flush_buffer.h)
};

// The turn of the child of that request, as soon as it is ready. Only then does it move to these CPUs and
// load the candidate.
struct Go {
  uint64_t id;
  CpuSet cpus;  // none: any CPU
};
static_assert(sizeof(Go) != sizeof(Request), "a zygote tells them apart by their sizes");

// From a supervisor of GPU runners: the job waits for its turn. A job that ends earlier gets its Reply at
// once, and no turn.
struct Ready {
  uint64_t id;
};

// To such a supervisor, on a separate socket, and never during its job's turn: its runners stop, which it
// acknowledges with a Pause, or continue. The messages always come in pairs.
struct Pause {
  uint64_t on;
};

struct Reply {
  uint64_t id;
  int32_t wait_status;  // as from waitpid; meaningless if fork_error
  int32_t fork_error;   // errno
  uint32_t timed_out;
  int64_t max_resident_bytes;  // without the inherited flush buffer
  int64_t cpu_ns;              // processor time of the child and its threads, by the system's accounting
};
static_assert(sizeof(Reply) != sizeof(Ready), "a worker tells them apart by their sizes");

}  // namespace tf::worker::sandbox
