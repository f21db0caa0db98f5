#pragma once
// Owns: the design space of a computation: which sketches apply to it. Templates match well-known shapes and
// come first; rules generate sketches for everything else with a reduction, and vectorised, parallel loops
// for the rest.

#include "absl/status/statusor.h"
#include "compiler/schedule/numerics.h"
#include "compiler/target/target.h"
#include "tuner/space/sketch.h"

namespace tf::space {

// Of a bound workload. Never empty, and the compiler's default schedule is always a seed: of the first sketch, or as a sketch
// without parameters. Sketches use no numerics but those that the spec allows.
DesignSpace generate_space(const tensor::KernelSpec& spec);

}  // namespace tf::space
