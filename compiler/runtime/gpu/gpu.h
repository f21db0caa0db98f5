#pragma once
// Owns: the common interface to GPU drivers: memory, programs, launches, times. Drivers are loaded at run
// time; nothing is linked to them. Does not know: models, trials.

#include <stdint.h>

namespace tf::gpu {

constexpr int kErrorChars = 1024;  // of each `error` below: one zero-terminated line, cut if longer

struct Device;   // one device with its own queue; use it from one thread at a time
struct Program;  // compiled code on a device
struct Kernel;   // an entry of a program
struct Memory;   // an allocation on a device
struct Graph;    // a sequence of launches that the device executes without the host

struct Facts {
  char name[128];
  char driver[128];  // its version
  uint64_t memory_bytes;
  uint64_t cache_bytes;      // of the last-level cache; 0: unknown
  uint64_t shared_bytes;     // the maximum of a block
  uint32_t units;            // multiprocessors, compute units
  uint32_t block_threads;    // the maximum of a block
  uint32_t alignment_bytes;  // of parts of Memory that are arguments
  bool doubles;              // f64 is supported
  bool shares_host_memory;
  bool compiles_at_launch;  // the first launch of a kernel compiles it
  uint32_t capability;      // CUDA's: 90 for 9.0. 0: unknown, here and in the next fields
  uint32_t clock_khz, memory_clock_khz, memory_bus_bits;
  char bus_id[32];  // of PCI; empty: unknown
};

// A part of an allocation that a kernel gets as a pointer.
struct Argument {
  Memory* memory;
  uint64_t offset_bytes;  // a multiple of Facts::alignment_bytes
  uint64_t size_bytes;
};

// A CUDA tensor map: a row-major tensor in an argument, and the box of it that the copy engine copies at
// once, into swizzled lines of 128 bytes. A box has at most kMostOfBox elements along an axis. Axes are
// ordered from outermost to innermost.
constexpr uint32_t kMostTensorAxes = 5, kMostOfBox = 256;
struct TensorMap {
  uint32_t argument;
  uint32_t element_bytes;  // 1, 2, 4 or 8
  uint32_t rank;
  uint64_t extents[kMostTensorAxes];
  uint32_t box[kMostTensorAxes];
};

// Whether CUDA makes such a map, but for where it lies: lines begin at multiples of 16 bytes, of a box they have multiples of 16
// bytes and at most the 128 of the swizzle.
inline bool is_tensor_map(const TensorMap& map) {
  constexpr uint64_t kMostExtent = uint64_t{1} << 32, kMostStride = uint64_t{1} << 40;
  if (map.rank < 1 || map.rank > kMostTensorAxes || map.element_bytes < 1 || map.element_bytes > 8 ||
      (map.element_bytes & (map.element_bytes - 1)) != 0)
    return false;
  uint64_t bytes = map.element_bytes;
  for (uint32_t axis = map.rank; axis-- > 0;) {
    if (map.box[axis] < 1 || map.box[axis] > kMostOfBox || map.extents[axis] < 1 ||
        map.extents[axis] > kMostExtent || map.extents[axis] > kMostStride / bytes)
      return false;
    bytes *= map.extents[axis];
    if (axis > 0 && (bytes % 16 != 0 || bytes >= kMostStride)) return false;
  }
  const uint64_t line = uint64_t{map.box[map.rank - 1]} * map.element_bytes;
  return line % 16 == 0 && line <= 128;
}

struct LaunchSize {
  uint64_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
};

// A launch in a graph: the kernel, with the arguments that are bound when the graph is made.
struct GraphLaunch {
  Kernel* kernel;
  LaunchSize size;
};

// A kind of driver. Calls that can fail write a line into `error` and return null or false. If `is_lost` is
// true after a failure, this process cannot use the device any more.
struct Driver {
  const char* name;  // "opencl", "cuda"

  // The number of devices; -1: there is no driver, and `error` says what is missing.
  int (*count)(char* error);
  Device* (*open)(int index, char* error);
  // Opens the device of the caller's context and queue, and ignores the index. The queue must be in order,
  // and both must outlive the device. Null context: as open().
  Device* (*open_in)(int index, void* context, void* queue, char* error);
  // The index, context and queue of the device.
  void (*handles)(const Device* device, int* index, void** context, void** queue);
  void (*close)(Device* device);
  void (*facts)(Device* device, Facts* facts);
  bool (*is_lost)(const Device* device);

  // Compiles or loads code for the device. The code is a blob of a kind that this driver supports
  // (kernel.v1.BlobKind): OpenCL C, or a cubin or PTX.
  Program* (*load)(Device* device, const void* code, uint64_t size_bytes, char* error);
  void (*unload)(Program* program);
  // The kernel belongs to the program and is freed with it.
  Kernel* (*find)(Program* program, const char* entry, char* error);

  Memory* (*allocate)(Device* device, uint64_t size_bytes, char* error);  // at least 1 byte; not initialised
  // Wraps the caller's memory in the device's context: a cl_mem or a CUdeviceptr. `free` does not free the
  // handle.
  Memory* (*wrap)(Device* device, void* handle, uint64_t size_bytes, char* error);
  void (*free)(Memory* memory);
  // Both wait for earlier launches and for the copy.
  bool (*upload)(Memory* to, uint64_t offset_bytes, const void* from, uint64_t size_bytes, char* error);
  bool (*download)(void* to, const Memory* from, uint64_t offset_bytes, uint64_t size_bytes, char* error);
  // Sets size_bytes bytes from the offset on.
  bool (*fill)(Memory* to, uint64_t offset_bytes, uint8_t value, uint64_t size_bytes, char* error);

  // Binds the kernel's parameters: pointers, then dims. They remain bound until the next call.
  bool (*bind)(Kernel* kernel, const Argument* arguments, uint32_t count, const int64_t* dims,
               uint32_t dim_count, char* error);
  // Binds tensor maps of the bound arguments, as parameters after those. Call it after each bind. Null: not
  // supported.
  bool (*map)(Kernel* kernel, const TensorMap* maps, uint32_t count, char* error);
  // Launches the kernel after all earlier launches. Does not wait.
  bool (*launch)(Kernel* kernel, const LaunchSize& size, char* error);
  // Waits for all launches.
  bool (*finish)(Device* device, char* error);
  // Time the launches between the two calls by the device's clock, in ns. end_time waits for these launches.
  bool (*begin_time)(Device* device, char* error);
  bool (*end_time)(Device* device, int64_t* total_ns, char* error);

  // Null: not supported. The kernels' program must outlive the graph.
  Graph* (*make_graph)(Device* device, const GraphLaunch* launches, uint32_t count, char* error);
  // As launch().
  bool (*launch_graph)(Graph* graph, char* error);
  void (*drop_graph)(Graph* graph);
};

const Driver& opencl_driver();
const Driver& cuda_driver();

}  // namespace tf::gpu
