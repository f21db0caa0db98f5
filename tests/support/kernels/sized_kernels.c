/* The kernels of the models of sized_models.h. Each knows from its dims how large its buffers are, and refuses others. */
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/kernel_abi.h"

enum { WRONG_SIZE = 77 };

static int wrong(const tf_call* call, uint32_t buffer, int64_t floats) {
  return call->sizes_bytes[buffer] != (uint64_t)floats * sizeof(float);
}

/* x [b, n], bias [n] -> t [b, n] */
static int32_t add_bias(const tf_call* call) {
  const int64_t b = call->dims[0], n = call->dims[1];
  const float *x = (const float*)call->buffers[0], *bias = (const float*)call->buffers[1];
  float* t = (float*)call->buffers[2];
  if (wrong(call, 0, b * n) || wrong(call, 1, n) || wrong(call, 2, b * n)) return WRONG_SIZE;
  for (int64_t i = 0; i < b * n; ++i) t[i] = x[i] + bias[i % n];
  return TF_KERNEL_OK;
}

/* x [b, n], t [b, n] -> y [b, 2n] */
static int32_t pair(const tf_call* call) {
  const int64_t b = call->dims[0], n = call->dims[1];
  const float *x = (const float*)call->buffers[0], *t = (const float*)call->buffers[1];
  float* y = (float*)call->buffers[2];
  if (wrong(call, 0, b * n) || wrong(call, 1, b * n) || wrong(call, 2, 2 * b * n)) return WRONG_SIZE;
  for (int64_t i = 0; i < b; ++i) {
    for (int64_t k = 0; k < n; ++k) {
      y[2 * i * n + k] = x[i * n + k];
      y[2 * i * n + n + k] = t[i * n + k];
    }
  }
  return TF_KERNEL_OK;
}

/* y [b, m], u [b] := sums of rows, plus the third dimension */
static int32_t sums(const tf_call* call) {
  const int64_t b = call->dims[0], m = call->dims[1];
  const float* y = (const float*)call->buffers[0];
  float* u = (float*)call->buffers[1];
  if (wrong(call, 0, b * m) || wrong(call, 1, b)) return WRONG_SIZE;
  for (int64_t i = 0; i < b; ++i) {
    u[i] = (float)call->dims[2];
    for (int64_t k = 0; k < m; ++k) u[i] += y[i * m + k];
  }
  return TF_KERNEL_OK;
}

/* x [n] -> y [n] := x * the second dimension */
static int32_t scale(const tf_call* call) {
  const int64_t n = call->dims[0];
  if (wrong(call, 0, n) || wrong(call, 1, n)) return WRONG_SIZE;
  for (int64_t i = 0; i < n; ++i)
    ((float*)call->buffers[1])[i] = (float)call->dims[1] * ((const float*)call->buffers[0])[i];
  return TF_KERNEL_OK;
}

/* -> a dimension, as i64 */
static int32_t put_dim(const tf_call* call) {
  *(int64_t*)call->buffers[0] = call->dims[0];
  return TF_KERNEL_OK;
}

/* x [n], places i64 [m] -> y [m] := x at the places, minus the third dimension */
static int32_t take(const tf_call* call) {
  const int64_t n = call->dims[0], m = call->dims[1];
  const int64_t* places = (const int64_t*)call->buffers[1];
  if (wrong(call, 0, n) || wrong(call, 1, 2 * m) || wrong(call, 2, m)) return WRONG_SIZE;
  for (int64_t i = 0; i < m; ++i)
    ((float*)call->buffers[2])[i] = ((const float*)call->buffers[0])[places[i]] - (float)call->dims[2];
  return TF_KERNEL_OK;
}

__attribute__((visibility("hidden")))
const tf_kernel tf_model_kernels[] = {add_bias, pair, sums, scale, put_dim, tf_host_nonzero, take};
