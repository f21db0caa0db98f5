#pragma once
// Owns: the sketch of attention in one kernel: register tiles of both products and rows of a block are open.

#include <optional>

#include "compiler/target/target.h"
#include "tuner/space/generate.h"
#include "tuner/space/sketch.h"

namespace tf::space {

// Nothing for a workload that is no attention.
std::optional<Sketch> generated_attention(const tensor::KernelSpec& spec);

}  // namespace tf::space
