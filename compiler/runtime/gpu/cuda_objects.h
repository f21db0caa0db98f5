#pragma once
// Owns: what the handles of gpu.h are on CUDA devices, and how its errors are told. Private to this folder. Does not know:
// what is done with them.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "compiler/runtime/gpu/cuda_api.h"
#include "compiler/runtime/gpu/gpu.h"

namespace tf::gpu::cuda {

struct CudaDevice {
  const CuApi* api;
  int id;
  CuHandle context, stream;
  CuHandle began, ended;  // events
  bool owns_stream;       // and holds the context
  bool lost;
};

struct CudaProgram;

struct CudaKernel {
  CudaProgram* program;
  CudaKernel* next;
  CuHandle function;
  uint64_t* values;  // pointers, then dims
  void** params;     // to them, and to the maps
  uint32_t pointer_count;
  uint32_t param_count;  // without the maps
  CuTensorMap* maps;
  uint32_t shared_bytes;  // that it may ask for as it is
};

struct CudaProgram {
  CudaDevice* device;
  CuHandle module;
  CudaKernel* kernels;
};

struct CudaMemory {
  CudaDevice* device;
  CuAddress address;
  uint64_t size_bytes;
  bool is_wrapped;  // the caller's
};

struct CudaGraph {
  CudaDevice* device;
  CuHandle graph, instance;
};

inline CudaDevice* own(Device* device) {
  return reinterpret_cast<CudaDevice*>(device);
}
inline CudaProgram* own(Program* program) {
  return reinterpret_cast<CudaProgram*>(program);
}
inline CudaKernel* own(Kernel* kernel) {
  return reinterpret_cast<CudaKernel*>(kernel);
}
inline CudaMemory* own(Memory* memory) {
  return reinterpret_cast<CudaMemory*>(memory);
}
inline CudaGraph* own(Graph* graph) {
  return reinterpret_cast<CudaGraph*>(graph);
}

// The map of a tensor at that address.
bool make_tensor_map(CudaDevice& device, CuAddress address, const TensorMap& tensor, CuTensorMap* map,
                     char* error);

template <typename T>
T* make_zeroed(size_t count = 1) {
  return static_cast<T*>(calloc(count, sizeof(T)));
}

// All write a line into `error` and return false; check() only if the code is an error, after which the device may be lost.
bool fail(const CuApi& api, int code, const char* what, char* error);
bool no_memory(char* error);
bool check(CudaDevice& device, int code, const char* what, char* error);

// Until it ends, the device's context is the thread's current one; then it is that of before, which may be the caller's. A thread
// may be another one at each call.
class Entered {
 public:
  explicit Entered(const CudaDevice& device) : api_(*device.api), code_(api_.push_context(device.context)) {}
  ~Entered() {
    CuHandle context = nullptr;
    if (code_ == kCuSuccess) api_.pop_context(&context);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

  int code() const { return code_; }

 private:
  const CuApi& api_;
  const int code_;
};

}  // namespace tf::gpu::cuda
