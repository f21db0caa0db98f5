#pragma once
// Owns: the table of passes that every network goes through before it is cut into kernels.

#include <functional>
#include <span>
#include <string_view>

#include "compiler/graph/graph.h"

namespace tf::graph {

struct Pass {
  const char* name;
  Graph (*run)(const Graph&);
};
std::span<const Pass> passes();

struct OptimizeOptions {
  bool verify_each = false;  // CHECK that each pass leaves a valid graph
  std::function<void(std::string_view pass, const Graph&)> after;  // called after each pass of passes()
};

// The graph after all passes: the same function of its inputs up to rounding.
Graph optimize(Graph graph, const OptimizeOptions& options = {});

}  // namespace tf::graph
