#pragma once
// Owns: planning a network whose sizes may be open. Does not know: formats of files, kernels' code.

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/program/program.h"

namespace tf::graph {

// A network as a graph at each size.
struct Network {
  Network() = default;
  Network(Graph graph);  // NOLINT(google-explicit-constructor): a network of one size.

  // The graph for these values of the open dimensions, and of those that it finds (graph/found.h): called with values for
  // all of them, or without values for the latter, which then are the greatest.
  std::function<absl::StatusOr<Graph>(const tensor::Binding& sizes)> at;
  std::vector<NamedDimension> dims;      // the open ones; none: the network is of one size
  std::vector<tensor::Binding> anchors;  // sizes that have a program of their own
  // What a run finds, if the caller knows it; else it is what the graph at the greatest sizes finds.
  std::vector<NamedDimension> found;
};

// The program of a network of one size; of another, one that is right for all sizes, with variants for the anchors. It is
// found by planning the network at several sizes: where the results differ in numbers only, those are expressions of the
// sizes (join_programs.h), and further sizes, above all those that are also a number in the network, confirm them. A size
// that does not fit the others becomes a variant. UNIMPLEMENTED, with what differs, if there is no common program.
absl::StatusOr<Program> plan_network(const Network& network, const LayoutOptions& options);

}  // namespace tf::graph
