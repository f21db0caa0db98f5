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
 * A tf_model holds one activation arena: one tf_model_run at a time. For parallel runs open it several times;
 * the weights are shared. The first open copies them into large pages where the system has these, which takes
 * some milliseconds for every 10 MB; the last close frees the copy. Each process that opens the model has a
 * copy of its own, which cannot be paged out to the library's file. No copy is made if it would take more than
 * a quarter of the available memory (of the machine or the container), or if large pages are turned off: then
 * all processes share the library's pages, which the system may drop and read again.
 *
 * A process may fork while models are open, if no thread is just opening or closing one: the child may run
 * them, for which it gets threads of its own, and close them, independently of its parent. Not so models on GPUs, whose
 * drivers do not work in a child: it neither runs nor closes them, and opens none before exec. One that forks before its
 * first model on a GPU is opened may open some. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tf_model tf_model;

/* Makes the arena and `threads` workers; 0: as many as there are CPUs for this process, by its affinity and its
 * container's CPU quota. *model is null on failure. Fails with TF_MODEL_MISSING_FEATURE or a code after it on
 * a machine without a CPU feature that the model was built for, before any code runs that needs it. */
TF_MODEL_API int32_t tf_model_open(int32_t threads, tf_model** model);
TF_MODEL_API void tf_model_close(tf_model* model);

/* Keeps the workers on CPUs: worker t on the one with number cpus[t % count], worker 0 being the calling
 * thread, which is to call tf_model_run. TF_MODEL_BAD_ARGUMENT if count is under 1 or this process may not
 * use one of them; threads may then be placed in part. Otherwise the system places threads as it likes. */
TF_MODEL_API int32_t tf_model_set_affinity(tf_model* model, const int32_t* cpus, int32_t count);

TF_MODEL_API int32_t tf_model_input_count(const tf_model* model);
TF_MODEL_API int32_t tf_model_output_count(const tf_model* model);
/* How many extents vary; 0 for a model whose sizes are all fixed. */
TF_MODEL_API int32_t tf_model_dim_count(const tf_model* model);
/* These three: null if the index is out of range. */
TF_MODEL_API const tf_dim_info* tf_model_dim(const tf_model* model, int32_t index);
TF_MODEL_API const tf_tensor_info* tf_model_input(const tf_model* model, int32_t index);
TF_MODEL_API const tf_tensor_info* tf_model_output(const tf_model* model, int32_t index);

/* Runs the network. TF_MODEL_BAD_ARGUMENT if the model was opened by another library. Buffers are row-major,
 * of the stated size, and do not overlap; those aligned to 64 bytes are used in place, others are copied.
 * Inputs are not written. A model with dimensions runs at the greatest value of each. Outputs whose size a run finds are
 * filled as far as they go; tf_model_run_sizes tells how far. */
TF_MODEL_API int32_t tf_model_run(tf_model* model, const void* const* inputs, void* const* outputs);

/* Runs the network at the sizes of its inputs, one tf_tensor for each. Their extents give the dimensions their values:
 *
 *   const int64_t extents[] = {8, 3, 224, 224};  // tf_model_input(model, 0)->dims[0] is 0, the dimension "batch"
 *   tf_tensor input = {images, extents}, output;
 *   error = tf_model_run_sizes(model, &input, &output);
 *   … output.data, output.extents
 *
 * TF_MODEL_BAD_SIZE if an extent is not the fixed one, or not a value of the dimension (tf_dim_info), or two inputs
 * give one dimension two values. Inputs are used in place if aligned to 64 bytes, else copied, and not written; the data of an
 * empty one may be null.
 * `outputs` has room for one tf_tensor for each output and is filled if the run succeeds. Their data and extents are
 * the model's memory: read them until the next run of this model, or its close. It is allocated once, for the greatest
 * sizes, of which the system gives the pages that are written.
 * Values for which the network was built on its own run at its speed; all others run code that is right for each. */
TF_MODEL_API int32_t tf_model_run_sizes(tf_model* model, const tf_tensor* inputs, tf_tensor* outputs);

/* A model that was built for a GPU opens the driver's device number 0, or that of the environment variable TF_DEVICE;
 * this opens it on another: `device` names its driver and index, or has null for the driver, and a context and a queue
 * (in order, with profiling for OpenCL) that the model is to use and that outlive it, or null for its own. Null `device`, and a
 * model without a GPU: as tf_model_open, TF_MODEL_BAD_ARGUMENT if a device is given to the latter. Models on one queue need no
 * waiting between them. No call changes which CUDA context is the thread's current one. */
TF_MODEL_API int32_t tf_model_open_on(int32_t threads, const tf_device* device, tf_model** model);
/* The one that it runs on; null: none. */
TF_MODEL_API const tf_device* tf_model_device(const tf_model* model);
/* As tf_model_run, on memory of the host or of the device, for each input and output. What is in the device's memory is
 * used there without a copy, where no step on the host needs it. If all outputs are in the device's memory and nothing
 * runs on the host, the call returns when its work is in the queue: inputs and outputs are to be left alone until what
 * is put in the queue after it. Else it waits. For models of fixed sizes. */
TF_MODEL_API int32_t tf_model_run_on(tf_model* model, const tf_memory* inputs, const tf_memory* outputs);

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
