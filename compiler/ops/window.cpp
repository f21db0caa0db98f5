#include "compiler/ops/window.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace tf::ops {
namespace {

// Bounds what files say, so that sums and products of a few sizes cannot overflow.
constexpr int64_t kLargest = int64_t{1} << 31;

std::string complete_entries(std::vector<int64_t>& entries, const char* what, size_t count, int64_t least) {
  if (entries.empty()) entries.assign(count, least);
  if (entries.size() != count)
    return absl::StrCat(what, " has ", entries.size(), " entries; one for each of ", count,
                        " spatial axes is needed");
  for (int64_t entry : entries)
    if (entry < least || entry > kLargest)
      return absl::StrCat(what, " has an entry ", entry, "; at least ", least, " is needed");
  return "";
}

int64_t reach(const Window& w, size_t axis) {
  return w.dilations[axis] * (w.kernel[axis] - 1) + 1;
}

}  // namespace

std::string complete(Window& window, const Buffer& x) {
  if (x->rank() < 3 || x->rank() > 5)
    return absl::StrCat("the input is ", describe(x),
                        "; batch, channel and one to three spatial axes are needed");
  const size_t spatial = static_cast<size_t>(x->rank()) - 2;
  if (window.kernel.empty()) return "the kernel has no extents";
  for (auto [entries, what, least] : {std::tuple(&window.kernel, "the kernel", 1),
                                      {&window.strides, "strides", 1},
                                      {&window.dilations, "dilations", 1},
                                      {&window.pads_begin, "begin padding", 0},
                                      {&window.pads_end, "end padding", 0}})
    if (std::string message = complete_entries(*entries, what, spatial, least); !message.empty())
      return message;
  for (size_t d = 0; d < spatial; ++d) {
    const auto extent = tensor::as_int(x->extents[d + 2]);
    if (extent && *extent + window.pads_begin[d] + window.pads_end[d] < reach(window, d))
      return absl::StrCat("a window of ", reach(window, d), " does not fit spatial axis ", d, " of ",
                          describe(x), " with its padding");
  }
  return "";
}

std::vector<Expr> slide_extents(const Window& w, const Buffer& x) {
  std::vector<Expr> extents;
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    const Expr& extent = x->extents[d + 2];
    const Expr room = extent + (w.pads_begin[d] + w.pads_end[d] - reach(w, d));
    extents.push_back(floor_div(room, w.strides[d]) + 1);
  }
  return extents;
}

Buffer pad_window(Builder& b, const Window& w, const Buffer& x, double value) {
  std::vector<int64_t> begin(2, 0), end(2, 0);
  begin.insert(begin.end(), w.pads_begin.begin(), w.pads_begin.end());
  end.insert(end.end(), w.pads_end.begin(), w.pads_end.end());
  return surround(b, x, begin, end, value);
}

Expr window_at(const Window& w, size_t axis, const Expr& o, const Expr& k) {
  return o * w.strides[axis] + k * w.dilations[axis];
}

Buffer surround(Builder& b, const Buffer& x, std::span<const int64_t> begin, std::span<const int64_t> end,
                double value) {
  std::vector<Expr> extents;
  bool padded = false;
  for (size_t d = 0; d < x->extents.size(); ++d) {
    extents.push_back(x->extents[d] + (begin[d] + end[d]));
    padded = padded || begin[d] != 0 || end[d] != 0;
  }
  if (!padded) return x;
  return b.compute("pad", x->element, std::move(extents), [&](Indices i) {
    Expr inside = tensor::imm(Type{Element::kBool, 1}, 1);
    std::vector<Expr> source;
    for (size_t d = 0; d < i.size(); ++d) {
      if (begin[d] > 0) inside = logical_and(inside, tensor::imm(begin[d]) <= i[d]);
      if (end[d] > 0) inside = logical_and(inside, i[d] < x->extents[d] + begin[d]);
      source.push_back(i[d] - begin[d]);
    }
    return select(inside, at(x, std::move(source)), constant_like(x, value));
  });
}

}  // namespace tf::ops
