#pragma once
// Owns: what tests of schedules and models take for an example: a processor, and layouts that its vectors
// like. Does not know: what is tested with it.

#include <cstdint>

#include "compiler/target/target.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::test {

inline target::Target znver4() {
  return target::parse_target("x86_64:cpu=znver4").value();
}

// Of images that are one input and one output: so many channels beside each other.
inline tensor::PortLayouts channels_innermost(int64_t lanes) {
  const tensor::Layout layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, lanes}}};
  return {{layout}, {layout}};
}

}  // namespace tf::test
