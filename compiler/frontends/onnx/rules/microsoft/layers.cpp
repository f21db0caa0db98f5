// Activations and normalisations of domain com.microsoft.
#include <array>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/onnx/rules/normalize.h"

namespace tf::onnx {
namespace {

using graph::ReduceKind;
using tensor::Element;
using Result = absl::StatusOr<NodeId>;

Term gelu_by_erf(const Term& x) {
  return (x * 0.5) * (erf(x * 0.70710678118654752) + 1.0);
}
Term gelu_by_tanh(const Term& x) {
  return (x * 0.5) * (tanh((x + (x * x * x) * 0.044715) * 0.79788456080286536) + 1.0);
}

// Of x plus operand 1, if there is one.
template <Term (*kActivation)(const Term&)>
Result biased(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given);
  return f.result(cast(kActivation(f.has(1) ? x + widened(f.input(1)) : x), given.element()));
}

Result quick_gelu(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given);
  return f.result(cast(x * sigmoid(x * f.attribute("alpha", 1.702)), given.element()));
}

struct NormalizedRows {
  Term y, mean, inverse;
};
// Over the last axis, in f32 at least.
NormalizedRows normalized_rows(const Term& x, double epsilon, bool centers) {
  const int64_t last = x.rank() - 1;
  if (!centers) {
    const Term deviation = sqrt(reduce(ReduceKind::kMean, x * x, {last}) + epsilon);
    return {x / deviation, deviation, reciprocal(deviation)};
  }
  const Centered c = centered(x, {last});
  const Term deviation = sqrt(c.variance + epsilon);
  return {c.apart / deviation, c.mean, reciprocal(deviation)};
}

// What is normalised is (input + skip [+ bias]); output 3 gives it.
Result skip_norm(NodeReader& node, bool centers, int bias) {
  Formula f(node);
  const Term given = f.input(0);
  Term sum = widened(given) + widened(f.input(1));
  if (f.has(bias)) sum = sum + widened(f.input(bias));
  const NormalizedRows n = normalized_rows(sum, f.attribute("epsilon", 1e-12), centers);
  Term y = n.y * widened(f.input(2));
  if (centers && f.has(3)) y = y + widened(f.input(3));
  if (centers && node.has_output(1)) f.set_output(1, n.mean);
  if (node.has_output(2)) f.set_output(2, n.inverse);
  if (node.has_output(3)) f.set_output(3, cast(sum, given.element()));
  return f.result(cast(y, given.element()));
}
Result skip_layer_norm(NodeReader& node) {
  return skip_norm(node, true, 4);
}
Result skip_simplified_layer_norm(NodeReader& node) {
  return skip_norm(node, false, 3);
}

Result simplified_layer_norm(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), scale = f.input(1), x = widened(given);
  const int64_t axis = f.axis(f.attribute("axis", int64_t{-1}), x.rank());
  const Term square = reduce(ReduceKind::kMean, x * x, axes_between(axis, x.rank()));
  const Term deviation = sqrt(square + f.attribute("epsilon", 1e-5));
  if (node.has_output(1)) f.set_output(1, reciprocal(deviation));
  return f.result(cast(x / deviation, scale.element()) * scale);
}

// Rows of tables of words, positions and segments, summed and normalised. Output 1 counts the words that a mask keeps.
Result embed_layer_norm(NodeReader& node) {
  Formula f(node);
  const Term words = f.input(0);
  if (f.ok() && words.rank() != 2) return node.invalid("its words are " + to_string(words.type()));
  Term sum = gather(f.input(2), words, 0);
  if (!f.ok()) return f.status();
  if (f.has(8)) {
    sum = sum + gather(f.input(3), f.input(8), 0);
  } else {
    if (f.input(3).rank() != 2 || f.input(3).shape()[0] < words.shape()[1])
      return node.invalid("it has fewer positions than words");
    sum = sum + slice(f.input(3), 0, 0, words.shape()[1]);
  }
  if (f.has(1) != f.has(4)) return node.invalid("segments and their table are given together");
  if (f.has(1)) sum = sum + gather(f.input(4), f.input(1), 0);
  const Term x = widened(sum);
  const NormalizedRows n = normalized_rows(x, f.attribute("epsilon", 1e-12), true);
  if (node.has_output(1)) {
    const Term none = expand(f.scalar(0, Element::kInt32), {words.extents()[0]});
    f.set_output(1, f.has(7) ? reduce(ReduceKind::kSum, f.input(7), {1}, false) : none);
  }
  if (node.has_output(2)) f.set_output(2, sum);
  return f.result(cast(n.y * widened(f.input(5)) + widened(f.input(6)), sum.element()));
}

constexpr std::array kMicrosoftLayerRules = {
    NamedRule{"SimplifiedLayerNormalization", simplified_layer_norm},
    NamedRule{"com.microsoft.BiasGelu", biased<gelu_by_erf>},
    NamedRule{"com.microsoft.EmbedLayerNormalization", embed_layer_norm},
    NamedRule{"com.microsoft.FastGelu", biased<gelu_by_tanh>},
    NamedRule{"com.microsoft.Gelu", biased<gelu_by_erf>},
    NamedRule{"com.microsoft.QuickGelu", quick_gelu},
    NamedRule{"com.microsoft.SimplifiedLayerNormalization", simplified_layer_norm},
    NamedRule{"com.microsoft.SkipLayerNormalization", skip_layer_norm},
    NamedRule{"com.microsoft.SkipSimplifiedLayerNormalization", skip_simplified_layer_norm}};

}  // namespace

std::span<const NamedRule> microsoft_layer_rules() {
  return kMicrosoftLayerRules;
}

}  // namespace tf::onnx
