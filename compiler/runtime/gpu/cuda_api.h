#pragma once
// Owns: the part of CUDA's driver interface that is used here, with its published names and numbers, and the
// loader that finds it at run time. Does not know: kernels.

#include <stddef.h>
#include <stdint.h>

namespace tf::gpu {

using CuHandle = void*;      // contexts, modules, functions, streams, events, graphs
using CuAddress = uint64_t;  // of device memory

constexpr int kCuSuccess = 0, kCuOutOfMemory = 2, kCuNoDevice = 100;
constexpr unsigned kCuNonBlocking = 1;  // of a stream: it does not wait for the legacy one
enum CuDeviceAttribute : int {
  kCuBlockThreads = 1,
  kCuClockKhz = 13,
  kCuUnits = 16,
  kCuIntegrated = 18,
  kCuMemoryClockKhz = 36,
  kCuMemoryBusBits = 37,
  kCuCacheBytes = 38,
  kCuMajor = 75,
  kCuMinor = 76,
  kCuSharedBytes = 97,  // the most that a block may ask for
};
enum CuFunctionAttribute : int { kCuMostSharedBytes = 8 };
enum CuJitOption : int { kCuErrorLog = 5, kCuErrorLogBytes = 6 };

// As CUDA_KERNEL_NODE_PARAMS_v1.
struct CuKernelNode {
  CuHandle function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void** params;
  void** extra;
};

// Name in the table, name in the library, type.
#define TF_CU_FUNCTIONS(X)                                                                            \
  X(init, cuInit, int (*)(unsigned))                                                                  \
  X(version, cuDriverGetVersion, int (*)(int*))                                                       \
  X(error_name, cuGetErrorName, int (*)(int, const char**))                                           \
  X(error_text, cuGetErrorString, int (*)(int, const char**))                                         \
  X(count, cuDeviceGetCount, int (*)(int*))                                                           \
  X(device, cuDeviceGet, int (*)(int*, int))                                                          \
  X(device_name, cuDeviceGetName, int (*)(char*, int, int))                                           \
  X(device_memory, cuDeviceTotalMem_v2, int (*)(size_t*, int))                                        \
  X(attribute, cuDeviceGetAttribute, int (*)(int*, int, int))                                         \
  X(bus_id, cuDeviceGetPCIBusId, int (*)(char*, int, int))                                            \
  X(retain_context, cuDevicePrimaryCtxRetain, int (*)(CuHandle*, int))                                \
  X(release_context, cuDevicePrimaryCtxRelease_v2, int (*)(int))                                      \
  X(push_context, cuCtxPushCurrent_v2, int (*)(CuHandle))                                             \
  X(pop_context, cuCtxPopCurrent_v2, int (*)(CuHandle*))                                              \
  X(device_of_context, cuCtxGetDevice, int (*)(int*))                                                 \
  X(load, cuModuleLoadDataEx, int (*)(CuHandle*, const void*, unsigned, int*, void**))                \
  X(unload, cuModuleUnload, int (*)(CuHandle))                                                        \
  X(function, cuModuleGetFunction, int (*)(CuHandle*, CuHandle, const char*))                         \
  X(set_function, cuFuncSetAttribute, int (*)(CuHandle, int, int))                                    \
  X(allocate, cuMemAlloc_v2, int (*)(CuAddress*, size_t))                                             \
  X(free, cuMemFree_v2, int (*)(CuAddress))                                                           \
  X(upload, cuMemcpyHtoDAsync_v2, int (*)(CuAddress, const void*, size_t, CuHandle))                  \
  X(download, cuMemcpyDtoHAsync_v2, int (*)(void*, CuAddress, size_t, CuHandle))                      \
  X(fill, cuMemsetD8Async, int (*)(CuAddress, unsigned char, size_t, CuHandle))                       \
  X(create_stream, cuStreamCreate, int (*)(CuHandle*, unsigned))                                      \
  X(destroy_stream, cuStreamDestroy_v2, int (*)(CuHandle))                                            \
  X(finish, cuStreamSynchronize, int (*)(CuHandle))                                                   \
  X(launch, cuLaunchKernel,                                                                           \
    int (*)(CuHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuHandle, \
            void**, void**))                                                                          \
  X(create_event, cuEventCreate, int (*)(CuHandle*, unsigned))                                        \
  X(destroy_event, cuEventDestroy_v2, int (*)(CuHandle))                                              \
  X(record_event, cuEventRecord, int (*)(CuHandle, CuHandle))                                         \
  X(wait_event, cuEventSynchronize, int (*)(CuHandle))                                                \
  X(elapsed, cuEventElapsedTime, int (*)(float*, CuHandle, CuHandle))                                 \
  X(create_graph, cuGraphCreate, int (*)(CuHandle*, unsigned))                                        \
  X(add_kernel, cuGraphAddKernelNode,                                                                 \
    int (*)(CuHandle*, CuHandle, const CuHandle*, size_t, const CuKernelNode*))                       \
  X(instantiate, cuGraphInstantiateWithFlags, int (*)(CuHandle*, CuHandle, unsigned long long))       \
  X(launch_graph, cuGraphLaunch, int (*)(CuHandle, CuHandle))                                         \
  X(destroy_graph, cuGraphDestroy, int (*)(CuHandle))                                                 \
  X(destroy_instance, cuGraphExecDestroy, int (*)(CuHandle))

// As CUtensorMap.
struct alignas(64) CuTensorMap {
  uint64_t words[16];
};
enum CuTensorType : int { kCuBytes1 = 0, kCuBytes2 = 1, kCuBytes4 = 2, kCuBytes8 = 4 };  // unsigned integers
constexpr int kCuNoInterleave = 0, kCuSwizzle128 = 3, kCuFetch256 = 3, kCuFillZeros = 0;

// Those that only later drivers have: null in others.
#define TF_CU_LATER_FUNCTIONS(X)                                                                 \
  X(encode_tiled, cuTensorMapEncodeTiled,                                                        \
    int (*)(CuTensorMap*, int type, uint32_t rank, void* address, const uint64_t* extents,       \
            const uint64_t* strides_bytes, const uint32_t* box, const uint32_t* element_strides, \
            int interleave, int swizzle, int fetch, int fill))

struct CuApi {
#define TF_FIELD(field, name, ...)  \
  using field##_type = __VA_ARGS__; \
  field##_type field;
  TF_CU_FUNCTIONS(TF_FIELD)
  TF_CU_LATER_FUNCTIONS(TF_FIELD)
#undef TF_FIELD
};

// The functions of the initialised driver. Null if there is no driver or if it cannot be initialised: `why` says what is
// missing. The library is never closed. The first call is not thread-safe.
const CuApi* open_cuda(const char** why);

}  // namespace tf::gpu
