#ifndef TF_RUNTIME_MODEL_ABI_H
#define TF_RUNTIME_MODEL_ABI_H
/* Owns: the tables that the compiler writes into a model.so and that the runtime in it reads. Four symbols,
 * hidden in the library:
 *
 *   tf_model_blob      const bytes, 16-byte aligned: a tf_model_header and its tables. Offsets are in bytes
 *                      from the start of the blob, so the bytes do not depend on where they are loaded.
 *                      Written by tf::runtime::encode_model (compiler/runtime/blob/model_blob.h).
 *   tf_model_kernels   const tf_kernel[]: the kernel functions; the only table that holds addresses
 *   tf_model_weights   const bytes, aligned to TF_ALIGNMENT: the packed constants
 *   tf_model_features  const char[]: the CPU features that the kernels were compiled for, as
 *                      tf_missing_feature takes them (compiler/runtime/cpu_features.h)
 *
 * The library exports the functions of compiler/runtime/model.h, with the model's prefix for tf_model, and
 *
 *   tf_model_prefix    const char[]: that prefix, zero-terminated, for programs that find a model by dlopen.
 *                      dlsym on the model's handle gives the model's own.
 *
 * All numbers are in the target's byte order (little-endian on every supported target). */

#include <stdint.h>

#include "compiler/runtime/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TF_MODEL_MAGIC 0x444d4654u /* "TFMD" */
#define TF_MODEL_VERSION 10u

/* What model.h declares after the prefix tf_model_. */
#define TF_MODEL_FUNCTIONS(each)                                                                            \
  each(open) each(close) each(set_affinity) each(input_count) each(output_count) each(input) each(output)   \
      each(dim_count) each(dim) each(run) each(run_sizes) each(kernel_count) each(kernel) each(set_profile) \
          each(error_text) each(open_on) each(device) each(run_on)

/* Where a kernel's buffer lives. In each space it starts at `offset_bytes`, a multiple of TF_ALIGNMENT. */
enum {
  TF_SPACE_INPUT = 0,   /* the program's input number `index` */
  TF_SPACE_OUTPUT = 1,  /* the program's output number `index` */
  TF_SPACE_WEIGHTS = 2, /* tf_model_weights */
  TF_SPACE_ARENA = 3,   /* the program's activation arena */
};

typedef struct tf_model_buffer {
  uint32_t space;
  uint32_t index; /* inputs and outputs */
  uint64_t offset_bytes;
  uint64_t size_bytes;
} tf_model_buffer;

typedef struct tf_model_tensor {
  uint32_t name; /* offset in strings */
  uint32_t element;
  uint32_t rank;
  uint32_t first_extent; /* index in numbers */
  uint64_t size_bytes;
  int64_t index_extent; /* as in tf_tensor_info */
} tf_model_tensor;

enum {
  /* Calls the kernel or host function tf_model_kernels[kernel]. */
  TF_STEP_CALL = 0,
  /* Runs the program `body` if the first buffer, a bool, is true, else `other_body`. Buffers: the condition, the
   * programs' inputs, their outputs, their arena (as large as the larger one's). */
  TF_STEP_BRANCH = 1,
  /* Runs the program `body` again and again. Its numbers (in place of dims) are conditional, carried, scanned,
   * joined, then a direction for each scanned input and each joined output: 0 forward, 1 backward.
   *   body's inputs: the iteration (i64), carried…, slices of scanned…, others
   *   body's outputs: [the condition (bool), if conditional], carried…, slices of joined…
   *   buffers: trips (i64), [the condition, if conditional], carried…, scanned…, others,
   *            results: carried…, joined…,
   *            memory: iteration, condition, another place for each carried value, one slice for each scanned
   *            input and each joined output, the body's arena
   * It fails if there are more trips than slices. */
  TF_STEP_LOOP = 2,
  /* The next three stand only in the first program or in variants, never in bodies, and in no model with a dimension that
   * is made (TF_DIM_MADE). Buffers of launches begin at multiples of TF_DEVICE_ALIGNMENT.
   * Runs the device kernel `kernel` on the buffers in the device's memory. */
  TF_STEP_LAUNCH = 3,
  /* Copies the bytes of the one buffer, which is none in the weights, from the host's memory to the same place in the
   * device's. */
  TF_STEP_UPLOAD = 4,
  /* The same from the device to the host. */
  TF_STEP_DOWNLOAD = 5,
};

/* Of what kernels on a device get: all drivers take parts of memory from such places on. */
#define TF_DEVICE_ALIGNMENT 512u

