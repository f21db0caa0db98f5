#pragma once
// Owns: which values are indices into an axis, and whether they lie inside it. Does not know: kernels, which
// clamp them so that they never read outside a buffer.

#include <map>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "compiler/graph/kernels/group.h"

namespace tf::graph {

// Values of `node` select elements of an axis with `extent` elements: each is in [-extent, extent).
struct GatherIndices {
  NodeId node{};
  int64_t axis = 0, extent = 0;
};

// The indices that a group reads, if it is a gather.
std::optional<GatherIndices> indices_of(const Graph& graph, const Group& group);

// OUT_OF_RANGE, with the gather's name, for the first index outside the axis.
absl::Status check_indices(const Graph& graph, const Group& group, std::span<const int64_t> values);

// The inputs whose elements are used as indices, moved or cast at most, each with the least extent that it
// selects from.
std::map<NodeId, int64_t> index_inputs(const Graph& graph);

}  // namespace tf::graph
