// Attention and rotary position embeddings of domain ai.onnx.
#include "compiler/frontends/onnx/rules/attention.h"

#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/onnx/tensor_proto.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Result = absl::StatusOr<NodeId>;

// The mask, of which missing keys at the end are hidden.
std::optional<Term> given_mask(Formula& f, int64_t keys) {
  if (!f.has(3)) return std::nullopt;
  const Term mask = f.input(3);
  if (!f.ok()) return mask;
  if (mask.rank() < 2 || mask.rank() > 4) return f.invalid("its mask is " + to_string(mask.type()));
  const int64_t columns = mask.shape().back();
  if (columns == keys || columns == 1) return mask;
  if (columns > keys) return f.invalid(absl::StrCat("a mask of ", columns, " columns for ", keys, " keys"));
  const int64_t axis = mask.rank() - 1, missing = keys - columns;
  if (mask.element() != Element::kBool)
    return pad(mask, axis, 0, missing, -std::numeric_limits<double>::infinity());
  return cast(pad(cast(mask, Element::kUInt8), axis, 0, missing), Element::kBool);
}

std::optional<Element> softmax_element(Formula& f) {
  if (!f.node().has_attribute("softmax_precision")) return std::nullopt;
  const int64_t type = f.attribute("softmax_precision", int64_t{1});
  const absl::StatusOr<Element> element = element_from_onnx(static_cast<int32_t>(type));
  if (element.ok() && tensor::is_float(*element)) return *element;
  f.unsupported(absl::StrCat("attribute 'softmax_precision' is ", type));
  return std::nullopt;
}

// The step that output 3 gives. Mode 1 was the masked scores first, and is the capped ones now.
Term chosen_step(Formula& f, const AttentionSteps& steps, int64_t mode) {
  switch (mode) {
    case 0:
      return steps.scores;
    case 1:
      if (steps.masked.id() == steps.capped.id()) return steps.capped;
      return f.unsupported("attribute 'qk_matmul_output_mode' of 1 with a mask is not supported");
    case 2:
      return steps.masked;
    case 3:
      return steps.weights;
    default:
      return f.invalid(absl::StrCat("attribute 'qk_matmul_output_mode' is ", mode));
  }
}

Result attention_rule(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const bool flat = given.rank() == 3;
  const auto heads = [&](int i, const char* attribute) {
    return flat ? split_heads(f.input(i), f.attribute(attribute, int64_t{0})) : f.input(i);
  };
  AttentionOperands o{heads(0, "q_num_heads"), heads(1, "kv_num_heads"), heads(2, "kv_num_heads")};
  if (!f.ok()) return f.status();
  if (o.q.rank() != 4) return node.invalid("queries are " + to_string(given.type()));
  o.mask.causal = f.attribute("is_causal", int64_t{0}) != 0;
  if (f.has(4) != f.has(5)) return node.invalid("past keys and past values are given together");
  if (f.has(4)) {
    o.mask.past = f.input(4).rank() == 4 ? f.input(4).shape()[2] : 0;
    o.k = concat(std::vector<Term>{f.input(4), o.k}, 2);
    o.v = concat(std::vector<Term>{f.input(5), o.v}, 2);
  }
  if (!f.ok()) return f.status();
  o.scale = f.attribute("scale", 1 / std::sqrt(static_cast<double>(o.q.shape()[3])));
  o.softcap = f.attribute("softcap", 0.0);
  o.softmax_element = softmax_element(f);
  o.mask.given = given_mask(f, o.k.shape()[2]);
  if (f.has(6)) {
    const Term lengths = f.input(6);
    if (!f.ok()) return f.status();
    o.mask.lengths = reshape(cast(lengths, Element::kInt64), {o.q.shape()[0], 1, 1, 1});
    if (o.mask.causal && !f.has(4)) o.mask.pasts = *o.mask.lengths - static_cast<double>(o.q.shape()[2]);
  }
  const AttentionSteps steps = attention(o);
  f.set_output(1, f.has(4) ? o.k : identity(o.k));
  f.set_output(2, f.has(4) ? o.v : identity(o.v));
  if (node.has_output(3))
    f.set_output(3, chosen_step(f, steps, f.attribute("qk_matmul_output_mode", int64_t{0})));
  return f.result(flat ? merged_heads(steps.result) : steps.result);
}

// Rows of a cache [positions, n] at position_ids [batch, rows], or a cache [batch, rows, n], as [batch, 1, rows, n].
Term angles(Formula& f, int i) {
  const Term cache = f.has(3) ? gather(f.input(i), f.input(3), 0) : f.input(i);
  if (!f.ok()) return cache;
  if (cache.rank() != 3) return f.invalid("cosines and sines are " + to_string(cache.type()));
  const std::vector<tensor::Expr> e = cache.extents();
  return reshape(cache, std::vector<tensor::Expr>{e[0], tensor::imm(1), e[1], e[2]});
}

Result rotary_embedding(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const bool flat = given.rank() == 3;
  const Term x = flat ? split_heads(given, f.attribute("num_heads", int64_t{0})) : given;
  const bool interleaved = f.attribute("interleaved", int64_t{0}) != 0;
  const int64_t columns = f.attribute("rotary_embedding_dim", int64_t{0});
  const Term cos = angles(f, 1), sin = angles(f, 2);
  if (!f.ok()) return f.status();
  if (x.rank() != 4) return node.invalid("it needs rank 3 or 4, not " + to_string(given.type()));
  const int64_t turned = columns == 0 ? x.shape()[3] : columns;
  if (2 * cos.shape()[3] != turned)
    return node.invalid(absl::StrCat("angles for ", 2 * cos.shape()[3], " columns, not for ", turned));
  const Term y = cast(rotated(widened(x), widened(cos), widened(sin), interleaved), given.element());
  return f.result(flat ? merged_heads(y) : y);
}

constexpr std::array kAttentionRules = {NamedRule{"Attention", attention_rule},
                                        NamedRule{"RotaryEmbedding", rotary_embedding}};

}  // namespace

std::span<const NamedRule> attention_rules() {
  return kAttentionRules;
}

}  // namespace tf::onnx
