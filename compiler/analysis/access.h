#pragma once
// Owns: access patterns: how an index depends on loop variables. Does not know: caches, costs.

#include <optional>

#include "compiler/analysis/bounds.h"

namespace tf::analysis {

// By how much the index grows when the variable grows by one, if that is the same everywhere. 0: independent
// of it.
std::optional<int64_t> stride(const Expr& index, const VarNode* var, const RangeMap& ranges);

// The dimension that is indexed by exactly this variable; -1 if none is.
int dimension_of(const tensor::Load& load, const VarNode* var);

// Whether the variable occurs in the expression.
bool uses(const Expr& expr, const VarNode* var);

// Whether the expression loads from memory: its value may differ between two places of the program. Shared
// parts are looked at once.
bool contains_load(const Expr& expr);

}  // namespace tf::analysis
