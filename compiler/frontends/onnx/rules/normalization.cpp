// Normalisations, written so that each is one kernel: reductions of the same rows, axes kept, and what is computed
// over whole rows between and after them (compiler/graph/kernels/group.h).
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/formula.h"
#include "compiler/frontends/onnx/rules/normalize.h"
#include "compiler/frontends/onnx/tensor_proto.h"

namespace tf::onnx {

using graph::ReduceKind;
using tensor::Element;
using Ints = std::vector<int64_t>;

Centered centered(const Term& x, const Ints& axes) {
  const Term mean = reduce(ReduceKind::kMean, x, axes);
  const Term apart = x - mean;
  return {mean, apart, reduce(ReduceKind::kMean, apart * apart, axes)};
}

namespace {

using Result = absl::StatusOr<NodeId>;

constexpr double kEpsilon = 1e-5;

// The operand along axis 1 of x, in x's element.
Term channels(Formula& f, int i, const Term& x) {
  return cast(along_axis(f.input(i), 1, x.rank()), x.element());
}

// With running statistics for each channel, or, `spatial` being 0, for each place in an image.
struct Statistics {
  Term scale, bias, mean, variance;
};
Term normalized(const Term& x, const Statistics& s, double epsilon) {
  return (x - s.mean) * (s.scale / sqrt(s.variance + epsilon)) + s.bias;
}

// The element in which batch normalisation computes: the widest of its operands', which may differ since operator set
// 15, and f32 at least, because x - mean may not fit in a half.
Element widest_element(Formula& f) {
  Element widest = Element::kFloat32;
  for (int i = 0; i < 5; ++i) {
    const Term operand = f.input(i);
    if (!f.ok()) return widest;
    if (!operand.is_float())
      f.invalid(absl::StrCat("it needs floating point, not ", to_string(operand.type())));
    if (f.node().opset() < 14 && operand.element() != f.input(0).element())
      f.invalid("its operands have different element types");
    if (operand.element() == Element::kFloat64) widest = Element::kFloat64;
  }
  return widest;
}

// With the statistics of the batch itself, which are mixed into the running ones. Before operator set 14 outputs 3 and
// 4 are the statistics of the batch.
Result batch_norm_in_training(Formula& f, const Term& x, double epsilon) {
  const double momentum = f.attribute("momentum", 0.9);
  Ints axes = axes_between(1, x.rank());
  axes[0] = 0;
  const Centered c = centered(x, axes);
  const Element of_mean = f.input(3).element(), of_variance = f.input(4).element();
  const auto per_channel = [&](const Term& v) { return reshape(v, {f.input(3).extents()[0]}); };
  const auto running = [&](int i, const Term& now, Element element) {
    return cast(cast(f.input(i), x.element()) * momentum + per_channel(now) * (1 - momentum), element);
  };
  f.set_output(1, running(3, c.mean, of_mean));
  f.set_output(2, running(4, c.variance, of_variance));
  if (f.node().has_output(3)) f.set_output(3, cast(per_channel(c.mean), of_mean));
  if (f.node().has_output(4)) f.set_output(4, cast(per_channel(c.variance), of_variance));
  const Term y = c.apart * (channels(f, 1, x) / sqrt(c.variance + epsilon)) + channels(f, 2, x);
  return f.result(cast(y, f.input(0).element()));
}

Result batch_norm(NodeReader& node) {
  Formula f(node);
  if (node.input_count() != 5)
    return node.invalid(absl::StrCat("it has ", node.input_count(), " operands, not 5"));
  const Element element = widest_element(f);
  const Term given = f.input(0), x = cast(given, element);
  const double epsilon = f.attribute("epsilon", kEpsilon);
  const bool training = f.attribute("training_mode", int64_t{0}) != 0;
  const bool spatial = f.attribute("spatial", int64_t{1}) != 0;
  if (!f.ok()) return f.status();
  if (x.rank() < 2) return node.invalid("needs rank 2 or more, not " + to_string(given.type()));
  const bool of_batch = training || (node.opset() < 14 && node.has_output(1));
  if (of_batch && !spatial)
    return node.unsupported("training with statistics for each place is not supported");
  if (of_batch) return batch_norm_in_training(f, x, epsilon);
  const auto operand = [&](int i) { return cast(f.input(i), element); };
  if (spatial) {
    const std::array<Term, 5> operands = {x, operand(1), operand(2), operand(3), operand(4)};
    return f.result(cast(f.emit(graph::BatchNorm{epsilon}, operands), given.element()));
  }
  const Statistics s{operand(1), operand(2), operand(3), operand(4)};
  return f.result(cast(normalized(x, s, epsilon), given.element()));
}

Result lrn(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  if (!node.has_attribute("size")) return node.invalid("attribute 'size' is missing");
  graph::Lrn op;
  TF_ASSIGN_OR_RETURN(op.size, node.int_attribute("size", 1));
  TF_ASSIGN_OR_RETURN(op.alpha, node.float_attribute("alpha", 1e-4));
  TF_ASSIGN_OR_RETURN(op.beta, node.float_attribute("beta", 0.75));
  TF_ASSIGN_OR_RETURN(op.bias, node.float_attribute("bias", 1.0));
  return node.emit(op, {x});
}

// The element that attribute stash_type names, in which statistics are computed and given.
Element stash_element(Formula& f) {
  const int64_t type = f.attribute("stash_type", int64_t{1});
  const absl::StatusOr<Element> element = element_from_onnx(static_cast<int32_t>(type));
  if (element.ok() && tensor::is_float(*element)) return *element;
  f.unsupported(absl::StrCat("attribute 'stash_type' is ", type));
  return Element::kFloat32;
}

// x in the stash's element, but never in less than its own precision.
Term stashed(const Term& x, Element stash) {
  return tensor::element_bytes(x.element()) < tensor::element_bytes(stash) ? cast(x, stash) : x;
}

// (x - mean) / sqrt(variance + epsilon) * scale [+ bias], over the axes from `axis` on. What stands before the scale
// is computed, and mean and inverse deviation are given, in the stash's element: squares of f16 overflow f16.
Result layer_norm(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const int64_t axis = f.axis(f.attribute("axis", int64_t{-1}), given.rank());
  const double epsilon = f.attribute("epsilon", kEpsilon);
  const Element stash = stash_element(f);
  const Term x = stashed(given, stash);
  const Centered c = centered(x, axes_between(axis, x.rank()));
  const Term deviation = sqrt(c.variance + epsilon);
  if (node.has_output(1)) f.set_output(1, cast(c.mean, stash));
  if (node.has_output(2)) f.set_output(2, cast(reciprocal(deviation), stash));
  const Term y = cast(c.apart / deviation, given.element()) * f.input(1);
  return f.result(f.has(2) ? y + f.input(2) : y);
}

// x / sqrt(mean of x² + epsilon) * scale, over the axes from `axis` on, in the scale's element.
Result rms_norm(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), scale = f.input(1);
  const int64_t axis = f.axis(f.attribute("axis", int64_t{-1}), given.rank());
  const double epsilon = f.attribute("epsilon", kEpsilon);
  const Term x = stashed(given, stash_element(f));
  const Term square = reduce(ReduceKind::kMean, x * x, axes_between(axis, x.rank()));
  return f.result(cast(x / sqrt(square + epsilon), scale.element()) * scale);
}

// Over the spatial axes of each channel.
Result instance_norm(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given);
  const double epsilon = f.attribute("epsilon", kEpsilon);
  if (f.ok() && x.rank() < 3) return node.invalid("needs an input with spatial axes");
  const Centered c = centered(x, axes_between(2, x.rank()));
  const Term y = (c.apart / sqrt(c.variance + epsilon)) * channels(f, 1, x) + channels(f, 2, x);
  return f.result(cast(y, given.element()));
}

