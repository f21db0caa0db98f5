#pragma once
// Owns: mean and variance of rows, which normalisations of ONNX and of other domains share. Does not know: operators.

#include <vector>

#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {

// Over the axes, which are kept with extent 1.
struct Centered {
  Term mean, apart, variance;  // apart: x - mean
};
Centered centered(const Term& x, const std::vector<int64_t>& axes);

}  // namespace tf::onnx
