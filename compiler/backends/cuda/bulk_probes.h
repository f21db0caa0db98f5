#pragma once
// Owns: test kernels that check on a GPU how the copy engine (TMA) copies boxes: the position of each
// element, and zeros outside the tensor. Schedules and the interpreter rely on this. Does not know: who runs
// them.

#include <string>
#include <vector>

#include "compiler/backends/backend.h"
#include "compiler/target/target.h"

namespace tf::backends {

struct BulkProbe {
  std::string name, entry, source;
  Launch launch;              // of the input, the output and a tensor map of the input
  std::string before, after;  // the contents of the input, and the expected contents of the output
};

// Empty if the target has no copy engine.
std::vector<BulkProbe> bulk_probes(const target::Target& target);

}  // namespace tf::backends
