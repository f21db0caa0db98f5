#pragma once
// Owns: scaled dot-product attention and rotary position embeddings as compositions, which operators of ONNX and of
// other domains share. Does not know: their operands and attributes.

#include <optional>

#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {

// x [batch, rows, heads * size] → [batch, heads, rows, size], and back.
Term split_heads(const Term& x, int64_t heads);
Term merged_heads(const Term& x);

// Where queries must not look.
struct Mask {
  // Of bool (true: may look) or added to the scores; broadcasts to [batch, heads, queries, keys].
  std::optional<Term> given;
  // Query i sees keys up to i + past; past is a number or [batch, 1, 1, 1] of i64.
  bool causal = false;
  int64_t past = 0;
  std::optional<Term> pasts;
  std::optional<Term> lengths;  // [batch, 1, 1, 1] of i64: keys from there on are padding
  int64_t window = -1;  // how many keys before its own, this one included, a causal query sees; -1: all
};

struct AttentionOperands {
  Term q, k, v;  // [batch, heads, rows, size]; heads of q are a multiple of those of k and v
  double scale = 1;
  double softcap = 0;  // scores s become softcap * tanh(s / softcap); 0: they stay
  Mask mask;
  std::optional<tensor::Element> softmax_element;  // in which the softmax is computed, if that is wider
};

// softmax(scale * q kᵀ …) v, and its steps, all of them [batch, heads, queries, …]. Steps that nothing reads cost
// nothing.
struct AttentionSteps {
  Term scores, capped, masked, weights, result;
};
AttentionSteps attention(const AttentionOperands& operands);

// x [batch, heads, rows, size] with its first 2 * n columns turned by angles given as cos and sin [batch or 1, 1, rows, n]:
// pairs are columns i and i + n, or, interleaved, 2 i and 2 i + 1.
Term rotated(const Term& x, const Term& cos, const Term& sin, bool interleaved);

}  // namespace tf::onnx
