#pragma once
// Owns: writing the tables of model_abi.h from plain values, at compile time. Does not know: graphs or
// linking. The runtime that reads them is compiler/runtime/model.cpp.

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/runtime/model_abi.h"

namespace tf::runtime {

// A number of the tables: the value, which is the greatest where the number varies, and then the code that computes
// it from the dimensions (TF_CODE_*).
struct Sized {
  Sized() = default;
  Sized(std::integral auto fixed) : value(static_cast<int64_t>(fixed)) {}
  Sized(std::integral auto greatest, std::vector<int64_t> formula)
      : value(static_cast<int64_t>(greatest)), code(std::move(formula)) {}

  int64_t value = 0;
  std::vector<int64_t> code;  // empty: fixed
};

struct ModelTensor {
  std::string name;
  int32_t element = 0;  // TF_ELEMENT_*
  std::vector<Sized> extents;
  Sized size_bytes;
  int64_t index_extent = 0;  // as in tf_tensor_info
};

// As tf_model_buffer.
struct ModelBuffer {
  uint32_t space = TF_SPACE_INPUT;
  uint32_t index = 0;
  Sized offset_bytes;
  Sized size_bytes;
};

// Elements of a step's buffer that must lie in [-extent, extent).
struct ModelIndices {
  uint32_t buffer = 0;
  uint32_t element_bytes = 0;  // 4 or 8; 0: there are none
  Sized extent = 0;
};

// A dimension, by number, whose value is an i64 in a step's buffer after its call.
struct ModelMade {
  uint32_t dim = TF_NO_DIMENSION;
  uint32_t buffer = 0;
};

struct ModelStep {
  std::string name;  // of the graph's node
  uint32_t kind = TF_STEP_CALL;
  uint32_t body = 0,
           other_body = 0;  // programs, by number: 0 is the model's, body number i of the model is i + 1
  std::string key;          // of the tuning task, or empty
  uint32_t kernel = 0;
  std::vector<ModelBuffer> buffers;
  std::vector<Sized> dims;  // and the numbers of control flow and host functions
  uint64_t workspace_bytes = 0;
  uint64_t workspace_per_thread_bytes = 0;
  double flops = 0;
  double bytes = 0;
  ModelIndices indices;
  ModelMade made;
};

// As tf_model_tensor_map.
struct ModelTensorMap {
  uint32_t buffer = 0, element_bytes = 0;
  std::vector<uint64_t> extents;
  std::vector<uint32_t> box;  // as many
};

// As tf_model_launch.
struct ModelLaunch {
  std::string entry;
  uint32_t shared_bytes = 0;
  std::array<Sized, 3> grid = {1, 1, 1};  // codes over the dims of the step
  std::array<uint32_t, 3> block = {1, 1, 1};
  std::vector<ModelTensorMap> maps = {};
};

struct ModelCode {
  uint32_t kind = TF_DEVICE_CODE_OPENCL_C;
  std::string content;
};

// A kernel for a device: what it is in each code that there is, the best first.
struct ModelDeviceKernel {
  std::vector<ModelCode> codes;
  std::vector<ModelLaunch> launches;
  uint64_t workspace_bytes = 0;
  uint32_t dim_count = 0;  // of the step, that it takes
};

struct ModelProgram {
  std::vector<ModelTensor> inputs;
  std::vector<ModelTensor> outputs;
  std::vector<ModelStep> steps;  // in execution order
  uint64_t arena_bytes = 0;
};

struct ModelDim {
  std::string name;
  int64_t low = 0, high = 0;
  uint32_t made_by = TF_DIM_GIVEN;
  int64_t multiple_of = 1;
};

struct ModelVariant {
  uint32_t program = 0;         // by number, as in ModelStep
  std::vector<int64_t> values;  // of each dimension, or TF_ANY_VALUE
};

struct ModelDescription : ModelProgram {
  std::vector<ModelProgram> bodies;  // and variants; a body stands after the program that runs it
  std::vector<ModelDim> dims;
  std::vector<ModelVariant>
      variants;               // in any order; of those with as many fixed values the first is preferred
  uint64_t kernel_count = 0;  // length of tf_model_kernels; steps may share a kernel
  uint64_t weights_bytes = 0;
  uint64_t device_function = TF_NO_DEVICE;
  std::vector<ModelDeviceKernel> device_kernels;
};

// The bytes of tf_model_blob. INVALID_ARGUMENT, naming the step, if a buffer lies outside its space, is
// misaligned, or a kernel does not exist; and if a code, a dimension or a variant is not well formed, or the program of
// a variant, or one of its bodies, varies with a dimension that the variant fixes.
absl::StatusOr<std::string> encode_model(const ModelDescription& model);

}  // namespace tf::runtime
