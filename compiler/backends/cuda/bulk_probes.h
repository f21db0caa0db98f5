#pragma once
// Owns: kernels that show what a copy engine makes of boxes: which elements arrive where, and zeros outside of the tensor, so that a
// GPU can confirm what schedules and the interpreter count on. Does not know: who runs them.

#include <string>
#include <vector>

#include "compiler/backends/backend.h"
#include "compiler/target/target.h"

namespace tf::backends {

struct BulkProbe {
  std::string name, entry, source;
  Launch launch;              // of the input, the output and a tensor map of the input
  std::string before, after;  // what is in the input, and then in the output
};

// None where the target has no copy engine.
std::vector<BulkProbe> bulk_probes(const target::Target& target);

}  // namespace tf::backends
