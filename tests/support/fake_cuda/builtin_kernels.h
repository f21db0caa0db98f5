// Owns: the kernels that the agent carries as PTX, as functions of this processor. Does not know: the driver.
#pragma once

#include <cstddef>

namespace fake {

struct Builtin {
  const char* name;
  int param_count;
  void (*run)(void** params, const unsigned* grid, const unsigned* block);
};

// Of a block for each sum of 131072 elements: device_agent/agent/golden.
inline void golden(void** params, const unsigned* grid, const unsigned*) {
  const float* x = *static_cast<const float**>(params[0]);
  float* y = *static_cast<float**>(params[1]);
  for (unsigned row = 0; row < grid[0]; ++row) {
    float lanes[64] = {};
    for (int i = 0; i < 131072; ++i)
      lanes[i % 64] += x[static_cast<size_t>(row) * 131072 + static_cast<size_t>(i)];
    for (int half_way = 32; half_way > 0; half_way /= 2)
      for (int lane = 0; lane < half_way; ++lane) lanes[lane] += lanes[lane + half_way];
    y[row] = lanes[0];
  }
}

// As many operations as device_agent/worker/gpu/peak.h says for each thread.
inline void peak(void** params, const unsigned* grid, const unsigned* block) {
  float* x = *static_cast<float**>(params[0]);
  for (size_t thread = 0; thread < size_t{grid[0]} * block[0]; ++thread) {
    float chains[64];
    for (int c = 0; c < 64; ++c) chains[c] = x[thread] + static_cast<float>(c);
    for (int i = 0; i < 512; ++i)
      for (float& chain : chains) chain = chain * 0.999f + 0.001f;
    float sum = 0;
    for (const float chain : chains) sum += chain;
    x[thread] = sum;
  }
}

// Of tests/gpu/survival.cpp.
inline void outside(void**, const unsigned*, const unsigned*) {
  *reinterpret_cast<volatile int*>(64) = 1;
}
inline void endless(void** params, const unsigned*, const unsigned*) {
  const volatile int* x = *static_cast<const volatile int**>(params[0]);
  while (*x != 77) {
  }
}

constexpr Builtin kBuiltins[] = {
    {"golden", 2, golden}, {"peak", 1, peak}, {"outside", 1, outside}, {"endless", 1, endless}};

}  // namespace fake
