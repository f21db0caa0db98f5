#ifndef TF_RUNTIME_DEVICE_DEVICE_RUN_H
#define TF_RUNTIME_DEVICE_DEVICE_RUN_H
/* Owns: running a model's steps on a device of any driver. */
#include "compiler/runtime/device/device.h"
#include "compiler/runtime/gpu/gpu.h"

/* As tf_device_runtime has them; open also takes the driver and its kinds of code (bits: 1 << TF_DEVICE_CODE_*). */
int32_t tf_open_device_run(const tf::gpu::Driver& driver, uint32_t code_kinds, const tf_execution* run,
                           const uint8_t* weights, const tf_device* choice, tf_device_run** device);
void tf_close_device_run(tf_device_run* device);
const tf_device* tf_describe_device(const tf_device_run* device);
int32_t tf_give_device_memory(tf_device_run* device, const tf_execution* run, void* const* memory);
int32_t tf_run_device_step(tf_device_run* device, const tf_execution* run, uint32_t step, int64_t* device_ns);
int32_t tf_finish_device(tf_device_run* device);
int32_t tf_copy_device_memory(tf_device_run* device, void* memory, void* host, uint64_t size_bytes,
                              int32_t to_device);

#endif