// Over groups of channels. Scale and bias have a value for each group in operator set 18, for each channel since 21.
Result group_norm(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const double epsilon = f.attribute("epsilon", kEpsilon);
  const int64_t groups = f.attribute("num_groups", int64_t{0});
  const Element stash = node.opset() < 21 ? Element::kFloat32 : stash_element(f);
  if (!f.ok()) return f.status();
  if (given.rank() < 2) return node.invalid("needs rank 2 or more, not " + to_string(given.type()));
  const int64_t count = given.shape()[1];
  if (groups < 1 || count % groups != 0)
    return node.invalid(
        absl::StrCat("attribute 'num_groups' is ", groups, ", which does not divide ", count));
  std::vector<tensor::Expr> extents = given.extents(), of_scale(given.extents().size() + 1, tensor::imm(1));
  extents[1] = tensor::imm(count / groups);
  extents.insert(extents.begin() + 1, tensor::imm(groups));
  of_scale[1] = tensor::imm(groups);
  if (node.opset() >= 21) of_scale[2] = tensor::imm(count / groups);
  const Term x = reshape(stashed(given, stash), extents);
  const Centered c = centered(x, axes_between(2, x.rank()));
  const auto parameter = [&](int i) { return reshape(cast(f.input(i), x.element()), of_scale); };
  const Term y = (c.apart / sqrt(c.variance + epsilon)) * parameter(1) + parameter(2);
  return f.result(reshape(cast(y, given.element()), given.extents()));
}

// (x - mean) / (deviation + 1e-9)
Result mean_variance_norm(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given);
  const absl::StatusOr<Ints> attribute = node.ints_attribute("axes", {0, 2, 3});
  if (!attribute.ok()) return attribute.status();
  Ints axes = *attribute;
  for (int64_t& axis : axes) axis = f.axis(axis, x.rank());
  const Centered c = centered(x, axes);
  return f.result(cast(c.apart / (sqrt(c.variance) + 1e-9), given.element()));
}

// x over the sum of its sizes (p = 1) or the root of the sum of its squares (p = 2); zeros stay.
Result lp_norm(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given);
  const int64_t axis = f.axis(f.attribute("axis", int64_t{-1}), x.rank());
  const int64_t p = f.attribute("p", int64_t{2});
  if (p != 1 && p != 2) return node.invalid(absl::StrCat("attribute 'p' is ", p, "; it is 1 or 2"));
  const Term sum = reduce(ReduceKind::kSum, p == 1 ? abs(x) : x * x, {axis});
  const Term norm = p == 1 ? sum : sqrt(sum);
  return f.result(cast(x / where(equal(norm, 0.0), 1.0, norm), given.element()));
}

constexpr std::array kNormalizationRules = {NamedRule{"BatchNormalization", batch_norm},
                                            NamedRule{"GroupNormalization", group_norm},
                                            NamedRule{"InstanceNormalization", instance_norm},
                                            NamedRule{"LRN", lrn},
                                            NamedRule{"LayerNormalization", layer_norm},
                                            NamedRule{"LpNormalization", lp_norm},
                                            NamedRule{"MeanVarianceNormalization", mean_variance_norm},
                                            NamedRule{"RMSNormalization", rms_norm}};

}  // namespace

std::span<const NamedRule> normalization_rules() {
  return kNormalizationRules;
}

}  // namespace tf::onnx
