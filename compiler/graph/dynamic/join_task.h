#pragma once
// Owns: from a kernel that was planned at several sizes to the kernel for all sizes. Does not know: what calls it.

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/dynamic/fitters.h"
#include "compiler/graph/dynamic/join_workloads.h"
#include "compiler/graph/program/program.h"

namespace tf::graph {

// Constants of kernels that are not the same at all sizes: of a task, by its number, the workload's inputs.
struct OpenInputs {
  std::map<std::pair<int, size_t>, InputBlock> blocks;  // blocks of tables
  std::set<std::pair<int, size_t>> computed;            // which the run computes
};

struct JoinedTask {
  Task task;
  KernelCall call;  // with the values of its workload's dimensions, and its blocks
};

// Of the programs at the points of the samples, the task of that number. NOT_FOUND and OUT_OF_RANGE: as join_programs.
absl::StatusOr<JoinedTask> join_task(Fitters& fitters, std::span<const Program> at_points, size_t number,
                                     const OpenInputs& open);

// Equal kernels become one task.
void share_kernels(Program& program);

}  // namespace tf::graph
