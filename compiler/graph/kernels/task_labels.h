#pragma once
// Owns: names of a network's kernels for people who read a list of them. Does not know: who lists them.

#include <vector>

#include "absl/status/status.h"
#include "compiler/graph/kernels/task.h"

namespace tf::graph {

// Kernels that compute something else and have the same label are called by the shape of what they read as
// well, as far as that tells them apart, and by as little of it: "conv2d+bias 1x64x56x56 of 1x256x56x56", or
// "… by 64x64x3x3" for the second operand. The alternatives say what they are: "… (alternative layout)".
// Errors: tensor::bind's.
absl::Status tell_apart(std::vector<Task>& tasks, std::vector<Task>& alternatives);

}  // namespace tf::graph
