#ifndef TF_RUNTIME_EXECUTOR_EXECUTOR_H
#define TF_RUNTIME_EXECUTOR_EXECUTOR_H
/* Owns: running a model's programs: kernels, branches and loops, each on its buffers. Does not know: whose buffers
 * the inputs and outputs are. */
#include "compiler/runtime/model_abi.h"
#include "compiler/runtime/model_types.h"

/* Of a model with dimensions: copies of its tables in which formulas put what they give (sizes.h). All null without. */
typedef struct tf_sizes {
  int64_t* values; /* of the dimensions, when the formulas were evaluated */
  bool evaluated;
  uint64_t evaluations; /* how many there were: sizes are others where this number is another one */
  int64_t* numbers;
  tf_model_tensor* tensors;
  tf_model_buffer* places;
} tf_sizes;

/* All tables have an entry for each entry of the model's table of the same name. */
typedef struct tf_execution {
  const tf_model_header* header;
  const tf_runtime* runtime;
  const int64_t* numbers; /* these three: the sizes of this run, in the model's tables or in `sizes` */
  const tf_model_tensor* tensors;
  const tf_model_buffer* places;
  tf_sizes sizes;
  uint8_t* workspace; /* shared by all kernels */
  void** bound;       /* for each tensor: where it is in this run */
  void** buffers;     /* those in weights are there from the start */
  uint64_t* sizes_bytes;
  tf_model_profile profile; /* may be null */
  void* profile_context;
  const struct tf_device_runtime* on_device; /* of a model for a device, with the next; else null */
  struct tf_device_run* device;
} tf_execution;

/* Runs the program's steps on its bound tensors and its arena. Inputs and outputs are bound already and aligned to
 * TF_ALIGNMENT. Sizes that a step makes are set for the steps after it (tf_set_size). 0, or the error of a step. */
int32_t tf_run_program(tf_execution* run, uint32_t program, uint8_t* arena);

#endif
