#include "compiler/runtime/cpu_features.h"
#include "compiler/runtime/device/device.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/model.h"

extern "C" {

const char* tf_model_error_text(int32_t error) {
  if (const char* text = tf_missing_feature_text(error); text != nullptr) return text;
  if (const char* text = tf_noted_error(error); text != nullptr) return text;
  switch (error) {
    case TF_MODEL_OK:
      return "ok";
    case TF_KERNEL_BAD_ABI:
      return "a kernel was built for another ABI version: build the model again";
    case TF_KERNEL_SHORT_BUFFER:
      return "a kernel received a buffer that is too small";
    case TF_MODEL_BAD_ARGUMENT:
      return "an argument is a null pointer, fewer than no threads, a CPU that this process may not use, or "
             "a model that another library opened";
    case TF_MODEL_OUT_OF_MEMORY:
      return "no memory for activations, or threads cannot be started";
    case TF_MODEL_BAD_INDEX:
      return "an index (of a Gather) lies outside the axis that it selects from";
    case TF_MODEL_BAD_SIZE:
      return "an extent of an input is not the one that the model has, outside its dimension's range, or not "
             "that of "
             "another input with the same dimension; or a size inside the model is beyond what it was built "
             "for";
    case TF_MODEL_NO_DRIVER:
      return "the GPU's driver is not there";
    case TF_MODEL_NO_DEVICE:
      return "the GPU is not there";
    case TF_MODEL_DEVICE_REFUSES:
      return "the GPU cannot run the model's code";
    case TF_MODEL_DEVICE_MEMORY:
      return "the GPU has no memory for the model";
    case TF_MODEL_DEVICE_FAILED:
    case TF_MODEL_DEVICE_LOST:
      return "the GPU failed";
    case TF_MODEL_BAD_LIBRARY:
      return "the library is damaged or of another version: build the model again";
  }
  return "a kernel failed";
}

}  // extern "C"
