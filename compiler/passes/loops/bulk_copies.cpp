#include "compiler/passes/loops/bulk_copies.h"

#include <algorithm>
#include <cstdint>

namespace tf::passes {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;

constexpr int64_t kMostOfBox = 256;  // along an axis
constexpr int64_t kMostBoxes = 64;   // of a tile

// How the target's elements stand, without the axis of a ring.
struct Lines {
  std::vector<int64_t> extents;
  int64_t length = 0;        // of a line
  int across = -1;           // the axis along which lines follow one another
  std::vector<int64_t> box;  // by axis of the tensor
};

Lines lines_of(const Buffer& source, const Buffer& target) {
  const auto rank = static_cast<size_t>(source->rank()), ring = static_cast<size_t>(target->rank()) - rank;
  const std::vector<tensor::LayoutAxis>& axes = target->layout.axes;
  Lines lines{.length = axes.back().block};
  for (size_t d = 0; d < rank; ++d)
    lines.extents.push_back(tensor::as_int(target->extents[d + ring]).value_or(0));
  lines.box.assign(rank, 1);
  lines.box.back() = lines.length;
  if (rank > 1) {
    lines.across = axes[axes.size() - 2].axis - static_cast<int>(ring);
    int64_t& box = lines.box[static_cast<size_t>(lines.across)];
    box = std::min(lines.extents[static_cast<size_t>(lines.across)], kMostOfBox);
  }
  return lines;
}

}  // namespace

bool can_copy_in_bulk(const Buffer& source, const Buffer& target) {
  if (!source->layout.is_row_major() || source->layout.swizzle) return false;
  const Lines lines = lines_of(source, target);
  int64_t boxes = 1, elements = 1;
  for (size_t d = 0; d < lines.extents.size(); ++d) {
    if (lines.extents[d] < 1) return false;
    // A box more would reach into what follows.
    if (static_cast<int>(d) == lines.across && lines.extents[d] % lines.box[d] != 0) return false;
    boxes *= (lines.extents[d] + lines.box[d] - 1) / lines.box[d];
    elements *= lines.box[d];
  }
  return boxes <= kMostBoxes && elements % target->layout.swizzle.period() == 0;
}

Stmt bulk_copies(const BulkTile& tile) {
  const Lines lines = lines_of(tile.source, tile.target);
  const size_t rank = lines.extents.size();
  std::vector<ir::BoxAxis> box;
  int64_t elements = 1;
  for (size_t d = 0; d < rank; ++d) {
    box.push_back({tensor::as_int(tile.source->extents[d]).value_or(0), lines.box[d]});
    elements *= lines.box[d];
  }
  std::vector<Stmt> all;
  std::vector<int64_t> at(rank, 0);
  for (bool more = true; more;) {
    std::vector<Expr> target, source;
    if (tile.tile) target.push_back(tile.tile);
    for (size_t d = 0; d < rank; ++d) {
      target.push_back(tensor::imm(at[d]));
      source.push_back(tile.origin[d] + at[d]);
    }
    all.push_back(ir::make_stmt<ir::AsyncCopy>(tile.target, std::move(target), tile.source, std::move(source),
                                               elements, nullptr, box));
    more = false;
    for (size_t d = rank; d-- > 0 && !more;) {
      at[d] += lines.box[d];
      more = at[d] < lines.extents[d];
      if (!more) at[d] = 0;
    }
  }
  return ir::seq(std::move(all));
}

}  // namespace tf::passes
