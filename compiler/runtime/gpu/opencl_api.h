#pragma once
// Owns: the part of OpenCL 1.2's interface that is used here, with its published names and numbers, and the
// loader that finds it at run time. Does not know: kernels.

#include <stddef.h>
#include <stdint.h>

namespace tf::gpu {

using ClHandle = void*;  // platforms, devices, contexts, queues, memory, programs, kernels, events

struct ClRegion {
  size_t origin, size;
};

constexpr int32_t kClSuccess = 0;
constexpr uint64_t kClAllDevices = 0xffffffff;
constexpr uint64_t kClReadWrite = 1, kClProfiling = 2;
constexpr uint64_t kClExactDivision = 1 << 7;  // of a device's single precision
constexpr uint32_t kClRegionType = 0x1220, kClBuildLog = 0x1183, kClStart = 0x1282, kClEnd = 0x1283;
enum ClQueueInfo : uint32_t { kClQueueContext = 0x1090, kClQueueDevice = 0x1091 };
enum ClDeviceInfo : uint32_t {
  kClUnits = 0x1002,
  kClBlockThreads = 0x1004,
  kClAlignmentBits = 0x1019,
  kClSinglePrecision = 0x101b,
  kClCacheBytes = 0x101e,
  kClMemoryBytes = 0x101f,
  kClSharedBytes = 0x1023,
  kClDeviceName = 0x102b,
  kClDriverVersion = 0x102d,
  kClDeviceVersion = 0x102f,
  kClDoublePrecision = 0x1032,
  kClHostMemory = 0x1035,
};

// In the order of the functions' arguments: name in the table, name in the library, type.
#define TF_CL_FUNCTIONS(X)                                                                                  \
  X(platforms, clGetPlatformIDs, int32_t (*)(uint32_t, ClHandle*, uint32_t*))                               \
  X(devices, clGetDeviceIDs, int32_t (*)(ClHandle, uint64_t, uint32_t, ClHandle*, uint32_t*))               \
  X(device_info, clGetDeviceInfo, int32_t (*)(ClHandle, uint32_t, size_t, void*, size_t*))                  \
  X(create_context, clCreateContext,                                                                        \
    ClHandle (*)(const intptr_t*, uint32_t, const ClHandle*,                                                \
                 void (*)(const char*, const void*, size_t, void*), void*, int32_t*))                       \
  X(release_context, clReleaseContext, int32_t (*)(ClHandle))                                               \
  X(create_queue, clCreateCommandQueue, ClHandle (*)(ClHandle, ClHandle, uint64_t, int32_t*))               \
  X(queue_info, clGetCommandQueueInfo, int32_t (*)(ClHandle, uint32_t, size_t, void*, size_t*))             \
  X(release_queue, clReleaseCommandQueue, int32_t (*)(ClHandle))                                            \
  X(create_program, clCreateProgramWithSource,                                                              \
    ClHandle (*)(ClHandle, uint32_t, const char**, const size_t*, int32_t*))                                \
  X(build_program, clBuildProgram,                                                                          \
    int32_t (*)(ClHandle, uint32_t, const ClHandle*, const char*, void (*)(ClHandle, void*), void*))        \
  X(build_info, clGetProgramBuildInfo, int32_t (*)(ClHandle, ClHandle, uint32_t, size_t, void*, size_t*))   \
  X(release_program, clReleaseProgram, int32_t (*)(ClHandle))                                               \
  X(create_kernel, clCreateKernel, ClHandle (*)(ClHandle, const char*, int32_t*))                           \
  X(release_kernel, clReleaseKernel, int32_t (*)(ClHandle))                                                 \
  X(set_argument, clSetKernelArg, int32_t (*)(ClHandle, uint32_t, size_t, const void*))                     \
  X(create_buffer, clCreateBuffer, ClHandle (*)(ClHandle, uint64_t, size_t, void*, int32_t*))               \
  X(create_part, clCreateSubBuffer, ClHandle (*)(ClHandle, uint64_t, uint32_t, const void*, int32_t*))      \
  X(release_memory, clReleaseMemObject, int32_t (*)(ClHandle))                                              \
  X(write, clEnqueueWriteBuffer,                                                                            \
    int32_t (*)(ClHandle, ClHandle, uint32_t, size_t, size_t, const void*, uint32_t, const ClHandle*,       \
                ClHandle*))                                                                                 \
  X(read, clEnqueueReadBuffer,                                                                              \
    int32_t (*)(ClHandle, ClHandle, uint32_t, size_t, size_t, void*, uint32_t, const ClHandle*, ClHandle*)) \
  X(fill, clEnqueueFillBuffer,                                                                              \
    int32_t (*)(ClHandle, ClHandle, const void*, size_t, size_t, size_t, uint32_t, const ClHandle*,         \
                ClHandle*))                                                                                 \
  X(launch, clEnqueueNDRangeKernel,                                                                         \
    int32_t (*)(ClHandle, ClHandle, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t,        \
                const ClHandle*, ClHandle*))                                                                \
  X(finish, clFinish, int32_t (*)(ClHandle))                                                                \
  X(event_time, clGetEventProfilingInfo, int32_t (*)(ClHandle, uint32_t, size_t, void*, size_t*))           \
  X(release_event, clReleaseEvent, int32_t (*)(ClHandle))

struct ClApi {
#define TF_FIELD(field, name, ...)  \
  using field##_type = __VA_ARGS__; \
  field##_type field;
  TF_CL_FUNCTIONS(TF_FIELD)
#undef TF_FIELD
};

// The functions of the OpenCL library. Null if there is none: `why` says what is missing. The library is never closed. The first
// call is not thread-safe.
const ClApi* open_opencl(const char** why);

}  // namespace tf::gpu
