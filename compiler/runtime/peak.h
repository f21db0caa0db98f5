#ifndef TF_RUNTIME_PEAK_H
#define TF_RUNTIME_PEAK_H
/* Owns: measuring the highest rate of fp32 fused multiply-adds that this machine reaches from registers, with
 * the widest vectors it has. The roofline of plausibility checks and the "share of peak" of reports. */

#include <stdint.h>

#include "compiler/runtime/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* GFLOP/s of the calling thread: the best of windows of about 1 ms within `budget_ns`. An FMA counts as 2. */
double tf_peak_gflops(int64_t budget_ns);

/* GFLOP/s of all of the runtime's workers together, in the same way. */
double tf_peak_gflops_threads(const tf_runtime* runtime, int64_t budget_ns);

/* The instruction set that the measurement uses, as in "avx512f", "avx2+fma", "neon", "generic". */
const char* tf_peak_isa(void);

#ifdef __cplusplus
}
#endif
#endif
