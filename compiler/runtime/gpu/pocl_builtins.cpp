#include "compiler/runtime/gpu/pocl_builtins.h"

namespace tf::gpu {

const char kBuiltinDeclarations[] =
    R"(#define TF_PURE __attribute__((overloadable)) __attribute__((const))
size_t TF_PURE get_global_id(uint);
size_t TF_PURE get_local_id(uint);
size_t TF_PURE get_group_id(uint);
size_t TF_PURE get_global_size(uint);
size_t TF_PURE get_local_size(uint);
size_t TF_PURE get_num_groups(uint);
void __attribute__((overloadable)) __attribute__((convergent)) barrier(cl_mem_fence_flags);
#define TF_FUNCTIONS(T)                                                                                  \
  T TF_PURE exp(T); T TF_PURE expm1(T); T TF_PURE log(T); T TF_PURE log1p(T); T TF_PURE sqrt(T);         \
  T TF_PURE rsqrt(T); T TF_PURE tanh(T); T TF_PURE erf(T); T TF_PURE pow(T, T); T TF_PURE floor(T);      \
  T TF_PURE ceil(T); T TF_PURE rint(T); T TF_PURE sin(T); T TF_PURE cos(T); T TF_PURE atan(T);           \
  T TF_PURE fmod(T, T); T TF_PURE fma(T, T, T); T TF_PURE copysign(T, T); T TF_PURE fabs(T);
TF_FUNCTIONS(float)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
TF_FUNCTIONS(double)
#endif
float __attribute__((overloadable)) __attribute__((pure)) vload_half(size_t, const half*);
void __attribute__((overloadable)) vstore_half_rte(float, size_t, half*);
#undef TF_FUNCTIONS
#undef TF_PURE
)";

}  // namespace tf::gpu
