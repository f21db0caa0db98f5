#pragma once
// Owns: copies between the host's and the device's memory in a model's program. Does not know: what steps compute, where
// values lie, which is the same on both sides.

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/runtime/blob/model_blob.h"

namespace tf::driver {

// A step on the host or, TF_STEP_LAUNCH, on the device: it reads its first buffers and writes the others.
struct PlacedStep {
  runtime::ModelStep step;
  size_t read_count = 0;
  // Of buffers that lie elsewhere at other sizes, by number: the value that they are a part of.
  std::map<size_t, runtime::ModelBuffer> wholes;
};

// The steps in their order, with a copy of exactly those bytes before each step that were written last on the other side from
// the step's: at first the host has the program's inputs, in the end it gets its outputs. Indices that are checked are read by
// the host, too. What was written with a size or a place of its own in each run is copied as a whole, with these. UNIMPLEMENTED
// where a part of it was overwritten before.
absl::StatusOr<std::vector<runtime::ModelStep>> with_copies(std::vector<PlacedStep> steps,
                                                            const runtime::ModelProgram& program);

}  // namespace tf::driver
