#pragma once
// Owns: copies between the host's and the device's memory in a model's program. Does not know: what steps compute, where
// values lie, which is the same on both sides.

#include <vector>

#include "compiler/runtime/blob/model_blob.h"

namespace tf::driver {

// A step on the host or, TF_STEP_LAUNCH, on the device: it reads its first buffers and writes the others.
struct PlacedStep {
  runtime::ModelStep step;
  size_t read_count = 0;
};

// The steps in their order, with a copy of exactly those bytes before each step that were written last on the other side from
// the step's: at first the host has the program's inputs, in the end it gets its outputs. Indices that are checked are read by
// the host, too.
std::vector<runtime::ModelStep> with_copies(std::vector<PlacedStep> steps,
                                            const runtime::ModelProgram& program);

}  // namespace tf::driver
