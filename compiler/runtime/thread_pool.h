#ifndef TF_RUNTIME_THREAD_POOL_H
#define TF_RUNTIME_THREAD_POOL_H
/* Owns: a tf_runtime backed by threads. Fork-join: iterations are dealt in equal shares of neighbours, one a
 * worker; who is done with its own helps the others, so that a worker that comes late or is interrupted holds
 * up one iteration or an eighth of its share, whichever is longer. The caller is worker 0; the others ask for
 * the next call for a fifth of a millisecond, most of it (all of it, where threads share CPUs) offering their
 * CPU to others, then sleep. Nothing is allocated after creation. Does not know: kernels, models. Needs libc
 * and pthread only. */

#include <stdint.h>

#include "compiler/runtime/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A runtime of `threads` workers (1 to 2047; 1 makes no thread). Null if threads or memory cannot be had.
 * The runtime may be used by several callers: one forks at a time, the others run their iterations
 * themselves. */
tf_runtime* tf_runtime_create(int32_t threads);

/* Keeps worker t on the CPU with number cpus[t % count], the calling thread, which is to run the kernels, as
 * worker 0. 1, or 0 if count is under 1 or this process may not use a CPU of that number; workers before it
 * are then already placed. No call may be running. */
int32_t tf_runtime_set_affinity(tf_runtime* runtime, const int32_t* cpus, int32_t count);

/* To be called before the runtime is used where the process may be a fork of the one that made it: threads do
 * not come along, so they are made anew, and the system places them. Does nothing in the process that made it.
 * No call may be running in this process. */
void tf_runtime_check_fork(tf_runtime* runtime);

/* 1 if there are fewer CPUs than workers: of those that the process might use when the runtime was made
 * (cpu_limit.h), or of those that affinity was set to since. */
int32_t tf_runtime_shares_cpus(const tf_runtime* runtime);

/* Joins the workers. No call may be running. Null is ignored. */
void tf_runtime_destroy(tf_runtime* runtime);

#ifdef __cplusplus
}
#endif
#endif
