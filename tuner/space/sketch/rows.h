#pragma once
// Owns: the sketch of workloads that run row by row (softmax, layer norm): vector length, partial results of
// folded reductions, rows folded at once and unrolling are open.

#include <optional>

#include "compiler/target/target.h"
#include "tuner/space/generate.h"
#include "tuner/space/sketch.h"

namespace tf::space {

// Nothing for a workload that has no rows.
std::optional<Sketch> generated_rows(const tensor::KernelSpec& spec);

}  // namespace tf::space
