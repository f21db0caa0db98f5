#pragma once
// Owns: from one computation at several sizes to the computation of all sizes. Does not know: networks.

#include <map>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/dynamic/fit.h"
#include "compiler/graph/dynamic/numbers.h"

namespace tf::graph {

// An input that has these extents at every size, of which a point reads the block that begins at begin[point].
struct InputBlock {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> begin;
  bool operator==(const InputBlock&) const = default;
};

struct JoinedWorkload {
  tensor::Workload workload;
  std::vector<tensor::Expr> dims;  // the value of each of its dimensions, over those of the samples
  // Of each input block: where it begins, likewise.
  std::map<size_t, std::vector<tensor::Expr>> blocks;
};

// The workload with named dimensions that, bound to their values at each point of the fitter's samples, is the workload of that point.
// The dimensions are those of the samples, and one for each quotient in it, so that a kernel has no quotients. They must
// be bound. NOT_FOUND with a difference if they are not one computation; OUT_OF_RANGE if a number in them is no expression
// that the fitter finds. `blocks`: by the input's number. With `numbers`, of the same samples, the workload's dimensions are
// its own: those of them that its numbers are.
absl::StatusOr<JoinedWorkload> join_workloads(Fitter& fitter, std::span<const tensor::Workload> at_points,
                                              const std::map<size_t, InputBlock>& blocks = {},
                                              Numbers* numbers = nullptr);

}  // namespace tf::graph
