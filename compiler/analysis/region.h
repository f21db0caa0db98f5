#pragma once
// Owns: the region of a buffer that an access touches while some loops run. Does not know: statements,
// schedules.

#include <optional>
#include <span>
#include <vector>

#include "compiler/analysis/bounds.h"

namespace tf::analysis {

// The indices [min, min + extent) of one dimension; min is an expression over the outer variables.
struct Span {
  Expr min;
  int64_t extent = 1;
};
using Region = std::vector<Span>;  // one span a dimension

// What the indices touch while the inner variables run over their ranges and the outer ones stand still, a
// span a dimension. The spans contain every index (those of all lanes), never fewer: an index that does not
// separate into an outer and an inner part gives its interval or the whole dimension. Spans may reach beyond
// the buffer where the indices do (guarded loads). Nothing if a dimension without constant extent would be
// needed whole.
//   touched({o*4 + i, (o*4 + i)//2}, …, inner {i: [0, 3]}) → {o*4, 4}, {o*2, 2}
std::optional<Region> touched(std::span<const Expr> indices, std::span<const Expr> buffer_extents,
                              const RangeMap& inner, const RangeMap& outer);

// A region that contains both, for all values in the ranges.
std::optional<Region> unite(const Region& a, const Region& b, std::span<const Expr> buffer_extents,
                            const RangeMap& ranges);

// The region with spans moved up to start at 0 or later and cut to at most the buffer's extents. Contains
// every index of the region that lies in the buffer.
Region clamp(const Region& region, std::span<const Expr> buffer_extents, const RangeMap& ranges);

}  // namespace tf::analysis
