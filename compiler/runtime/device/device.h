#ifndef TF_RUNTIME_DEVICE_DEVICE_H
#define TF_RUNTIME_DEVICE_DEVICE_H
/* Owns: the interface of the runtime's part for devices: what runs those steps of a model that are launches and copies.
 * Does not know: drivers. */
#include "compiler/runtime/executor/executor.h"
#include "compiler/runtime/model_types.h"

/* A model on a device: its code, weights and activations there. One run at a time. */
typedef struct tf_device_run tf_device_run;

/* What tf_model_kernels[device_function] stores where the call's first buffer points. All functions return TF_MODEL_OK or an
 * error, whose words tf_note_error keeps. */
typedef struct tf_device_runtime {
  /* Takes all that the tables say of devices, and the weights, to the device. `choice` as in tf_model_open_on. */
  int32_t (*open)(const tf_execution* run, const uint8_t* weights, const tf_device* choice,
                  tf_device_run** device);
  void (*close)(tf_device_run* device);
  const tf_device* (*describe)(const tf_device_run* device);
  /* Before a run of the first program: for each input, then each output, the caller's memory on the device that the
   * run uses instead of the model's own, or null. */
  int32_t (*give)(tf_device_run* device, const tf_execution* run, void* const* memory);
  /* One step. Launches do not wait. With `device_ns` it waits and gives the step's own time. */
  int32_t (*run_step)(tf_device_run* device, const tf_execution* run, uint32_t step, int64_t* device_ns);
  /* Waits for all steps. */
  int32_t (*finish)(tf_device_run* device);
  /* Copies between the host and memory of the caller, whole. Waits. */
  int32_t (*copy)(tf_device_run* device, void* memory, void* host, uint64_t size_bytes, int32_t to_device);
} tf_device_runtime;

/* Those of the drivers: functions for tf_model_kernels. */
#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)
int32_t tf_opencl_device(const tf_call* call);
int32_t tf_cuda_device(const tf_call* call);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Whether what the tables say of devices is consistent. Of a header whose tables fit and whose programs are valid. */
bool tf_device_tables_valid(const tf_model_header* header);

/* Whether the step's buffers or dims depend on the dimensions. */
bool tf_step_varies(const tf_model_header* header, const tf_model_step& step);

/* Of the first program's tensor, inputs first: whether the host reads or writes it, but for copies. */
bool tf_used_on_host(const tf_model_header* header, uint64_t tensor);
/* Whether nothing is computed on the host, in any program. */
bool tf_all_on_device(const tf_model_header* header);

/* What tf_model_error_text says of this error from now on, until the next one: a line of which the first 1023 bytes are kept. */
int32_t tf_note_error(int32_t error, const char* line);
/* Null if none was noted. */
const char* tf_noted_error(int32_t error);

#endif
