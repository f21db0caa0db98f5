#pragma once
// Owns: a graph as a drawing for people, in Graphviz's language. Does not know: how it is rendered.

#include <string>

#include "compiler/graph/graph.h"

namespace tf::graph {

// A directed graph for `dot`: a box for each operator with its name in the model, its attributes as a tooltip
// and its constant operands by their types; arrows with the types of values; a frame for each region.
std::string drawing(const Graph& graph);

}  // namespace tf::graph
