#pragma once
// Owns: the objects behind the handles of gpu.h on CUDA devices, and the texts of CUDA's errors. Private to
// this folder. Does not know: how they are used.

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
  bool owns_stream;       // and a reference to the context
  bool lost;
};

struct CudaProgram;

struct CudaKernel {
  CudaProgram* program;
  CudaKernel* next;
  CuHandle function;
  uint64_t* values;  // pointers, then dims
  void** params;     // pointers to the values and to the maps
  uint32_t pointer_count;
  uint32_t param_count;  // without the maps
  CuTensorMap* maps;
  uint32_t shared_bytes;  // the current limit of dynamic shared memory
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
  bool is_wrapped;  // owned by the caller
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

// Makes the map of a tensor at that address.
bool make_tensor_map(CudaDevice& device, CuAddress address, const TensorMap& tensor, CuTensorMap* map,
                     char* error);

template <typename T>
T* make_zeroed(size_t count = 1) {
  return static_cast<T*>(calloc(count, sizeof(T)));
}

// fail() and no_memory() write a line into `error` and return false. So does check() if the code is an error;
// the device may then be lost.
bool fail(const CuApi& api, int code, const char* what, char* error);
bool no_memory(char* error);
bool check(CudaDevice& device, int code, const char* what, char* error);

// Makes the device's context the current one of this thread, and restores the previous one, which may be the
// caller's, at the end. Needed in every call, because each call may come from another thread.
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
