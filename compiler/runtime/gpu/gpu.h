#pragma once
// Owns: what this program asks of a GPU's driver, the same for all: memory, programs, launches, times. Drivers are opened
// at run time; nothing is linked to them. Does not know: models, trials.

#include <stdint.h>

namespace tf::gpu {

constexpr int kErrorChars = 1024;  // of each `error` below: one line, ended by a zero; a longer one is cut

struct Device;   // one device with a queue of its own; use it from one thread at a time
struct Program;  // compiled code on a device
struct Kernel;   // an entry of a program
struct Memory;   // of a device
struct Graph;    // launches that the device makes one after another by itself

struct Facts {
  char name[128];
  char driver[128];  // its version
  uint64_t memory_bytes;
  uint64_t cache_bytes;      // the last one before memory; 0: not told
  uint64_t shared_bytes;     // that a block may have
  uint32_t units;            // multiprocessors, compute units
  uint32_t block_threads;    // most of one block
  uint32_t alignment_bytes;  // of parts of Memory that are arguments
  bool doubles;              // f64 is supported
  bool shares_host_memory;
  bool compiles_at_launch;  // a kernel's first launch takes as long as a compiler
  uint32_t capability;      // CUDA's, as 90 for 9.0; from here on 0: not told
  uint32_t clock_khz, memory_clock_khz, memory_bus_bits;
  char bus_id[32];  // of PCI; empty: not told
};

// A part of memory that a kernel gets as a pointer.
struct Argument {
  Memory* memory;
  uint64_t offset_bytes;  // a multiple of Facts::alignment_bytes
  uint64_t size_bytes;
};

// A row-major tensor where an argument lies, and the part of it, at most kMostOfBox along an axis, that a kernel has the copy
// engine copy at once, into lines of 128 bytes with their swizzle: what CUDA calls a tensor map. Axes from the outside in.
constexpr uint32_t kMostTensorAxes = 5, kMostOfBox = 256;
struct TensorMap {
  uint32_t argument;
  uint32_t element_bytes;  // 1, 2, 4 or 8
  uint32_t rank;
  uint64_t extents[kMostTensorAxes];
  uint32_t box[kMostTensorAxes];
};

struct LaunchSize {
  uint64_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
};

// A launch in a graph: the kernel with what it is bound to when the graph is made.
struct GraphLaunch {
  Kernel* kernel;
  LaunchSize size;
};

// A kind of driver. Calls that can fail write a line into `error` and return null or false. After one has failed with
// `is_lost`, the device is of no use to this process any more.
struct Driver {
  const char* name;  // "opencl", "cuda"

  // How many devices there are; -1: no driver, `error` says what is missing.
  int (*count)(char* error);
  Device* (*open)(int index, char* error);
  // The same in a context and a queue of the caller's, which are in order and outlive the device: it is theirs, whatever the
  // index. Null context: its own, both.
  Device* (*open_in)(int index, void* context, void* queue, char* error);
  // Its number and those that it uses.
  void (*handles)(const Device* device, int* index, void** context, void** queue);
  void (*close)(Device* device);
  void (*facts)(Device* device, Facts* facts);
  bool (*is_lost)(const Device* device);

  // Compiles or loads code for the device: of this driver's kinds of blob (kernel.v1.BlobKind), which are OpenCL C, or a
  // cubin or PTX.
  Program* (*load)(Device* device, const void* code, uint64_t size_bytes, char* error);
  void (*unload)(Program* program);
  // Belongs to the program and ends with it.
  Kernel* (*find)(Program* program, const char* entry, char* error);

  Memory* (*allocate)(Device* device, uint64_t size_bytes, char* error);  // at least one byte; undefined
  // Memory of the caller in the device's context: a cl_mem, a CUdeviceptr. `free` leaves it the caller's.
  Memory* (*wrap)(Device* device, void* handle, uint64_t size_bytes, char* error);
  void (*free)(Memory* memory);
  // Both wait for what was launched before, and for the copy.
  bool (*upload)(Memory* to, uint64_t offset_bytes, const void* from, uint64_t size_bytes, char* error);
  bool (*download)(void* to, const Memory* from, uint64_t offset_bytes, uint64_t size_bytes, char* error);
  // Each byte from there on.
  bool (*fill)(Memory* to, uint64_t offset_bytes, uint8_t value, uint64_t size_bytes, char* error);

  // The kernel's parameters: pointers, then dims. They stay until they are bound again.
  bool (*bind)(Kernel* kernel, const Argument* arguments, uint32_t count, const int64_t* dims,
               uint32_t dim_count, char* error);
  // Parameters behind those, of the arguments that it is bound to: after each bind. Null: this kind of driver has none.
  bool (*map)(Kernel* kernel, const TensorMap* maps, uint32_t count, char* error);
  // After what was launched before. Does not wait.
  bool (*launch)(Kernel* kernel, const LaunchSize& size, char* error);
  // Waits for all that was launched.
  bool (*finish)(Device* device, char* error);
  // Before and after what is launched between: the device's own time, in ns, once end_time has waited for all of it.
  bool (*begin_time)(Device* device, char* error);
  bool (*end_time)(Device* device, int64_t* total_ns, char* error);

  // Null: this kind of driver has no graphs. The kernels' program must outlive the graph.
  Graph* (*make_graph)(Device* device, const GraphLaunch* launches, uint32_t count, char* error);
  // As launch.
  bool (*launch_graph)(Graph* graph, char* error);
  void (*drop_graph)(Graph* graph);
};

const Driver& opencl_driver();
const Driver& cuda_driver();

}  // namespace tf::gpu
