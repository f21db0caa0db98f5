#pragma once
// Owns: from a network planned at several sizes to one program for all sizes. Does not know: where the network comes from.

#include <span>

#include "absl/status/statusor.h"
#include "compiler/graph/dynamic/fitters.h"
#include "compiler/graph/dynamic/table_block.h"
#include "compiler/graph/program/program.h"

namespace tf::graph {

using TableSlices = std::map<std::string, TableSlice>;

// The program that does at each point of the fitters' samples what the program of that point does, with memory for the greatest
// sizes. `slices` are those of the network's graph at each point, for constants that are other slices at other sizes;
// `greatest` is the network at these, for constants that grow with a size; it need not have the same kernels where
// nothing of it is needed. NOT_FOUND, with a difference, if the programs are not the same but for numbers; OUT_OF_RANGE if a
// number is no expression that they find.
absl::StatusOr<Program> join_programs(Fitters& fitters, std::span<const Program> at_points,
                                      std::span<const TableSlices> slices, const Program& greatest);

}  // namespace tf::graph
