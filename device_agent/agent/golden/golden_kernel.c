/* Owns: the golden kernel's code. Four-lane vectors in the compiler's own notation, so that it is the same
 * instructions whatever the device could do beyond that; nothing here may change without need, because times of
 * another code do not compare.
 *
 * Buffers: x (16 MiB of f32 in [-1, 1]), y (32 f32). One part of the time is multiply-adds on registers, the other
 * reads x once. */
#include "compiler/runtime/kernel_abi.h"

typedef float vector4 __attribute__((vector_size(16)));

enum { kChains = 10, kRounds = 400000, kVectors = (16 << 20) / sizeof(vector4) };

int32_t golden(const tf_call* call) {
  if (call->abi_version != TF_ABI_VERSION) return TF_KERNEL_BAD_ABI;
  const vector4* x = (const vector4*)call->buffers[0];
  vector4* y = (vector4*)call->buffers[1];
  vector4 chains[kChains];
  const vector4 half = x[0] * 0.5f; /* below 1, so that every chain converges */
#pragma GCC unroll 10
  for (int c = 0; c < kChains; ++c) chains[c] = x[c + 1];
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 10
    for (int c = 0; c < kChains; ++c) chains[c] = chains[c] * half + x[0];
  }
  vector4 sums[8];
#pragma GCC unroll 8
  for (int s = 0; s < 8; ++s) sums[s] = chains[s] + chains[s % 2 + 8];
  for (int v = 0; v < kVectors; v += 8) {
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) sums[s] += x[v + s];
  }
#pragma GCC unroll 8
  for (int s = 0; s < 8; ++s) y[s] = sums[s];
  return TF_KERNEL_OK;
}
