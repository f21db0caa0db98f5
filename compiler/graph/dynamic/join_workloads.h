#pragma once
// Owns: from one computation at several sizes to the computation of all sizes. Does not know: networks.

#include <map>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/dynamic/fit.h"
#include "compiler/graph/dynamic/numbers.h"

namespace tf::graph {

struct JoinedWorkload {
  tensor::Workload workload;
  std::vector<tensor::Expr> dims;  // the value of each of its dimensions, over those of the samples
};

// The workload with named dimensions that, bound to their values at each point of the fitter's samples, is the workload of that point.
// The dimensions are those of the samples, and one for each quotient in it, so that a kernel has no quotients. They must
// be bound. NOT_FOUND with a difference if they are not one computation; OUT_OF_RANGE if a number in them is no expression
// that the fitter finds. Inputs in `inputs`, by number, have those extents at every size: of theirs, a point reads the
// leading block. With `numbers`, of the same samples, the workload's dimensions are its own: those of them that its numbers
// are.
absl::StatusOr<JoinedWorkload> join_workloads(Fitter& fitter, std::span<const tensor::Workload> at_points,
                                              const std::map<size_t, std::vector<int64_t>>& inputs = {},
                                              Numbers* numbers = nullptr);

}  // namespace tf::graph
