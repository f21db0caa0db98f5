// Losses of classes: what stands at each target's class, found by comparing numbers of classes with targets, weighted
// and reduced.
#include <array>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {
namespace {

using graph::ReduceKind;
using Result = absl::StatusOr<NodeId>;

Term sum_of_all(const Term& x) {
  return reduce(ReduceKind::kSum, x, axes_between(0, x.rank()), false);
}

// Of log probabilities x [N, C, …], targets [N, …] and perhaps weights [C]. Where a target is to be ignored, its loss
// and its weight are zero.
Term loss_of(Formula& f, const Term& x) {
  const Term target = f.input(1);
  const std::string reduction = f.attribute("reduction", "mean");
  const bool ignores = f.node().has_attribute("ignore_index");
  const auto ignored_class = static_cast<double>(f.attribute("ignore_index", int64_t{0}));
  if (!f.ok()) return x;
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return f.invalid(absl::StrCat("attribute 'reduction' is '", reduction, "'"));
  if (x.rank() < 2 || target.rank() != x.rank() - 1 || target.is_float())
    return f.invalid(absl::StrCat("targets ", to_string(target.type()), " do not fit ", to_string(x.type())));
  std::vector<tensor::Expr> extents = target.extents();
  extents.insert(extents.begin() + 1, tensor::imm(1));
  const Term classes = f.iota(x.shape()[1], 1, x.rank(), target.element());
  const Term hit = equal(classes, reshape(target, std::move(extents)));
  const auto picked = [&](const Term& v) { return reduce(ReduceKind::kSum, where(hit, v, 0.0), {1}, false); };
  Term loss = -picked(x);
  Term weight = f.scalar(1, x.element());
  const bool weighs = f.has(2);
  if (weighs) weight = picked(along_axis(cast(f.input(2), x.element()), 1, x.rank()));
  if (ignores) {
    const Term ignored = equal(target, ignored_class);
    loss = where(ignored, 0.0, loss);
    weight = where(ignored, 0.0, weight);
  }
  if (weighs) loss = loss * weight;
  if (reduction == "none") return loss;
  if (reduction == "sum") return sum_of_all(loss);
  if (!weighs && !ignores) return reduce(ReduceKind::kMean, loss, axes_between(0, loss.rank()), false);
  return sum_of_all(loss) / sum_of_all(weight);
}

Result negative_log_likelihood_loss(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  return f.result(cast(loss_of(f, widened(given)), given.element()));
}

Result softmax_cross_entropy_loss(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  if (f.ok() && given.rank() < 2) return node.invalid("scores are " + to_string(given.type()));
  const Term log_probability = softmax(widened(given), 1, true);
  if (node.has_output(1)) f.set_output(1, cast(log_probability, given.element()));
  return f.result(cast(loss_of(f, log_probability), given.element()));
}

constexpr std::array kLossRules = {NamedRule{"NegativeLogLikelihoodLoss", negative_log_likelihood_loss},
                                   NamedRule{"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss}};

}  // namespace

std::span<const NamedRule> loss_rules() {
  return kLossRules;
}

}  // namespace tf::onnx