/* For tf_model_step.made_dim. */
#define TF_NO_DIMENSION UINT32_MAX

/* One step; the order of a program's is the order of execution. */
typedef struct tf_model_step {
  uint32_t kind; /* TF_STEP_* */
  uint32_t body; /* index in programs, greater than that of the step's own program */
  uint32_t other_body;
  uint32_t name;   /* offset in strings */
  uint32_t key;    /* offset in strings */
  uint32_t kernel; /* index in tf_model_kernels */
  uint32_t first_buffer;
  uint32_t buffer_count; /* in the order of tf_call.buffers */
  uint32_t first_dim;    /* index in numbers; the values of tf_call.dims */
  uint32_t dim_count;
  /* Indices, to be checked before the call: all elements of this buffer, signed integers of index_bytes (4 or
   * 8) each, lie in [-extent, extent), where the extent is the number behind the dims. Without any, index_bytes is 0. */
  uint32_t index_bytes;
  uint32_t index_buffer; /* from 0, of the step's own */
  /* The dimension whose value the call leaves as an i64 at the start of the step's buffer made_buffer, or
   * TF_NO_DIMENSION. Only calls in the first program and in variants make dimensions, each at most once. Formulas that
   * use a made dimension are those of later steps of that program, and of its tensors; bodies have none. */
  uint32_t made_dim;
  uint32_t made_buffer;
  uint64_t workspace_bytes;
  uint64_t workspace_per_thread_bytes;
  double flops;
  double bytes;
} tf_model_step;

/* Steps on buffers. The first program is the model; the others are its variants, and bodies of branches and loops. */
typedef struct tf_model_program {
  uint32_t first_tensor; /* its inputs, then its outputs */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t first_step;
  uint32_t step_count;
  uint32_t first_buffer; /* those of its steps */
  uint32_t buffer_count;
  uint32_t reserved;
  uint64_t arena_bytes;
} tf_model_program;

/* A dimension: an extent with a name that may differ from run to run. The first program and its bodies are right for
 * every value: formulas give the extents, sizes, offsets and numbers of a run. In the tables stand the greatest
 * extents and sizes that they may give, for which memory is planned. */
enum {
  TF_DIM_GIVEN = 0, /* by the extent of an input */
  TF_DIM_MADE = 1,  /* by a step (made_dim), during a run; the greatest value until then */
};

typedef struct tf_model_dimension {
  uint32_t name;       /* offset in strings */
  uint32_t made_by;    /* TF_DIM_* */
  int64_t low;         /* its least value, at least 0 */
  int64_t high;        /* its greatest */
  int64_t multiple_of; /* its values are multiples of this number, at least 1 */
} tf_model_dimension;

/* In place of a variant's value: the variant is for every value of the dimension, as for all that are made. */
#define TF_ANY_VALUE (-1)

/* A program that runs in place of the first one when the given dimensions have these values. Its formulas use only the
 * dimensions whose value is TF_ANY_VALUE. Variants with more fixed values come first: a run takes the first that has
 * its values. */
typedef struct tf_model_variant {
  uint32_t program;
  uint32_t first_value; /* index in numbers: a value for each dimension, or TF_ANY_VALUE */
} tf_model_variant;

/* What a formula gives. */
enum {
  TF_FORMULA_NUMBER = 0,        /* numbers[index]: an extent, or a number of a step */
  TF_FORMULA_TENSOR_BYTES = 1,  /* tensors[index].size_bytes */
  TF_FORMULA_BUFFER_BYTES = 2,  /* buffers[index].size_bytes */
  TF_FORMULA_BUFFER_OFFSET = 3, /* buffers[index].offset_bytes */
};

/* The code of a formula, in numbers: a postfix program on a stack of TF_FORMULA_DEPTH int64, which leaves the value.
 * Binary operations replace the two numbers on the top, of which the upper one is the right operand. */
#define TF_FORMULA_DEPTH 16u
enum {
  TF_CODE_NUMBER = 0, /* pushes the next number of the code */
  TF_CODE_DIM = 1,    /* pushes the value of the dimension whose number comes next */
  TF_CODE_ADD = 2,
  TF_CODE_SUB = 3,
  TF_CODE_MUL = 4,
  TF_CODE_FLOOR_DIV = 5, /* towards minus infinity; by 0: 0 */
  TF_CODE_FLOOR_MOD = 6, /* has the sign of the divisor; by 0: 0 */
  TF_CODE_MIN = 7,
  TF_CODE_MAX = 8,
};

