#pragma once
// Owns: the type of most expressions in tests. Does not know: these.

#include "compiler/tensor/type.h"

namespace tf::tensor {

inline constexpr Type kF32{Element::kFloat32, 1};

}  // namespace tf::tensor
