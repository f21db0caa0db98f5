#ifndef TF_RUNTIME_MODEL_H
#define TF_RUNTIME_MODEL_H
/* Owns: the C API that a built model.so exports, with tf_model_ in place of the model's own prefix. What
 * follows the next include goes into the header beside each model, with its prefix (compiler/driver). */
#include "compiler/runtime/model_types.h"

/*   tf_model* model;
 *   int32_t error = tf_model_open(4, &model);
 *   if (error != TF_MODEL_OK) … tf_model_error_text(error)
 *   const void* inputs[] = {image};            // tf_model_input(model, 0)->size_bytes bytes, row-major
 *   void* outputs[] = {scores};
 *   error = tf_model_run(model, inputs, outputs);
 *   tf_model_close(model);
 *
 * A tf_model has one activation arena, so only one tf_model_run may run at a time. For parallel runs, open the
 * model several times; the weights are shared. If the system has large pages, the first open copies the weights
 * into them, which takes some milliseconds per 10 MB; the last close frees the copy. Each process that opens the
 * model has its own copy, which cannot be paged out to the library's file. No copy is made if it would take more
 * than a quarter of the available memory (of the machine or the container), or if large pages are turned off. All
 * processes then share the library's pages, which the system may evict and read again.
 *
 * A process may fork while models are open, unless a thread is opening or closing one. The child may run and close
 * these models, independently of its parent; it gets its own threads. This does not apply to models on GPUs, whose
 * drivers do not work in a child: the child must not run or close them, and must not open any before exec. A child
 * that was forked before the first model on a GPU was opened may open them. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tf_model tf_model;

/* Creates the arena and `threads` workers. With 0, the number of workers is the number of CPUs that this process may
 * use, by its affinity and its container's CPU quota. *model is null on failure. If the CPU lacks a feature that the
 * model needs, fails with TF_MODEL_MISSING_FEATURE or a code after it, before any code that needs it runs. */
TF_MODEL_API int32_t tf_model_open(int32_t threads, tf_model** model);
TF_MODEL_API void tf_model_close(tf_model* model);

/* Pins the workers to CPUs: worker t to the CPU with number cpus[t % count]. Worker 0 is the calling thread, which
 * must also call tf_model_run. TF_MODEL_BAD_ARGUMENT if count is less than 1, or if this process may not use one of
 * the CPUs; some threads may then be pinned already. Without this call, the system places the threads. */
TF_MODEL_API int32_t tf_model_set_affinity(tf_model* model, const int32_t* cpus, int32_t count);

TF_MODEL_API int32_t tf_model_input_count(const tf_model* model);
TF_MODEL_API int32_t tf_model_output_count(const tf_model* model);
/* The number of dimensions; 0 for a model with fixed sizes. */
TF_MODEL_API int32_t tf_model_dim_count(const tf_model* model);
/* The next three return null if the index is out of range. */
TF_MODEL_API const tf_dim_info* tf_model_dim(const tf_model* model, int32_t index);
TF_MODEL_API const tf_tensor_info* tf_model_input(const tf_model* model, int32_t index);
TF_MODEL_API const tf_tensor_info* tf_model_output(const tf_model* model, int32_t index);

/* Runs the network. TF_MODEL_BAD_ARGUMENT if the model was opened by another library. Buffers must be row-major, have
 * the stated size, and not overlap. Buffers that are aligned to 64 bytes are used in place; others are copied. Inputs
 * are not written. A model with dimensions runs at the maximum of each. If the size of an output depends on data, only
 * a part of the buffer is filled; use tf_model_run_sizes to get the size. */
TF_MODEL_API int32_t tf_model_run(tf_model* model, const void* const* inputs, void* const* outputs);

/* Runs the network at the sizes of its inputs, one tf_tensor for each. Their extents give the dimensions their values:
 *
 *   const int64_t extents[] = {8, 3, 224, 224};  // tf_model_input(model, 0)->dims[0] is 0, the dimension "batch"
 *   tf_tensor input = {images, extents}, output;
 *   error = tf_model_run_sizes(model, &input, &output);
 *   … output.data, output.extents
 *
 * TF_MODEL_BAD_SIZE if an extent differs from a fixed one, is not a value of its dimension (tf_dim_info), or if two
 * inputs give a dimension different values. Inputs that are aligned to 64 bytes are used in place; others are copied.
 * Inputs are not written. The data of an empty input may be null.
 * `outputs` must have room for one tf_tensor per output; it is filled if the run succeeds. Their data and extents are
 * in the model's memory, and are valid until the model's next run or close. This memory is allocated once, for the
 * maximum sizes; the system provides its pages when they are written.
 * Sizes for which a variant was built run at the variant's speed. All other sizes run code that is correct for all. */
TF_MODEL_API int32_t tf_model_run_sizes(tf_model* model, const tf_tensor* inputs, tf_tensor* outputs);

/* tf_model_open opens a model that was built for a GPU on the driver's device 0, or on the one that the environment
 * variable TF_DEVICE gives. This function opens it on another device. `device` has the name of the driver (or null)
 * and the index; or a context and a queue for the model to use (null context: it creates both). The queue must be
 * in order, with profiling for OpenCL, and both must outlive the model. With a null `device`: as tf_model_open.
 * TF_MODEL_BAD_ARGUMENT if a device is given to a model without GPU code. Models on the same queue need no
 * synchronisation between them. No call changes the current CUDA context of the thread. */
TF_MODEL_API int32_t tf_model_open_on(int32_t threads, const tf_device* device, tf_model** model);
/* The device that the model runs on; null if it has none. */
TF_MODEL_API const tf_device* tf_model_device(const tf_model* model);
/* Like tf_model_run, but each input and output is in host or device memory. Device memory is used without a copy,
 * unless a step on the host needs the data. If all outputs are in device memory and nothing runs on the host, the call
 * returns when its work is queued. Then access inputs and outputs only by work that is queued after it. Otherwise the
 * call waits. For models with fixed sizes. */
TF_MODEL_API int32_t tf_model_run_on(tf_model* model, const tf_memory* inputs, const tf_memory* outputs);

TF_MODEL_API int32_t tf_model_kernel_count(const tf_model* model);
TF_MODEL_API const tf_kernel_info* tf_model_kernel(const tf_model* model, int32_t index);
/* A null `profile` turns profiling off. */
TF_MODEL_API void tf_model_set_profile(tf_model* model, tf_model_profile profile, void* context);

/* A description of the error, in one line. */
TF_MODEL_API const char* tf_model_error_text(int32_t error);

#ifdef __cplusplus
}
#endif
#endif