/* Sorted by target, then by index; one for each. */
typedef struct tf_model_formula {
  uint32_t target; /* TF_FORMULA_* */
  uint32_t index;
  uint32_t first_code; /* index in numbers */
  uint32_t code_count;
} tf_model_formula;

/* Code for a device. */
enum {
  TF_DEVICE_CODE_OPENCL_C = 1, /* source text */
  TF_DEVICE_CODE_CUBIN = 2,
  TF_DEVICE_CODE_PTX = 3,
};

typedef struct tf_model_code {
  uint32_t kind; /* TF_DEVICE_CODE_OPENCL_C, … */
  uint32_t reserved;
  uint64_t first_byte; /* in codes_bytes */
  uint64_t byte_count; /* at least 1 */
} tf_model_code;

/* A kernel for a device: its launches, one after another, in code that the device takes. */
typedef struct tf_model_device_kernel {
  uint32_t first_code;   /* index in codes: the first that the device takes is used */
  uint32_t code_count;   /* at least 1 */
  uint32_t first_launch; /* index in launches, behind those of the kernel before */
  uint32_t launch_count;
  uint64_t workspace_bytes; /* of device memory: one more buffer after the step's, if not 0 */
  uint32_t dim_count;       /* of its last arguments, the step's dims; 0: none, whatever the step has */
  uint32_t reserved;
} tf_model_device_kernel;

/* Blocks have at most this many threads; along one axis, all blocks together have fewer than 2^32. */
#define TF_MOST_BLOCK_THREADS 4096u
#define TF_MOST_SHARED_BYTES (1u << 20)

typedef struct tf_model_launch {
  uint32_t entry; /* offset in strings */
  uint32_t shared_bytes;
  uint32_t grid[3]; /* blocks, where they depend on dims the most; one 0: there is nothing to do */
  uint32_t block[3];
  /* Codes, in numbers, that give the blocks of a run: TF_CODE_DIM pushes a dim of the step. Without one, the count is 0. */
  uint32_t first_code[3];
  uint32_t code_count[3];
  uint32_t first_map; /* index in tensor_maps */
  uint32_t map_count; /* parameters behind the buffers */
} tf_model_launch;

/* Of a row-major tensor in one of the launch's buffers, what the device copies at once: kernel.v1.TensorMap. */
#define TF_MOST_TENSOR_AXES 5
typedef struct tf_model_tensor_map {
  uint32_t buffer;
  uint32_t element_bytes;
  uint32_t rank;
  uint32_t box[TF_MOST_TENSOR_AXES];
  uint64_t extents[TF_MOST_TENSOR_AXES];
} tf_model_tensor_map;

/* For tf_model_header.device_function. */
#define TF_NO_DEVICE UINT64_MAX

typedef struct tf_model_table {
  uint64_t offset_bytes; /* from the blob's start */
  uint64_t count;        /* of elements */
} tf_model_table;

typedef struct tf_model_header {
  uint32_t magic;
  uint32_t version;
  uint64_t blob_bytes;
  uint64_t weights_bytes;
  uint64_t kernel_count;   /* length of tf_model_kernels */
  tf_model_table programs; /* tf_model_program */
  tf_model_table tensors;  /* tf_model_tensor */
  tf_model_table steps;    /* tf_model_step */
  tf_model_table buffers;  /* tf_model_buffer */
  tf_model_table numbers;  /* int64_t */
  tf_model_table strings;  /* char: zero-terminated texts; offset 0 is the empty text */
  tf_model_table dims;     /* tf_model_dimension */
  tf_model_table variants; /* tf_model_variant */
  tf_model_table formulas; /* tf_model_formula */
  /* Of a model for a device. The function, tf_model_kernels[device_function], makes no call of a kernel but gives the
   * device's part of the runtime (compiler/runtime/device/device.h). TF_NO_DEVICE: all runs on the host. */
  uint64_t device_function;
  tf_model_table device_kernels; /* tf_model_device_kernel */
  tf_model_table codes;          /* tf_model_code */
  tf_model_table launches;       /* tf_model_launch */
  tf_model_table tensor_maps;    /* tf_model_tensor_map */
  tf_model_table codes_bytes;    /* bytes */
} tf_model_header;

#pragma GCC visibility push(hidden)
extern const uint8_t tf_model_blob[];
extern const tf_kernel tf_model_kernels[];
extern const uint8_t tf_model_weights[];
extern const char tf_model_features[];
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
