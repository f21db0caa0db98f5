// Reductions and positions of extremes.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {
namespace {

using graph::ReduceKind;
using tensor::Element;
using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

// What a reduction folds.
struct Folded {
  Term x;
  Ints
      axes;  // none where empty axes mean that nothing is folded: the steps around the sum are computed all the same
  bool keep_dims;
};

Folded folded(Formula& f) {
  Folded all{f.input(0), {}, f.attribute("keepdims", int64_t{1}) != 0};
  const bool nothing = f.attribute("noop_with_empty_axes", int64_t{0}) != 0;
  // The axes were an attribute first; ReduceSum made them an operand in set 13, the others in 18.
  const absl::StatusOr<Ints> given = f.node().ints_attribute("axes", {});
  if (!given.ok()) f.fail(given.status());
  Ints axes = given.ok() ? *given : Ints{};
  if (f.has(1)) axes = f.known_ints(1, "axes");
  if (axes.empty() && nothing) return all;
  if (axes.empty()) axes = axes_between(0, all.x.rank());
  for (int64_t& axis : axes) axis = f.axis(axis, all.x.rank());
  all.axes = std::move(axes);
  return all;
}

template <ReduceKind kKind>
Result reduce_by(NodeReader& node) {
  Formula f(node);
  const Folded all = folded(f);
  return f.result(all.axes.empty() ? identity(all.x) : reduce(kKind, all.x, all.axes, all.keep_dims));
}

// Σ before(x), and what is made of the sum. Halves are summed in f32. A root or logarithm of whole numbers is that of
// their sum, cut off.
template <typename Before, typename After>
Result sum_of(NodeReader& node, Before before, After after) {
  Formula f(node);
  const Folded all = folded(f);
  const Term sum = reduce(ReduceKind::kSum, before(widened(all.x)), all.axes, all.keep_dims);
  return f.result(cast(after(sum), all.x.element()));
}

Term real(const Term& x) {
  return x.is_float() ? x : cast(x, Element::kFloat64);
}
Term same(const Term& x) {
  return x;
}
Term square(const Term& x) {
  return x * x;
}

Result reduce_l1(NodeReader& node) {
  return sum_of(
      node, [](const Term& x) { return abs(x); }, same);
}
Result reduce_l2(NodeReader& node) {
  return sum_of(node, square, [](const Term& sum) { return sqrt(real(sum)); });
}
Result reduce_sum_square(NodeReader& node) {
  return sum_of(node, square, same);
}
Result reduce_log_sum(NodeReader& node) {
  return sum_of(node, same, [](const Term& sum) { return log(real(sum)); });
}

// log(Σ exp(x - m)) + m with the greatest m, so that nothing overflows; an infinite m is left out.
Result reduce_log_sum_exp(NodeReader& node) {
  Formula f(node);
  const Folded all = folded(f);
  const Term x = real(widened(all.x));
  const Term greatest = reduce(ReduceKind::kMax, x, all.axes, true);
  const Term m = where(abs(greatest) < std::numeric_limits<double>::infinity(), greatest, 0.0);
  Term y = log(reduce(ReduceKind::kSum, exp(x - m), all.axes, true)) + m;
  if (!f.ok()) return f.status();
  if (!all.keep_dims) {
    std::vector<tensor::Expr> left;
    for (int d = 0; d < all.x.rank(); ++d)
      if (std::ranges::find(all.axes, d) == all.axes.end())
        left.push_back(all.x.extents()[static_cast<size_t>(d)]);
    y = reshape(y, std::move(left));
  }
  return f.result(cast(y, all.x.element()));
}

// The place of the extreme along the axis, as i32 with the axis kept; a NaN counts as one.
Term place_of(Formula& f, const Term& x, ReduceKind extreme, int64_t axis, bool last) {
  const int64_t extent = x.shape()[static_cast<size_t>(axis)];
  if (extent == 0)
    return f.invalid(absl::StrCat("axis ", axis, " of ", to_string(x.type()), " has no element"));
  if (extent > std::numeric_limits<int32_t>::max()) return f.unsupported(absl::StrCat("an axis of ", extent));
  const Term value = reduce(extreme, x, {axis});
  // If the extreme is NaN, those that differ from themselves; read behind the reduction, so that all is one kernel.
  const Term is_number = equal(value, value);
  const Term found = x.is_float() ? equal(equal(x, where(is_number, value, x)), is_number) : equal(x, value);
  const Term places = f.iota(extent, axis, x.rank(), Element::kInt32);
  const Term chosen = where(found, places, last ? -1.0 : static_cast<double>(extent));
  return reduce(last ? ReduceKind::kMax : ReduceKind::kMin, chosen, {axis});
}

template <ReduceKind kExtreme>
Result place_of_extreme(NodeReader& node) {
  Formula f(node);
  const Term x = f.input(0);
  const int64_t axis = f.axis(f.attribute("axis", int64_t{0}), x.rank());
  const bool keep = f.attribute("keepdims", int64_t{1}) != 0;
  const bool last = f.attribute("select_last_index", int64_t{0}) != 0;
  if (!f.ok()) return f.status();
  Term place = place_of(f, x, kExtreme, axis, last);
  if (!keep) {
    std::vector<tensor::Expr> left = x.extents();
    left.erase(left.begin() + axis);
    place = reshape(place, std::move(left));
  }
  return f.result(cast(place, Element::kInt64));
}

// One at the first greatest element along the axis, else zero. Before operator set 13 all axes from `axis` on are one.
Result hardmax(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const bool flattens = node.opset() < 13;
  int64_t axis = f.axis(f.attribute("axis", int64_t{flattens ? 1 : -1}), given.rank());
  if (!f.ok()) return f.status();
  Term x = given;
  const std::vector<tensor::Expr> extents = given.extents();
  if (flattens) {
    const std::span<const tensor::Expr> all(extents);
    const auto at = static_cast<size_t>(axis);
    x = reshape(given, std::vector<tensor::Expr>{product(all.first(at)), product(all.subspan(at))});
    axis = 1;
  }
  if (!f.ok()) return f.status();
  const int64_t extent = x.shape()[static_cast<size_t>(axis)];
  if (extent == 0) return f.result(identity(given));
  const Term hit =
      equal(f.iota(extent, axis, x.rank(), Element::kInt32), place_of(f, x, ReduceKind::kMax, axis, false));
  const Term y = cast(hit, given.element());
  return f.result(flattens ? reshape(y, extents) : y);
}

constexpr std::array kReductionRules = {NamedRule{"ArgMax", place_of_extreme<ReduceKind::kMax>},
                                        NamedRule{"ArgMin", place_of_extreme<ReduceKind::kMin>},
                                        NamedRule{"Hardmax", hardmax},
                                        NamedRule{"ReduceL1", reduce_l1},
                                        NamedRule{"ReduceL2", reduce_l2},
                                        NamedRule{"ReduceLogSum", reduce_log_sum},
                                        NamedRule{"ReduceLogSumExp", reduce_log_sum_exp},
                                        NamedRule{"ReduceMax", reduce_by<ReduceKind::kMax>},
                                        NamedRule{"ReduceMean", reduce_by<ReduceKind::kMean>},
                                        NamedRule{"ReduceMin", reduce_by<ReduceKind::kMin>},
                                        NamedRule{"ReduceProd", reduce_by<ReduceKind::kProd>},
                                        NamedRule{"ReduceSum", reduce_by<ReduceKind::kSum>},
                                        NamedRule{"ReduceSumSquare", reduce_sum_square}};

}  // namespace

std::span<const NamedRule> reduction_rules() {
  return kReductionRules;
}

}  // namespace tf::onnx
