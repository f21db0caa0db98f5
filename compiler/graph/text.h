#pragma once
// Owns: the text form of graphs. parse_graph(to_string(g)) is g again; weights stand as digests.
//
//   graph "net" {
//     dim batch = 4 in [1, 1048576]
//     n0 = input() "x" : f32[batch, 3]
//     n1 = constant(sha256 "9f86…") "w" : f32[3, 8]     (more than 16 elements)
//     n2 = constant(1f32, 2f32) "b" : f32[2]            (up to 16 elements)
//     n3 = matmul(n0, n1; transpose_a=false, transpose_b=false) "fc" : f32[batch, 8]
//     output "y" = n3
//   }
//
// Several results have a type each, separated by commas: n4 = topk(n3; axis=1, k=2, largest=true) "best" :
// f32[batch, 2], i64[batch, 2]. A region is a graph as an attribute's value.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "compiler/graph/graph.h"

namespace tf::graph {

std::string to_string(const Graph& graph);

// SHA-256 of the text without the graph's and the nodes' names: equal for graphs that differ in nothing else,
// so for the same nodes in the same order with the same attributes, types and constants, and the same names
// of inputs, outputs and dimensions.
Digest structure_digest(const Graph& graph);

// The attributes of a node as the text has them, but for regions; and its regions.
struct AttributeText {
  std::string name, value;
};
std::vector<AttributeText> attribute_texts(const Node& node);
struct NamedRegion {
  std::string name;
  Region region;
};
std::vector<NamedRegion> regions_of(const Node& node);

// Gives the bytes behind a digest, or null if it does not have them.
using BlobSource = std::function<BlobRef(const Digest&)>;
// INVALID_ARGUMENT with line and column for text that is not a graph, or that verify() refuses; NOT_FOUND for
// a constant that `blobs` does not have.
absl::StatusOr<Graph> parse_graph(std::string_view text, const BlobSource& blobs);

}  // namespace tf::graph
