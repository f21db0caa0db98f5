#ifndef TF_RUNTIME_THREAD_POOL_H
#define TF_RUNTIME_THREAD_POOL_H
/* Owns: a tf_runtime backed by threads. Fork-join with static chunks: worker t of n runs iterations
 * [count*t/n, count*(t+1)/n). The caller is worker 0; the others spin briefly for the next call, then sleep.
 * Does not know: kernels, models. Needs libc and pthread only. */

#include <stdint.h>

#include "compiler/runtime/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A runtime of `threads` workers (at least 1; 1 makes no thread). Null if threads or memory cannot be had.
 * The runtime may be used by several callers: one forks at a time, the others run their iterations
 * themselves. */
tf_runtime* tf_runtime_create(int32_t threads);

/* Joins the workers. No call may be running. Null is ignored. */
void tf_runtime_destroy(tf_runtime* runtime);

#ifdef __cplusplus
}
#endif
#endif
