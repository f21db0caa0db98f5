#pragma once
// Owns: recognising attention: a product of scores, row-wise stages, and the product of these rows with values. Does not know: steps.

#include <optional>

#include "compiler/recipes/shape/rows.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::recipes {

struct Attention {
  tensor::Workload inner;  // all but the last product: its output is the weights
  Rows rows;               // of `inner`
  int scores = 0;          // the stage of the first product; the last stage is the second one
  int row = 0;             // the axis of the last stage that runs along the rows of the weights
};

// Set if the last stage is the product of row-wise computed weights (its left operand) and an input, and one
// of the stages before is a product. Batch axes and rows may stand in any order, in the inputs and in the
// result.
std::optional<Attention> attention_of(const tensor::Workload& workload, const tensor::PortLayouts& ports);

}  // namespace tf::recipes
