#pragma once
// Owns: index expressions as sums of terms in the order in which loops define them. Does not know: LLVM.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compiler/ir/stmt.h"

namespace tf::backends {

// How deep the loop or let stands that defines a variable; one that is not in the table: outside of all
// loops.
using DepthTable = std::map<const ir::VarNode*, int>;

// constant + sum(coefficient * scalar expression), and per lane `lane * stride`. Terms stand in the order of
// loop depth, outermost first, so that sums of leading terms are invariant in inner loops.
struct AffineIndex {
  struct Term {
    ir::Expr value;
    int64_t coefficient = 1;
    int depth = 0;
  };
  std::vector<Term> terms;
  int64_t constant = 0;
  int64_t stride = 0;
};

// Nothing if lanes do not differ by a constant stride.
std::optional<AffineIndex> affine_index(const ir::Expr& index, const DepthTable& depths);

}  // namespace tf::backends
