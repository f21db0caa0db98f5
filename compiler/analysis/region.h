#pragma once
// Owns: the region of a buffer that an access touches while some loops run. Does not know: statements,
// schedules.

#include <optional>
#include <span>
#include <vector>

#include "compiler/analysis/bounds.h"
#include "compiler/tensor/symbolic_integer.h"

namespace tf::analysis {

using tensor::SymInt;

// The indices [min, min + extent) of one dimension; min is an expression over the outer variables, and so is
// no extent: at most over open sizes.
struct Span {
  Expr min;
  SymInt extent = 1;
};
using Region = std::vector<Span>;  // one span a dimension

// What is not known as a number yet: variables that stand for sizes, with their ranges, and the extents of
// inner variables that depend on them (whose ranges hold the greatest).
struct OpenExtents {
  RangeMap sizes;
  std::map<const VarNode*, SymInt> extents;
};

// What the indices touch while the inner variables run over their ranges and the outer ones stand still, a
// span a dimension. The spans contain every index (those of all lanes), never fewer: an index that does not
// separate into an outer and an inner part gives its interval or the whole dimension. Spans may reach beyond
// the buffer where the indices do (guarded loads). Nothing if a dimension without constant extent would be
// needed whole.
//   touched({o*4 + i, (o*4 + i)//2}, …, inner {i: [0, 3]}) → {o*4, 4}, {o*2, 2}
std::optional<Region> touched(std::span<const Expr> indices, std::span<const Expr> buffer_extents,
                              const RangeMap& inner, const RangeMap& outer, const OpenExtents& open = {});

// A region that contains both, for all values in the ranges.
std::optional<Region> unite(const Region& a, const Region& b, std::span<const Expr> buffer_extents,
                            const RangeMap& ranges, const OpenExtents& open = {});

}  // namespace tf::analysis
