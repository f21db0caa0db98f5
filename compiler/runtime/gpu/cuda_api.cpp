#include "compiler/runtime/gpu/cuda_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include <initializer_list>

namespace tf::gpu {
namespace {

char missing_text[256];

// Some other user's devices: that is what most often keeps a driver from starting.
bool may_use_devices() {
  const char* control = "/dev/nvidiactl";
  return access(control, F_OK) != 0 || access(control, R_OK | W_OK) == 0;
}

const char* start(const CuApi& api) {
  const int code = api.init(0);
  if (code == kCuSuccess) return nullptr;
  const char* name = nullptr;
  if (code == kCuNoDevice)
    return "NVIDIA's driver is there but finds no GPU: see `nvidia-smi`, and whether this container was "
           "given one";
  if (!may_use_devices())
    return "this user may not use /dev/nvidia*: add it to the group that owns them, often `video`";
  if (api.error_name(code, &name) != kCuSuccess || name == nullptr) name = "unknown";
  snprintf(missing_text, sizeof missing_text,
           "NVIDIA's driver does not start: error %d (%s): see `nvidia-smi`; after an update of the driver, "
           "restart "
           "the machine",
           code, name);
  return missing_text;
}

const char* find_functions(CuApi& api) {
  void* library = nullptr;
  // The second stands there on Jetson boards, whose loader may not know it.
  for (const char* name : {"libcuda.so.1", "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1"})
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "there is no libcuda.so.1: install NVIDIA's driver";
  const char* absent = nullptr;
#define TF_FIND(field, name, ...)                                           \
  api.field = reinterpret_cast<CuApi::field##_type>(dlsym(library, #name)); \
  if (api.field == nullptr) absent = #name;
  TF_CU_FUNCTIONS(TF_FIND)
#undef TF_FIND
#define TF_FIND(field, name, ...) api.field = reinterpret_cast<CuApi::field##_type>(dlsym(library, #name));
  TF_CU_LATER_FUNCTIONS(TF_FIND)
#undef TF_FIND
  if (absent == nullptr) return start(api);
  snprintf(missing_text, sizeof missing_text,
           "NVIDIA's driver is too old: libcuda.so.1 has no %s; install one for CUDA 11.4 or later", absent);
  return missing_text;
}

}  // namespace

const CuApi* open_cuda(const char** why) {
  static CuApi api = {};
  static const char* missing = nullptr;
  static bool looked = false;
  if (!looked) missing = find_functions(api);
  looked = true;
  *why = missing;
  return missing == nullptr ? &api : nullptr;
}

}  // namespace tf::gpu
