#include "compiler/runtime/gpu/opencl_api.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <initializer_list>

namespace tf::gpu {
namespace {

// PoCL 3.1 vectorises work-groups in a way that makes some right kernels run forever. So it gets a loop over a work-group,
// unless the user has chosen. Other drivers do not read this.
void choose_work_groups_of_pocl() {
  setenv("POCL_WORK_GROUP_METHOD", "loops", 0);
}

const char* find_all(ClApi& api) {
  choose_work_groups_of_pocl();
  void* library = nullptr;
  for (const char* name : {"libOpenCL.so.1", "libOpenCL.so"})
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return "there is no libOpenCL.so.1: install the device's OpenCL driver and ocl-icd-libopencl1";
  bool complete = true;
#define TF_FIND(field, name, ...)                                           \
  api.field = reinterpret_cast<ClApi::field##_type>(dlsym(library, #name)); \
  complete = complete && api.field != nullptr;
  TF_CL_FUNCTIONS(TF_FIND)
#undef TF_FIND
  return complete ? nullptr : "libOpenCL.so.1 is older than OpenCL 1.2: install a newer one";
}

}  // namespace

const ClApi* open_opencl(const char** why) {
  static ClApi api = {};
  static const char* missing = nullptr;
  static bool looked = false;
  if (!looked) missing = find_all(api);
  looked = true;
  *why = missing;
  return missing == nullptr ? &api : nullptr;
}

}  // namespace tf::gpu
