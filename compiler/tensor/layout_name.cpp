#include "compiler/tensor/layout_name.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "compiler/tensor/expr.h"

namespace tf::tensor {
namespace {

constexpr int kMostAxes = 8;  // that a layout has names for

std::optional<Layout> parse_any_rank(std::string_view text) {
  for (int rank = 1; rank <= kMostAxes; ++rank)
    if (absl::StatusOr<Layout> layout = Layout::parse(text, rank); layout.ok()) return *std::move(layout);
  return std::nullopt;
}

std::string_view letters_of(int rank) {
  switch (rank) {
    case 3:
      return "NCW";
    case 4:
      return "NCHW";
    case 5:
      return "NCDHW";
    default:
      return "ABCDEFGH";
  }
}

}  // namespace

std::string layout_name(std::string_view text) {
  if (text.empty()) return "-";
  const std::optional<Layout> layout = parse_any_rank(text);
  if (!layout || layout->axes.empty()) return std::string(text);
  int rank = 0;
  for (const LayoutAxis& axis : layout->axes) rank = std::max(rank, axis.axis + 1);
  const std::string_view letters = letters_of(rank);
  std::string name;
  for (const LayoutAxis& axis : layout->axes) {
    const char letter = letters[static_cast<size_t>(axis.axis)];
    if (axis.block > 0) {
      absl::StrAppend(&name, axis.block, std::string(1, absl::ascii_tolower(letter)));
    } else {
      name += letter;
    }
  }
  if (const Swizzle& swizzle = layout->swizzle)
    absl::StrAppend(&name, "^", swizzle.bits, ":", swizzle.base, ":", swizzle.shift);
  return name;
}

}  // namespace tf::tensor
