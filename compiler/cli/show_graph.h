#pragma once
// Owns: printing a network's graph. Does not know: records, code.

#include <string>

#include "absl/status/statusor.h"
#include "compiler/cli/model_arguments.h"

namespace tf::compiler_cli {

struct ShowGraphArguments {
  ModelArguments model;
  std::string svg;  // a file for the drawing, instead of text; empty: none
};

// Prints the graph that is read from the network, as text or JSON, or draws it with Graphviz's dot, which
// must be on the path. The command's exit code.
absl::StatusOr<int> show_graph(const ShowGraphArguments& arguments, bool json);

}  // namespace tf::compiler_cli
