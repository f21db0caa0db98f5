#pragma once
// Owns: writing the tables of model_abi.h from plain values, at compile time. Does not know: graphs or
// linking. The runtime that reads them is compiler/runtime/model.cpp.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/runtime/model_abi.h"

namespace tf::runtime {

struct ModelTensor {
  std::string name;
  int32_t element = 0;  // TF_ELEMENT_*
  std::vector<int64_t> extents;
  uint64_t size_bytes = 0;
  int64_t index_extent = 0;  // as in tf_tensor_info
};

// Elements of a step's buffer that must lie in [-extent, extent).
struct ModelIndices {
  uint32_t buffer = 0;
  uint32_t element_bytes = 0;  // 4 or 8; 0: there are none
  int64_t extent = 0;
};

struct ModelStep {
  std::string name;  // of the graph's node
  uint32_t kind = TF_STEP_CALL;
  uint32_t body = 0,
           other_body = 0;  // programs, by number: 0 is the model's, body number i of the model is i + 1
  std::string key;          // of the tuning task, or empty
  uint32_t kernel = 0;
  std::vector<tf_model_buffer> buffers;
  std::vector<int64_t> dims;  // and the numbers of control flow and host functions
  uint64_t workspace_bytes = 0;
  uint64_t workspace_per_thread_bytes = 0;
  double flops = 0;
  double bytes = 0;
  ModelIndices indices;
};

struct ModelProgram {
  std::vector<ModelTensor> inputs;
  std::vector<ModelTensor> outputs;
  std::vector<ModelStep> steps;  // in execution order
  uint64_t arena_bytes = 0;
};

struct ModelDescription : ModelProgram {
  std::vector<ModelProgram> bodies;  // a body stands after the program that runs it
  uint64_t kernel_count = 0;         // length of tf_model_kernels; steps may share a kernel
  uint64_t weights_bytes = 0;
};

// The bytes of tf_model_blob. INVALID_ARGUMENT, naming the step, if a buffer lies outside its space, is
// misaligned, or a kernel does not exist.
absl::StatusOr<std::string> encode_model(const ModelDescription& model);

}  // namespace tf::runtime
