#pragma once
// Owns: attention over one projection to queries, keys and values, as operators of domain com.microsoft have it. Does not
// know: how the projection came about.

#include <optional>

#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {

struct PackedAttention {
  Term projected;            // [batch, rows, columns of q, k and v]
  std::optional<Term> mask;  // operand mask_index
  std::optional<Term> bias;  // added to scores
  std::optional<Term> past;  // [2, batch, heads, past rows, size]
};
// With the node's attributes; sets output 1, keys and values with the past before them.
Term packed_attention(Formula& f, const PackedAttention& packed);

}  // namespace tf::onnx
