#ifndef TF_RUNTIME_KERNEL_ABI_H
#define TF_RUNTIME_KERNEL_ABI_H
/* Owns: the C ABI between a generated kernel and whoever calls it. Plain C11, no dependency: it is part of
 * every built model's header. Knows nothing of how kernels are made.
 *
 * A kernel is `int32_t NAME(const tf_call*)`; 0 is success, any other value is a TF_KERNEL_* error. Kernels
 * are re-entrant: all state is in the call. Buffers are aligned to TF_ALIGNMENT and do not overlap, except
 * that an input which the manifest calls in_place may be the very buffer of the output. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TF_ABI_VERSION 1u
#define TF_ABI_VERSION_TENSOR_MAPS 2u /* of kernels for GPUs whose launches have tensor maps */
#define TF_ALIGNMENT 64u

enum {
  TF_KERNEL_OK = 0,
  TF_KERNEL_BAD_ABI = 1,      /* tf_call.abi_version is not the version that the kernel was built for */
  TF_KERNEL_SHORT_BUFFER = 2, /* a buffer is smaller than the manifest's size_bytes */
};

typedef struct tf_runtime tf_runtime;

/* One iteration of a parallel loop. `thread` is in [0, runtime->threads) and names the worker, so that a
 * kernel can give each worker its own slice of the workspace. Returns 0, or the kernel's error. */
typedef int32_t (*tf_parallel_task)(void* closure, int64_t index, int32_t thread);

struct tf_runtime {
  int32_t threads; /* at least 1 */
  /* Runs task(closure, i, thread) for every i in [0, count), in any order, and returns when all are done: 0,
   * or the error of one failed iteration. A nested call runs its iterations in the calling worker. */
  int32_t (*parallel_for)(const tf_runtime* runtime, int64_t count, tf_parallel_task task, void* closure);
};

typedef struct tf_call {
  uint32_t abi_version;        /* TF_ABI_VERSION */
  uint32_t buffer_count;       /* length of buffers and sizes_bytes: inputs, constants, then outputs, as the
                                  manifest lists them */
  void* const* buffers;        /* physical storage in the layout the manifest states */
  const uint64_t* sizes_bytes; /* capacity of each buffer */
  const int64_t* dims;         /* values of the workload's named dimensions, in the manifest's order */
  void* workspace; /* workspace_bytes + threads * workspace_per_thread_bytes, TF_ALIGNMENT-aligned; may be
                      null if 0 */
  const tf_runtime* runtime; /* never null */
} tf_call;

typedef int32_t (*tf_kernel)(const tf_call* call);

#ifdef __cplusplus
}
#endif
#endif
