#include "compiler/ops/resample.h"

#include "absl/strings/str_cat.h"

namespace tf::ops {
namespace {

int64_t taps_of(const TableAxis& table) {
  return tensor::as_int(table.indices->extents[0]).value_or(0);
}

std::string check(const Buffer& x, const std::vector<TableAxis>& axes, Element sum) {
  int64_t taps = 1;
  for (const TableAxis& table : axes) {
    if (table.axis < 0 || table.axis >= x->rank())
      return absl::StrCat("no axis ", table.axis, " in ", describe(x));
    if (!tensor::as_int(x->extents[static_cast<size_t>(table.axis)]))
      return absl::StrCat("axis ", table.axis, " of ", describe(x), " has an extent that is not a number");
    if (table.indices->rank() != 2 || table.indices->element != Element::kInt32 || taps_of(table) < 1)
      return absl::StrCat("the indices ", describe(table.indices), " are not a table of i32");
    if (table.weights && (table.weights->element != sum || table.weights->rank() != 2 ||
                          !same_extent(table.weights->extents[0], table.indices->extents[0]) ||
                          !same_extent(table.weights->extents[1], table.indices->extents[1])))
      return absl::StrCat("the weights ", describe(table.weights), " do not fit the indices ",
                          describe(table.indices));
    taps *= taps_of(table);
  }
  if (taps > kMostUnrolledTaps && axes.size() > 1)
    return absl::StrCat("there are ", taps, " taps of several axes; at most ", kMostUnrolledTaps,
                        " are supported");
  return "";
}

// What is seen along the axes from `first` on, where the earlier ones are given in `source`.
class Taps {
 public:
  Taps(const Buffer& x, const std::vector<TableAxis>& axes, Indices places, Type type)
      : x_(x), axes_(axes), places_(places), type_(type) {}

  Expr all(size_t first, std::vector<Expr> source) const {
    if (first == axes_.size()) {
      const Expr element = at(x_, std::move(source));
      return x_->element == type_.element ? element : tensor::cast(type_, element);
    }
    Expr sum;
    for (int64_t t = 0; t < taps_of(axes_[first]); ++t) {
      const Expr seen = one(first, tensor::imm(t), source);
      sum = sum ? sum + seen : seen;
    }
    return sum;
  }

  Expr one(size_t which, const Expr& tap, std::vector<Expr> source) const {
    const TableAxis& table = axes_[which];
    const auto axis = static_cast<size_t>(table.axis);
    source[axis] = tensor::cast(tensor::kIndex, at(table.indices, {tap, places_[axis]}));
    const Expr seen = all(which + 1, std::move(source));
    return table.weights ? seen * at(table.weights, {tap, places_[axis]}) : seen;
  }

 private:
  const Buffer& x_;
  const std::vector<TableAxis>& axes_;
  const Indices places_;
  const Type type_;
};

}  // namespace

Buffer resample(Builder& b, const Buffer& x, const std::vector<TableAxis>& axes) {
  if (b.failed()) return x;
  bool sums = false;
  int64_t taps = 1;
  for (const TableAxis& table : axes) {
    sums = sums || table.weights || taps_of(table) > 1;
    taps *= taps_of(table);
  }
  const Element element = sums ? accumulator(x->element) : x->element;
  if (std::string message = check(x, axes, element); !message.empty()) return b.fail("resample", message);
  b.label("resample");
  std::vector<Expr> extents = x->extents;
  for (const TableAxis& table : axes) extents[static_cast<size_t>(table.axis)] = table.indices->extents[1];
  const Type type{element, 1};
  if (taps <= kMostUnrolledTaps) {
    const Buffer y = b.compute("resample", element, extents, [&](Indices i) {
      return Taps(x, axes, i, type).all(0, {i.begin(), i.end()});
    });
    return round_to(b, y, x->element);
  }
  const Buffer y = b.reduce("resample", element, extents, {axes[0].indices->extents[0]}, Combiner::kSum,
                            [&](Indices i, Indices r) {
                              return Taps(x, axes, i, type).one(0, r[0], {i.begin(), i.end()});
                            });
  return round_to(b, y, x->element);
}

}  // namespace tf::ops
