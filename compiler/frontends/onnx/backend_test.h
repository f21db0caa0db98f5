#pragma once
// Owns: the values that ONNX's backend tests keep in files, by the names and in the forms that import gives to a model's
// inputs and outputs. Does not know: how a model is run or its outputs are compared.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/host_tensor.h"

namespace tf::onnx {

// Tensors in the order of a model's inputs or outputs; sequences and optionals are the tensors that they hold.
struct TestValues {
  std::vector<graph::HostTensor> tensors;
  std::map<std::string, std::optional<int64_t>> lengths;  // as ImportOptions::lengths
};

struct TestData {
  TestValues inputs, outputs;
};

// input_0.pb, output_0.pb, … of a folder test_data_set_N of the model's test. A file of u16 for a bf16 has its bits: so did
// ONNX write them up to version 1.12. INVALID_ARGUMENT with the path.
absl::StatusOr<TestData> read_test_data(const std::string& model_path, const std::string& folder);

}  // namespace tf::onnx
