#pragma once
// Owns: the sketch of everything that no other rule takes: element-wise chains, copies. Each
// remaining stage runs over its axes in order, in vectors whose length is open, in parallel over the outer
// ones.

#include "compiler/target/target.h"
#include "tuner/space/generate.h"
#include "tuner/space/sketch.h"

namespace tf::space {

Sketch generated_flat(const tensor::KernelSpec& spec);

}  // namespace tf::space
