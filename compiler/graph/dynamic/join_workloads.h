#pragma once
// Owns: from one computation at several sizes to the computation of all sizes. Does not know: networks.

#include <map>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/dynamic/fit.h"

namespace tf::graph {

// The workload with named dimensions that, bound to each point of the samples, is the workload of that point. They must
// be bound. NOT_FOUND with a difference if they are not one computation, or a number in them is no expression that `fit`
// finds. Inputs in `inputs`, by number, have those extents at every size: of theirs, a point reads the
// leading block.
absl::StatusOr<tensor::Workload> join_workloads(const Samples& samples,
                                                std::span<const tensor::Workload> at_points,
                                                const std::map<size_t, std::vector<int64_t>>& inputs = {});

}  // namespace tf::graph
