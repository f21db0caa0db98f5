#pragma once
// Owns: the design space of a computation: which sketches apply to it. Templates match well-known shapes and
// come first; rules generate sketches for everything else with a reduction, and vectorised, parallel loops
// for the rest.

#include "absl/status/statusor.h"
#include "compiler/schedule/numerics.h"
#include "compiler/target/target.h"
#include "tuner/space/sketch.h"

namespace tf::space {

struct Problem {
  tensor::Workload workload;                // bound
  std::vector<tensor::Layout> in_layouts;   // one per input that is not constant; empty: row-major
  std::vector<tensor::Layout> out_layouts;  // one per output; empty: row-major
};

// Never empty, and the compiler's default schedule is always a seed: of the first sketch, or as a sketch
// without parameters. Sketches use no numerics but those allowed.
DesignSpace generate_space(const Problem& problem, const target::Target& target, int threads,
                           const schedule::Numerics& allowed = {});

}  // namespace tf::space
