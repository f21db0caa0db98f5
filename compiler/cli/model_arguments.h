#pragma once
// Owns: the arguments that several commands take, above all those on an ONNX model, and what they stand for.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/frontends/frontends.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/target/target.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tf::compiler_cli {

// --affinity: the CPUs that threads stay on, in their order; empty: any.
void add_affinity_option(CLI::App& command, std::vector<int>& cpus);

// --dim NAME=N, of commands that run a model.
void add_sizes_option(CLI::App& command, tensor::Binding& sizes, const std::string& help);

struct ModelArguments {
  std::string model;
  std::string target = "host";
  std::vector<std::string> dims;     // NAME=N, NAME=LEAST..MOST or NAME=LEAST..MOST:MULTIPLE
  std::vector<std::string> anchors;  // NAME=N,N,…
  std::vector<std::string> inputs;   // NAME=VALUE
  std::vector<std::string> exposed;  // values inside that become outputs
};
void add_model_options(CLI::App& command, ModelArguments& arguments);
// Those of its options that change the graph: --dim, --input, --expose.
std::vector<CLI::Option*> add_graph_options(CLI::App& command, ModelArguments& arguments);

// --at, of commands that take dimensions as ranges.
void add_anchor_option(CLI::App& command, ModelArguments& arguments);

// The network, with the dimensions that are given as ranges open. Errors: as load_model.
absl::StatusOr<graph::Network> load_network(const ModelArguments& arguments);
// The imported graph, every dimension with a value. INVALID_ARGUMENT for a --dim that is not NAME=N and an --input without a name; else as frontends::import_file.
absl::StatusOr<graph::Graph> load_model(const ModelArguments& arguments);
// A CPU or a GPU: INVALID_ARGUMENT for a target without shared libraries, for which single kernels are all that compiles.
absl::StatusOr<target::Target> load_target(const ModelArguments& arguments);

}  // namespace tf::compiler_cli
