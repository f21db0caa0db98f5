#pragma once
// Owns: access patterns: how an index, or the physical address it leads to, depends on loop variables. Does
// not know: caches, costs.

#include <map>
#include <optional>
#include <span>

#include "compiler/analysis/bounds.h"

namespace tf::analysis {

// Σ coefficient * variable + constant.
struct Affine {
  std::map<const VarNode*, int64_t> coefficients;  // no zeros
  int64_t constant = 0;
};

// The index as an affine form of variables; nothing if it is not one after simplification. Lanes of a vector
// do not count: the form is that of lane 0.
std::optional<Affine> affine(const Expr& index, const RangeMap& ranges);

// By how much the index grows when the variable grows by one, if that is the same everywhere. 0: independent
// of it.
std::optional<int64_t> stride(const Expr& index, const VarNode* var, const RangeMap& ranges);

// The same for the element offset in the buffer's physical storage. Buffers with unknown extents have none
// unless the variable stands in the innermost dimension only.
std::optional<int64_t> physical_stride(const ir::BufferNode& buffer, std::span<const Expr> indices,
                                       const VarNode* var, const RangeMap& ranges);

// Whether the variable occurs in the expression.
bool uses(const Expr& expr, const VarNode* var);

// Whether the expression loads from memory. Shared parts are looked at once.
bool contains_load(const Expr& expr);

}  // namespace tf::analysis
