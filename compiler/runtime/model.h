#ifndef TF_RUNTIME_MODEL_H
#define TF_RUNTIME_MODEL_H
/* Owns: the C API that a built model.so exports. This header stands alone: it is copied beside the library.
 *
 *   tf_model* model;
 *   if (tf_model_open(4, &model) != TF_MODEL_OK) …
 *   const void* inputs[] = {image};            // tf_model_input(model, 0)->size_bytes bytes, row-major
 *   void* outputs[] = {scores};
 *   int32_t error = tf_model_run(model, inputs, outputs);
 *   tf_model_close(model);
 *
 * A tf_model holds one activation arena: one tf_model_run at a time. For parallel runs open it several times;
 * the weights are shared. The first open copies them into large pages where the system has these, which takes
 * some milliseconds for every 10 MB; the last close frees the copy. It is memory of each process that opens
 * the model, as large as the weights, and cannot be paged out to the library's file. It is made only if it
 * takes a quarter of available memory (the machine's, the container's) at most; otherwise, and where large
 * pages are turned off, all processes read the weights from the one library, whose pages the system may drop
 * and read again. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TF_MODEL_API __attribute__((visibility("default")))
#else
#define TF_MODEL_API
#endif

enum {
  TF_MODEL_OK = 0,
  TF_MODEL_BAD_ARGUMENT = 100,  /* a null pointer, fewer than one thread, or a CPU that there is not */
  TF_MODEL_OUT_OF_MEMORY = 101, /* no memory for the arena, or no thread */
  TF_MODEL_BAD_LIBRARY = 102,   /* the library's tables are of another version, or inconsistent */
  /* 1 … 99: the error of the kernel that failed (kernel_abi.h) */
};

/* Values of tf_tensor_info.element, as in kernel.proto. */
enum {
  TF_ELEMENT_BOOL = 1,
  TF_ELEMENT_INT8 = 2,
  TF_ELEMENT_UINT8 = 3,
  TF_ELEMENT_INT32 = 4,
  TF_ELEMENT_INT64 = 5,
  TF_ELEMENT_FLOAT16 = 6,
  TF_ELEMENT_BFLOAT16 = 7,
  TF_ELEMENT_FLOAT32 = 8,
  TF_ELEMENT_FLOAT64 = 9,
};

typedef struct tf_model tf_model;

/* All strings and arrays live as long as the library is loaded. */
typedef struct tf_tensor_info {
  const char* name;
  int32_t element;
  int32_t rank;
  const int64_t* extents;
  uint64_t size_bytes;
} tf_tensor_info;

typedef struct tf_kernel_info {
  const char* name; /* of the graph's node, for people */
  const char* key;  /* of the tuning task; empty if the kernel is not tunable */
  double flops;
  double bytes; /* compulsory traffic: every operand once */
} tf_kernel_info;

/* Called after each kernel with its index in execution order and CLOCK_MONOTONIC times. */
typedef void (*tf_model_profile)(void* context, int32_t kernel, int64_t start_ns, int64_t end_ns);

/* Makes the arena and `threads` workers. *model is null on failure. */
TF_MODEL_API int32_t tf_model_open(int32_t threads, tf_model** model);
TF_MODEL_API void tf_model_close(tf_model* model);

/* Keeps the workers on CPUs: worker t on the one with number cpus[t % count], worker 0 being the calling
 * thread, which is to call tf_model_run. TF_MODEL_BAD_ARGUMENT if count is under 1 or this process may not
 * use one of them; threads may then be placed in part. Otherwise the system places threads as it likes. */
TF_MODEL_API int32_t tf_model_set_affinity(tf_model* model, const int32_t* cpus, int32_t count);

TF_MODEL_API int32_t tf_model_input_count(const tf_model* model);
TF_MODEL_API int32_t tf_model_output_count(const tf_model* model);
/* Null if the index is out of range. */
TF_MODEL_API const tf_tensor_info* tf_model_input(const tf_model* model, int32_t index);
TF_MODEL_API const tf_tensor_info* tf_model_output(const tf_model* model, int32_t index);

/* Runs the network. Buffers are row-major, of the stated size, and do not overlap; those aligned to 64 bytes
 * are used in place, others are copied. Inputs are not written. */
TF_MODEL_API int32_t tf_model_run(tf_model* model, const void* const* inputs, void* const* outputs);

TF_MODEL_API int32_t tf_model_kernel_count(const tf_model* model);
TF_MODEL_API const tf_kernel_info* tf_model_kernel(const tf_model* model, int32_t index);
/* Null `profile` turns profiling off. */
TF_MODEL_API void tf_model_set_profile(tf_model* model, tf_model_profile profile, void* context);

/* One line for people. */
TF_MODEL_API const char* tf_model_error_text(int32_t error);

#ifdef __cplusplus
}
#endif
#endif
