#pragma once
// Owns: steps that schedules of GPUs share.

#include <string>
#include <vector>

#include "compiler/recipes/shape/structure.h"
#include "compiler/recipes/steps.h"

namespace tf::recipes {

std::string axis_name(size_t axis);

// Stages that are element-wise and no output, so that one loop nest is left.
void append_inlining(const std::vector<int>& stages, Steps& steps);

// Makes the anchor's sum a stage apart from the output, which stores it; returns the name of the stage that sums.
std::string append_separate_sum(const Structure& structure, Steps& steps);

// All loops of the stage as one, in an order that keeps neighbours together; returns its name.
std::string append_fuse(const std::string& stage, size_t rank, Steps& steps);
// Neighbouring loops as one, outermost first; returns its name.
std::string append_fuse(const std::string& stage, const std::vector<std::string>& loops, Steps& steps);

}  // namespace tf::recipes
