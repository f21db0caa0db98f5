#include "compiler/ops/reduction.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/window.h"

namespace tf::ops {
namespace {

using tensor::Intrinsic;

Combiner combiner_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMean:
      return Combiner::kSum;
    case ReduceKind::kMax:
      return Combiner::kMax;
    case ReduceKind::kMin:
      return Combiner::kMin;
    case ReduceKind::kProd:
      return Combiner::kProd;
  }
  __builtin_unreachable();
}

bool contains(const std::vector<int64_t>& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

// x with `axes` folded; the stage called `name`.
Buffer fold_axes(Builder& b, const std::string& name, const Buffer& x, const std::vector<int64_t>& axes,
                 bool keep_dims, Combiner combiner, Element element) {
  std::vector<Expr> kept, folded;
  for (size_t d = 0; d < x->extents.size(); ++d) {
    if (contains(axes, d)) folded.push_back(x->extents[d]);
    if (!contains(axes, d) || keep_dims) kept.push_back(contains(axes, d) ? tensor::imm(1) : x->extents[d]);
  }
  return b.reduce(name, element, kept, folded, combiner, [&](Indices i, Indices r) {
    std::vector<Expr> source;
    size_t next_kept = 0, next_folded = 0;
    for (size_t d = 0; d < x->extents.size(); ++d) {
      if (!contains(axes, d)) {
        source.push_back(i[next_kept++]);
      } else {
        source.push_back(r[next_folded++]);
        if (keep_dims) ++next_kept;
      }
    }
    return tensor::cast(Type{element, 1}, at(x, std::move(source)));
  });
}

// The element in which a reduction accumulates: one that its terms do not overflow, as far as there is one.
// Sums and products of whole numbers wrap as their own type does, but their mean must not.
Element reduced_in(ReduceKind kind, Element element) {
  if (kind == ReduceKind::kMin || kind == ReduceKind::kMax)
    return element == Element::kBool ? Element::kUInt8 : element;
  if (tensor::is_float(element)) return accumulator(element);
  if (kind != ReduceKind::kMean) return element;
  return element == Element::kUInt64 ? element : Element::kInt64;
}

// The indices with `axis` replaced by 0: where a tensor folded with keep_dims has its value.
std::vector<Expr> without(Indices i, size_t axis) {
  std::vector<Expr> indices(i.begin(), i.end());
  indices[axis] = tensor::imm(int64_t{0});
  return indices;
}

}  // namespace

Buffer reduce(Builder& b, ReduceKind kind, const Buffer& x, std::vector<int64_t> axes, bool keep_dims) {
  if (b.failed()) return x;
  const std::string name(name_of(kind));
  std::sort(axes.begin(), axes.end());
  const bool repeated = std::adjacent_find(axes.begin(), axes.end()) != axes.end();
  if (repeated || (!axes.empty() && (axes.front() < 0 || axes.back() >= x->rank())))
    return b.fail(name, absl::StrCat("the axes to fold are not different axes of ", describe(x)));
  const bool orders = kind == ReduceKind::kMin || kind == ReduceKind::kMax;
  if (x->element == Element::kBool && !orders) return b.fail(name, absl::StrCat("cannot take ", describe(x)));
  b.label(name);
  Buffer folded = fold_axes(b, name, x, axes, keep_dims, combiner_of(kind), reduced_in(kind, x->element));
  if (kind == ReduceKind::kMean) {
    Expr count = tensor::imm(1);
    for (int64_t axis : axes) count = count * x->extents[static_cast<size_t>(axis)];
    folded = b.compute("mean", folded->element, folded->extents, [&](Indices i) {
      const Expr divisor = tensor::cast(Type{folded->element, 1}, count);
      return quotient(at(folded, i), divisor);
    });
  }
  return round_to(b, folded, x->element);
}

