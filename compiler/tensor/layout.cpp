#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "compiler/tensor/expr.h"

namespace tf::tensor {
namespace {

constexpr int kMaxRank = 8;  // the limits of compiler/runtime/layout.h
constexpr int kMaxAxes = 16;

absl::Status bad_layout(absl::string_view text, int rank, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a layout of a tensor of rank ", rank,
                                                 ": ", reason,
                                                 "; write 'row_major', or axes as in '0,1,2,3,1:16'"));
}

// "BITS:BASE:SHIFT".
bool parse_swizzle(absl::string_view text, Swizzle* out) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  return parts.size() == 3 && absl::SimpleAtoi(parts[0], &out->bits) &&
         absl::SimpleAtoi(parts[1], &out->base) && absl::SimpleAtoi(parts[2], &out->shift) && *out &&
         out->is_legal();
}

// "d" or "d:b".
bool parse_axis(absl::string_view text, LayoutAxis* out) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() > 2 || !absl::SimpleAtoi(parts[0], &out->axis)) return false;
  if (parts.size() == 1) return true;
  return absl::SimpleAtoi(parts[1], &out->block) && out->block > 0;
}

}  // namespace

std::string Layout::text() const {
  std::string out;
  for (const LayoutAxis& axis : axes) {
    absl::StrAppend(&out, out.empty() ? "" : ",", axis.axis);
    if (axis.block > 0) absl::StrAppend(&out, ":", axis.block);
  }
  if (swizzle) absl::StrAppend(&out, "^", swizzle.bits, ":", swizzle.base, ":", swizzle.shift);
  return out;
}

absl::StatusOr<Layout> Layout::parse(std::string_view given, int rank) {
  const absl::string_view text(given.data(), given.size());
  Layout layout;
  if (text == "row_major") return layout;
  absl::string_view axes = text;
  if (const size_t caret = text.find('^'); caret != absl::string_view::npos) {
    axes = text.substr(0, caret);
    if (!parse_swizzle(text.substr(caret + 1), &layout.swizzle))
      return bad_layout(text, rank,
                        "^ must be followed by BITS:BASE:SHIFT, at most 8 bits, a shift of as many at least");
  }
  if (axes.empty()) return layout;
  if (rank > kMaxRank)
    return bad_layout(text, rank, absl::StrCat("blocked tensors have at most rank ", kMaxRank));
  std::vector<int> unblocked(static_cast<size_t>(rank), 0);
  for (absl::string_view part : absl::StrSplit(axes, ',')) {
    LayoutAxis axis;
    if (!parse_axis(part, &axis))
      return bad_layout(text, rank, absl::StrCat("'", part, "' is not AXIS or AXIS:BLOCK"));
    if (axis.axis < 0 || axis.axis >= rank)
      return bad_layout(text, rank, absl::StrCat("there is no axis ", axis.axis));
    if (axis.block == 0) ++unblocked[static_cast<size_t>(axis.axis)];
    layout.axes.push_back(axis);
  }
  if (layout.axes.size() > kMaxAxes)
    return bad_layout(text, rank, absl::StrCat("more than ", kMaxAxes, " axes"));
  for (int d = 0; d < rank; ++d)
    if (unblocked[static_cast<size_t>(d)] != 1)
      return bad_layout(text, rank, absl::StrCat("axis ", d, " must appear exactly once without a block"));
  return layout;
}

}  // namespace tf::tensor
