#include "compiler/runtime/peak.h"

#include "compiler/runtime/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>

#endif

namespace {

// A loop of `iterations` rounds of independent FMAs on registers; returns the FLOPs done. Enough chains are
// in flight to cover latency times issue width (4 x 2 on current cores). x*m + a converges, so that no value
// is ever special.
using FmaLoop = double (*)(int64_t iterations);

struct Isa {
  const char* name;
  FmaLoop loop;
};

volatile float fma_sink;
volatile float fma_multiplier = 0.5f;

#if defined(__x86_64__)

__attribute__((target("avx512f"), noinline)) double loop_avx512(int64_t iterations) {
  constexpr int kChains = 16;
  const __m512 m = _mm512_set1_ps(fma_multiplier), a = _mm512_set1_ps(1.0f);
  __m512 x[kChains];
#pragma GCC unroll 16
  for (int c = 0; c < kChains; ++c) x[c] = _mm512_set1_ps(static_cast<float>(c));
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) x[c] = _mm512_fmadd_ps(x[c], m, a);
  }
  __m512 sum = x[0];
#pragma GCC unroll 16
  for (int c = 1; c < kChains; ++c) sum = _mm512_add_ps(sum, x[c]);
  fma_sink = _mm512_cvtss_f32(sum);
  return 2.0 * 16 * kChains * static_cast<double>(iterations);
}

__attribute__((target("avx2,fma"), noinline)) double loop_avx2(int64_t iterations) {
  constexpr int kChains = 12;
  const __m256 m = _mm256_set1_ps(fma_multiplier), a = _mm256_set1_ps(1.0f);
  __m256 x[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) x[c] = _mm256_set1_ps(static_cast<float>(c));
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) x[c] = _mm256_fmadd_ps(x[c], m, a);
  }
  __m256 sum = x[0];
#pragma GCC unroll 12
  for (int c = 1; c < kChains; ++c) sum = _mm256_add_ps(sum, x[c]);
  fma_sink = _mm256_cvtss_f32(sum);
  return 2.0 * 8 * kChains * static_cast<double>(iterations);
}

// What CPU and OS support, from CPUID and XCR0: the compiler's own check would need libgcc.
bool os_saves(uint32_t state_mask) {
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & state_mask) == state_mask;
}

bool has_avx512() {
  uint32_t a, b, c, d;
  return os_saves(0xe6) && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512F);
}

bool has_avx2_fma() {
  uint32_t a, b, c, d;
  if (!os_saves(0x06) || !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_FMA)) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}

#elif defined(__ARM_NEON) && defined(__ARM_FEATURE_FMA)

double loop_neon(int64_t iterations) {
  constexpr int kChains = 12;
  const float32x4_t m = vdupq_n_f32(fma_multiplier), a = vdupq_n_f32(1.0f);
  float32x4_t x[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) x[c] = vdupq_n_f32(static_cast<float>(c));
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) x[c] = vfmaq_f32(a, x[c], m);
  }
  float32x4_t sum = x[0];
#pragma GCC unroll 12
  for (int c = 1; c < kChains; ++c) sum = vaddq_f32(sum, x[c]);
  fma_sink = vgetq_lane_f32(sum, 0);
  return 2.0 * 4 * kChains * static_cast<double>(iterations);
}

#endif

// Four-lane vectors in the compiler's own notation: SSE, VSX, RVV or scalar code, multiply and add.
[[maybe_unused]] double loop_generic(int64_t iterations) {
  typedef float Vector __attribute__((vector_size(16)));
  constexpr int kChains = 10;
  const float multiplier = fma_multiplier;
  const Vector m = {multiplier, multiplier, multiplier, multiplier}, a = {1, 1, 1, 1};
  Vector x[kChains];
  for (int c = 0; c < kChains; ++c) x[c] = a * static_cast<float>(c);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 10
    for (int c = 0; c < kChains; ++c) x[c] = x[c] * m + a;
  }
  Vector sum = x[0];
  for (int c = 1; c < kChains; ++c) sum = sum + x[c];
  fma_sink = sum[0];
  return 2.0 * 4 * kChains * static_cast<double>(iterations);
}

Isa widest() {
#if defined(__x86_64__)
  if (has_avx512()) return {"avx512f", loop_avx512};
  if (has_avx2_fma()) return {"avx2+fma", loop_avx2};
#elif defined(__ARM_NEON) && defined(__ARM_FEATURE_FMA)
  return {"neon", loop_neon};
#endif
  return {"generic", loop_generic};
}

struct Window {
  FmaLoop loop;
  int64_t iterations;
};

int32_t run_window(void* closure, int64_t, int32_t) {
  const Window* window = static_cast<const Window*>(closure);
  window->loop(window->iterations);
  return 0;
}

double best_of_windows(const tf_runtime* runtime, int64_t budget_ns) {
  const Isa isa = widest();
  const int64_t deadline_ns = tf_monotonic_ns() + budget_ns;
  const double threads = runtime ? runtime->threads : 1;
  double best_gflops = 0;
  Window window = {isa.loop, 2000};
  do {
    const int64_t start_ns = tf_monotonic_ns();
    if (runtime) {
      runtime->parallel_for(runtime, runtime->threads, run_window, &window);
    } else {
      run_window(&window, 0, 0);
    }
    const int64_t elapsed_ns = tf_monotonic_ns() - start_ns;
    if (elapsed_ns < 500000) {
      window.iterations *= 2;  // too short to be timed well: not counted
      continue;
    }
    const double flops = threads * static_cast<double>(window.iterations) * isa.loop(1);
    const double gflops = flops / static_cast<double>(elapsed_ns);
    if (gflops > best_gflops) best_gflops = gflops;
  } while (tf_monotonic_ns() < deadline_ns || best_gflops == 0);
  return best_gflops;
}

}  // namespace

extern "C" {

double tf_peak_gflops(int64_t budget_ns) {
  return best_of_windows(nullptr, budget_ns);
}

double tf_peak_gflops_threads(const tf_runtime* runtime, int64_t budget_ns) {
  return best_of_windows(runtime, budget_ns);
}

const char* tf_peak_isa(void) {
  return widest().name;
}

}  // extern "C"
