#include "compiler/ops/pooling.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tf::ops {
namespace {

Buffer fold_windows(Builder& b, const std::string& name, const Window& window, const Buffer& x,
                    const Buffer& padded, Combiner combiner, Element element) {
  std::vector<Expr> extents = {x->extents[0], x->extents[1]};
  for (Expr& extent : slide_extents(window, x)) extents.push_back(extent);
  std::vector<Expr> kernel;
  for (int64_t extent : window.kernel) kernel.push_back(tensor::imm(extent));
  return b.reduce(name, element, extents, kernel, combiner, [&](Indices i, Indices r) {
    std::vector<Expr> source = {i[0], i[1]};
    for (size_t d = 0; d < r.size(); ++d) source.push_back(window_at(window, d, i[d + 2], r[d]));
    return tensor::cast(Type{element, 1}, at(padded, std::move(source)));
  });
}

// How many elements of window `o` along a spatial axis of that extent lie in x.
Expr counted(const Window& window, size_t axis, const Expr& o, const Expr& extent) {
  const int64_t dilation = window.dilations[axis];
  const Expr start = o * window.strides[axis] - window.pads_begin[axis];
  const Expr first = ceil_div(max(-start, tensor::imm(int64_t{0})), tensor::imm(dilation));
  const Expr beyond = ceil_div(extent - start, tensor::imm(dilation));
  return max(min(beyond, tensor::imm(window.kernel[axis])) - first, tensor::imm(int64_t{0}));
}

// x surrounded by what never wins a maximum.
Buffer pad_with_lowest(Builder& b, const Window& window, const Buffer& x) {
  double lowest = 0;
  const Expr identity = tensor::identity(Combiner::kMax, x->element);
  if (const auto* imm = tensor::as<tensor::FloatImm>(identity)) lowest = imm->value;
  if (const auto value = tensor::as_int(identity)) lowest = static_cast<double>(*value);
  return pad_window(b, window, x, lowest);
}

}  // namespace

Buffer max_pool(Builder& b, const Buffer& x, Window window) {
  if (b.failed()) return x;
  if (std::string message = complete(window, x); !message.empty()) return b.fail("max_pool", message);
  const std::string name = absl::StrCat("max_pool", window.kernel.size(), "d");
  b.label(name);
  const Buffer padded = pad_with_lowest(b, window, x);
  return fold_windows(b, name, window, x, padded, Combiner::kMax, x->element);
}

Buffer max_pool_index(Builder& b, const Buffer& x, Window window) {
  if (b.failed()) return x;
  if (std::string message = complete(window, x); !message.empty()) return b.fail("max_pool_index", message);
  const std::string name = absl::StrCat("max_pool_index", window.kernel.size(), "d");
  b.label(name);
  const Buffer padded = pad_with_lowest(b, window, x);
  const Buffer most = fold_windows(b, "max", window, x, padded, Combiner::kMax, x->element);
  std::vector<Expr> kernel;
  for (int64_t extent : window.kernel) kernel.push_back(tensor::imm(extent));
  const Expr none = tensor::identity(Combiner::kMin, Element::kInt64);
  const auto found = [&](Indices i, Indices r) {
    std::vector<Expr> source = {i[0], i[1]};
    Expr place = i[0] * x->extents[1] + i[1], exists = tensor::imm(Type{Element::kBool, 1}, 1);
    for (size_t d = 0; d < r.size(); ++d) {
      source.push_back(window_at(window, d, i[d + 2], r[d]));
      const Expr here = source.back() - window.pads_begin[d];
      exists = logical_and(exists, logical_and(tensor::imm(int64_t{0}) <= here, here < x->extents[d + 2]));
      place = place * x->extents[d + 2] + here;
    }
    const Expr wins = logical_and(exists, equal(at(padded, std::move(source)), at(most, i)));
    return select(wins, place, none);
  };
  const Buffer first = b.reduce("first", Element::kInt64, most->extents, kernel, Combiner::kMin, found);
  // NaN is equal to nothing.
  return b.compute(name, Element::kInt64, most->extents, [&](Indices i) {
    Expr place = i[0] * x->extents[1] + i[1];
    for (size_t d = 0; d < window.kernel.size(); ++d)
      place = place * x->extents[d + 2] +
              max(window_at(window, d, i[d + 2], tensor::imm(int64_t{0})) - window.pads_begin[d],
                  tensor::imm(int64_t{0}));
    return select(equal(at(first, i), none), place, at(first, i));
  });
}

Buffer avg_pool(Builder& b, const Buffer& x, Window window, bool count_include_pad) {
  if (b.failed()) return x;
  if (std::string message = complete(window, x); !message.empty()) return b.fail("avg_pool", message);
  if (!tensor::is_float(x->element)) return b.fail("avg_pool", absl::StrCat("cannot take ", describe(x)));
  const std::string name = absl::StrCat("avg_pool", window.kernel.size(), "d");
  b.label(name);
  const Element element = accumulator(x->element);
  const Type type{element, 1};
  const Buffer padded = pad_window(b, window, x, 0);
  const Buffer sum = fold_windows(b, "sum", window, x, padded, Combiner::kSum, element);
  // Every window is counted whole if nothing is padded, or if all that is padded counts.
  const bool whole = padded.same_as(x) || count_include_pad;
  const Buffer mean = b.compute(name, element, sum->extents, [&](Indices i) {
    Expr count = tensor::imm(1);
    for (size_t d = 0; d < window.kernel.size(); ++d) {
      count =
          count * (whole ? tensor::imm(window.kernel[d]) : counted(window, d, i[d + 2], x->extents[d + 2]));
    }
    // A window that sees only padding gives 0.
    if (!whole) count = max(count, tensor::imm(1));
    return at(sum, i) / tensor::cast(type, count);
  });
  return round_to(b, mean, x->element);
}

}  // namespace tf::ops