Buffer softmax(Builder& b, const Buffer& x, int axis, bool log) {
  if (b.failed()) return x;
  const char* name = log ? "log_softmax" : "softmax";
  if (axis < 0 || axis >= x->rank() || !tensor::is_float(x->element))
    return b.fail(name, absl::StrCat("cannot fold axis ", axis, " of ", describe(x)));
  b.label(name);
  const Element element = accumulator(x->element);
  const Type type{element, 1};
  const auto at_axis = static_cast<size_t>(axis);
  const Buffer maximum = fold_axes(b, "maximum", x, {axis}, true, Combiner::kMax, element);
  const auto shifted = [&](Indices i) {
    return tensor::cast(type, at(x, i)) - at(maximum, without(i, at_axis));
  };
  const Buffer exponential = b.compute("exponential", element, x->extents, [&](Indices i) {
    return tensor::call(Intrinsic::kExp, {shifted(i)});
  });
  const Buffer sum = fold_axes(b, "sum", exponential, {axis}, true, Combiner::kSum, element);
  // One logarithm or division a row, not one an element.
  const Buffer scale = b.compute("scale", element, sum->extents, [&](Indices i) {
    return log ? tensor::call(Intrinsic::kLog, {at(sum, i)}) : tensor::imm(type, 1) / at(sum, i);
  });
  const Buffer result = b.compute(name, element, x->extents, [&](Indices i) {
    const Expr row = at(scale, without(i, at_axis));
    return log ? shifted(i) - row : at(exponential, i) * row;
  });
  return round_to(b, result, x->element);
}

Buffer lrn(Builder& b, const Buffer& x, LrnOptions options) {
  if (b.failed()) return x;
  if (x->rank() < 2 || !tensor::is_float(x->element) || options.size < 1)
    return b.fail("lrn", absl::StrCat("cannot take ", describe(x), " with a size of ", options.size));
  b.label("lrn");
  const Element element = accumulator(x->element);
  const Type type{element, 1};
  std::vector<int64_t> begin(x->extents.size(), 0), end(x->extents.size(), 0);
  begin[1] = (options.size - 1) / 2;
  end[1] = options.size - 1 - begin[1];
  const Buffer padded = surround(b, x, begin, end, 0);
  const Buffer squares = b.reduce("squares", element, x->extents, {tensor::imm(options.size)}, Combiner::kSum,
                                  [&](Indices i, Indices r) {
                                    std::vector<Expr> source(i.begin(), i.end());
                                    source[1] = i[1] + r[0];
                                    const Expr value = tensor::cast(type, at(padded, std::move(source)));
                                    return value * value;
                                  });
  const auto number = [&](double v) { return tensor::imm(type, v); };
  const Buffer result = b.compute("lrn", element, x->extents, [&](Indices i) {
    const Expr base =
        at(squares, i) * number(options.alpha / static_cast<double>(options.size)) + number(options.bias);
    const Expr value = tensor::cast(type, at(x, i));
    // The usual exponent needs no logarithm: base^0.75 = √base · √√base.
    if (options.beta == 0.75) {
      const Expr root = tensor::call(Intrinsic::kSqrt, {base});
      return value / (root * tensor::call(Intrinsic::kSqrt, {root}));
    }
    return value * tensor::call(Intrinsic::kPow, {base, number(-options.beta)});
  });
  return round_to(b, result, x->element);
}

Buffer batch_norm(Builder& b, const Buffer& x, const BatchNormOperands& operands, double epsilon) {
  if (b.failed()) return x;
  for (const Buffer& operand : {operands.scale, operands.bias, operands.mean, operands.variance})
    if (x->rank() < 2 || !tensor::is_float(x->element) || operand->rank() != 1 ||
        operand->element != x->element || !same_extent(operand->extents[0], x->extents[1]))
      return b.fail("batch_norm",
                    absl::StrCat("a parameter of ", describe(operand), " does not fit ", describe(x)));
  b.label("batch_norm");
  return b.compute("batch_norm", x->element, x->extents, [&](Indices i) {
    const auto parameter = [&](const Buffer& operand) { return at(operand, {i[1]}); };
    const Expr deviation =
        tensor::call(Intrinsic::kSqrt, {parameter(operands.variance) + constant_like(x, epsilon)});
    return (at(x, i) - parameter(operands.mean)) * (parameter(operands.scale) / deviation) +
           parameter(operands.bias);
  });
}

}  // namespace tf::ops
