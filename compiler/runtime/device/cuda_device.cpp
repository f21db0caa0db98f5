#include "compiler/runtime/device/device_run.h"

namespace {

int32_t open_cuda_run(const tf_execution* run, const uint8_t* weights, const tf_device* choice,
                      tf_device_run** device) {
  return tf_open_device_run(tf::gpu::cuda_driver(), (1u << TF_DEVICE_CODE_CUBIN) | (1u << TF_DEVICE_CODE_PTX),
                            run, weights, choice, device);
}

}  // namespace

extern "C" int32_t tf_cuda_device(const tf_call* call) {
  static const tf_device_runtime runtime = {open_cuda_run,         tf_close_device_run, tf_describe_device,
                                            tf_give_device_memory, tf_run_device_step,  tf_finish_device,
                                            tf_copy_device_memory};
  *static_cast<const tf_device_runtime**>(call->buffers[0]) = &runtime;
  return 0;
}
