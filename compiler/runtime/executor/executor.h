#ifndef TF_RUNTIME_EXECUTOR_EXECUTOR_H
#define TF_RUNTIME_EXECUTOR_EXECUTOR_H
/* Owns: running a model's programs: kernels, branches and loops, each on its buffers. Does not know: whose buffers
 * the inputs and outputs are. */
#include "compiler/runtime/model_abi.h"
#include "compiler/runtime/model_types.h"

/* All tables have an entry for each entry of the model's table of the same name. */
typedef struct tf_execution {
  const tf_model_header* header;
  const tf_runtime* runtime;
  uint8_t* workspace; /* shared by all kernels */
  void** bound;       /* for each tensor: where it is in this run */
  void** buffers;     /* those in weights are there from the start */
  uint64_t* sizes_bytes;
  tf_model_profile profile; /* may be null */
  void* profile_context;
} tf_execution;

/* Where the program's buffers lie now: in its bound tensors and its arena. Inputs and outputs are bound already and
 * aligned to TF_ALIGNMENT. */
void tf_bind_program(tf_execution* run, uint32_t program, uint8_t* arena);

/* Runs the program's steps, whose buffers are bound. 0, or the error of a step. */
int32_t tf_run_program(tf_execution* run, uint32_t program);

#endif
