#pragma once
// Owns: the arguments that every command on an ONNX model takes, and what they stand for.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/target/target.h"

namespace CLI {
class App;
}

namespace tf::compiler_cli {

struct ModelArguments {
  std::string model;
  std::string target = "host";
  std::vector<std::string> dims;  // NAME=N
};
void add_model_options(CLI::App& command, ModelArguments& arguments);

// The imported graph. INVALID_ARGUMENT for a --dim that is not NAME=N; else as onnx::import_model.
absl::StatusOr<graph::Graph> load_model(const ModelArguments& arguments);
absl::StatusOr<target::Target> load_target(const ModelArguments& arguments);

}  // namespace tf::compiler_cli
