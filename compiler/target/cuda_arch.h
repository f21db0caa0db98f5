#pragma once
// Owns: on which devices code for an architecture of NVIDIA's runs. Does not know: devices.

#include "compiler/target/target.h"

namespace tf::target {

// Whether code for a cuda target runs on a device of that compute capability (90 for 9.0): of an architecture with the suffix a
// on that one alone, with f on its family, else on every later one too, whose driver compiles the PTX.
bool runs_on_capability(const Target& target, int capability);

}  // namespace tf::target
