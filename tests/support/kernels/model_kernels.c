/* The two kernels of the model that model_test.cpp links: doubling, and an addition in parallel chunks. */
#include "compiler/runtime/kernel_abi.h"

static int32_t double_all(const tf_call* call) {
  const float* x = (const float*)call->buffers[0];
  float* y = (float*)call->buffers[1];
  if (call->abi_version != TF_ABI_VERSION) return TF_KERNEL_BAD_ABI;
  for (int64_t i = 0; i < call->dims[0]; ++i) y[i] = 2 * x[i];
  return TF_KERNEL_OK;
}

static int32_t add_one(void* closure, int64_t index, int32_t thread) {
  const tf_call* call = (const tf_call*)closure;
  float* sum = (float*)((char*)call->workspace + 64 + 64 * thread);
  sum[0] = ((const float*)call->buffers[0])[index] + ((const float*)call->buffers[1])[index];
  ((float*)call->buffers[2])[index] = sum[0];
  return 0;
}

static int32_t add_all(const tf_call* call) {
  return call->runtime->parallel_for(call->runtime, call->dims[0], add_one, (void*)call);
}

__attribute__((visibility("hidden"))) const tf_kernel tf_model_kernels[] = {double_all, add_all};
