#include "compiler/ops/movement.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/reshape_index.h"
#include "compiler/ops/window.h"

namespace tf::ops {

Buffer transpose(Builder& b, const Buffer& x, const std::vector<int64_t>& perm) {
  if (b.failed()) return x;
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = static_cast<int>(perm.size()) == x->rank();
  for (size_t d = 0; d < sorted.size(); ++d)
    permutation = permutation && sorted[d] == static_cast<int64_t>(d);
  if (!permutation)
    return b.fail("transpose", absl::StrCat("a permutation of the axes of ", describe(x), " is needed"));
  b.label("transpose");
  std::vector<Expr> extents;
  for (int64_t axis : perm) extents.push_back(x->extents[static_cast<size_t>(axis)]);
  return b.compute("transpose", x->element, extents, [&](Indices i) {
    std::vector<Expr> source(perm.size());
    for (size_t d = 0; d < perm.size(); ++d) source[static_cast<size_t>(perm[d])] = i[d];
    return at(x, std::move(source));
  });
}

Buffer reshape(Builder& b, const Buffer& x, const std::vector<Expr>& extents) {
  if (b.failed()) return x;
  if (!same_element_count(x->extents, extents))
    return b.fail("reshape", absl::StrCat(describe(x), " does not have as many elements as ",
                                          describe(tensor::buffer("", x->element, extents))));
  b.label("reshape");
  return b.compute("reshape", x->element, extents,
                   [&](Indices i) { return at(x, reshape_indices(x->extents, extents, i)); });
}

Buffer expand(Builder& b, const Buffer& x, const std::vector<Expr>& extents) {
  if (b.failed()) return x;
  const std::vector<Buffer> operands = {x, tensor::buffer("", x->element, extents)};
  const auto common = broadcast_extents(operands);
  if (!common)
    return b.fail("expand", absl::StrCat(describe(x), " does not broadcast to ", describe(operands[1])));
  b.label("expand");
  return b.compute("expand", x->element, *common, [&](Indices i) { return broadcast_at(x, i); });
}

Buffer concat(Builder& b, const std::vector<Buffer>& operands, int axis) {
  if (b.failed()) return operands.empty() ? Buffer() : operands[0];
  if (operands.empty()) return b.fail("concat", "there is nothing to join");
  const Buffer& first = operands[0];
  if (axis < 0 || axis >= first->rank())
    return b.fail("concat", absl::StrCat("no axis ", axis, " in ", describe(first)));
  const auto joined = static_cast<size_t>(axis);
  std::vector<Expr> extents = first->extents;
  for (size_t k = 1; k < operands.size(); ++k) {
    const Buffer& x = operands[k];
    bool fits = x->rank() == first->rank() && x->element == first->element;
    for (size_t d = 0; fits && d < extents.size(); ++d)
      fits = d == joined || same_extent(x->extents[d], extents[d]);
    if (!fits) return b.fail("concat", absl::StrCat("cannot join ", describe(first), " and ", describe(x)));
    extents[joined] = extents[joined] + x->extents[joined];
  }
  b.label("concat");
  return b.compute("concat", first->element, extents, [&](Indices i) {
    std::vector<Expr> starts = {tensor::imm(int64_t{0})};
    for (const Buffer& x : operands) starts.push_back(starts.back() + x->extents[joined]);
    // Halves of the operands, so that nothing nests deeper than the logarithm of their count.
    const std::function<Expr(size_t, size_t)> choose = [&](size_t begin, size_t end) {
      if (end - begin > 1) {
        const size_t middle = std::midpoint(begin, end);
        return select(i[joined] < starts[middle], choose(begin, middle), choose(middle, end));
      }
      std::vector<Expr> source(i.begin(), i.end());
      source[joined] = i[joined] - starts[begin];
      return at(operands[begin], std::move(source));
    };
    return choose(0, operands.size());
  });
}

Buffer slice(Builder& b, const Buffer& x, const SliceOptions& options) {
  if (b.failed()) return x;
  const size_t count = options.axes.size();
  if (options.starts.size() != count || options.sizes.size() != count || options.steps.size() != count)
    return b.fail("slice", "starts, sizes and steps have one entry for each of the axes");
  std::vector<Expr> extents = x->extents;
  std::vector<int64_t> starts(extents.size(), 0), steps(extents.size(), 1);
  for (size_t k = 0; k < count; ++k) {
    if (options.axes[k] < 0 || options.axes[k] >= x->rank())
      return b.fail("slice", absl::StrCat("no axis ", options.axes[k], " in ", describe(x)));
    const auto axis = static_cast<size_t>(options.axes[k]);
    const int64_t size = options.sizes[k], start = options.starts[k], step = options.steps[k];
    const auto extent = tensor::as_int(x->extents[axis]);
    int64_t span = 0, last = 0;
    const bool overflow = __builtin_mul_overflow(std::max<int64_t>(size - 1, 0), step, &span) ||
                          __builtin_add_overflow(start, span, &last);
    const auto outside = [&](int64_t place) { return place < 0 || (extent && place >= *extent); };
    if (size < 0 || step == 0 || overflow || (size > 0 && (outside(start) || outside(last))))
      return b.fail("slice", absl::StrCat("cannot take ", size, " elements from ", start, " by ", step,
                                          " of axis ", axis, " of ", describe(x)));
    extents[axis] = tensor::imm(size);
    starts[axis] = start;
    steps[axis] = step;
  }
  b.label("slice");
  return b.compute("slice", x->element, extents, [&](Indices i) {
    std::vector<Expr> source;
    for (size_t d = 0; d < i.size(); ++d) source.push_back(i[d] * steps[d] + starts[d]);
    return at(x, std::move(source));
  });
}

Buffer pad(Builder& b, const Buffer& x, const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
           double value) {
  if (b.failed()) return x;
  bool fits = begin.size() == x->extents.size() && end.size() == x->extents.size();
  for (size_t d = 0; fits && d < begin.size(); ++d) fits = begin[d] >= 0 && end[d] >= 0;
  if (!fits)
    return b.fail("pad", absl::StrCat("one padding of at least 0 an axis of ", describe(x), " is needed"));
  b.label("pad");
  const Buffer padded = surround(b, x, begin, end, value);
  if (!padded.same_as(x)) return padded;
  return b.compute("pad", x->element, x->extents, [&](Indices i) { return at(x, i); });
}

Buffer depth_to_space(Builder& b, const Buffer& x, const DepthToSpaceOptions& options) {
  if (b.failed()) return x;
  const size_t spatial = options.blocks.size();
  int64_t block = 1;
  for (int64_t each : options.blocks) block *= each;
  const auto channels = x->rank() < 2 ? std::nullopt : tensor::as_int(x->extents[1]);
  if (x->extents.size() != spatial + 2 || options.begin.size() != spatial ||
      options.sizes.size() != spatial || !channels || options.groups < 1 || block < 1 ||
      *channels % (options.groups * block) != 0)
    return b.fail("depth_to_space", absl::StrCat("blocks of ", block, " in ", options.groups,
                                                 " groups do not fit ", describe(x)));
  b.label("depth_to_space");
  const int64_t each = *channels / (options.groups * block);
  std::vector<Expr> extents = {x->extents[0], tensor::imm(options.groups * each)};
  for (int64_t size : options.sizes) extents.push_back(tensor::imm(size));
  return b.compute("depth_to_space", x->element, extents, [&](Indices i) {
    Expr phase = tensor::imm(int64_t{0}), inside = tensor::imm(Type{Element::kBool, 1}, 1);
    std::vector<Expr> source = {i[0], nullptr};
    for (size_t d = 0; d < spatial; ++d) {
      const Expr place = i[d + 2] + options.begin[d];
      source.push_back(floor_div(place, options.blocks[d]));
      phase = phase * options.blocks[d] + floor_mod(place, options.blocks[d]);
      const auto extent = tensor::as_int(x->extents[d + 2]);
      if (!extent || options.sizes[d] + options.begin[d] > *extent * options.blocks[d])
        inside = logical_and(inside, source.back() < x->extents[d + 2]);
    }
    if (options.groups == 1) {
      source[1] = phase * each + i[1];
    } else {
      source[1] = (floor_div(i[1], each) * block + phase) * each + floor_mod(i[1], each);
    }
    return select(inside, at(x, std::move(source)), constant_like(x, 0));
  });
}

Buffer gather(Builder& b, const Buffer& x, const Buffer& indices, int axis) {
  if (b.failed()) return x;
  if (axis < 0 || axis >= x->rank() ||
      (indices->element != Element::kInt32 && indices->element != Element::kInt64))
    return b.fail("gather",
                  absl::StrCat("cannot pick ", describe(indices), " along axis ", axis, " of ", describe(x)));
  b.label("gather");
  const auto picked = static_cast<size_t>(axis);
  const size_t count = indices->extents.size();
  std::vector<Expr> extents(x->extents.begin(), x->extents.begin() + axis);
  extents.insert(extents.end(), indices->extents.begin(), indices->extents.end());
  extents.insert(extents.end(), x->extents.begin() + axis + 1, x->extents.end());
  return b.compute("gather", x->element, extents, [&](Indices i) {
    const Expr zero = tensor::imm(int64_t{0}), &extent = x->extents[picked];
    const Expr index = tensor::cast(tensor::kIndex, at(indices, i.subspan(picked, count)));
    const Expr wrapped = select(index < zero, index + extent, index);
    std::vector<Expr> source(i.begin(), i.begin() + axis);
    source.push_back(max(min(wrapped, extent - 1), zero));
    source.insert(source.end(), i.begin() + axis + static_cast<std::ptrdiff_t>(count), i.end());
    return at(x, std::move(source));
  });
}

}  // namespace tf::ops
