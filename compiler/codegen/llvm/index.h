#pragma once
// Owns: what code generation asks of index expressions: their form as a sum of terms, and the interval of
// their values. Does not know: LLVM.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compiler/ir/stmt.h"

namespace tf::codegen {

// An inclusive interval; without bounds it is all of i64.
struct Interval {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  bool within(int64_t from, int64_t to) const { return low >= from && high <= to; }
};

// What is known of the variables in scope.
struct VarFacts {
  Interval interval;
  int depth = 0;  // of the loop or let that defines it; 0 outside of all loops
};
using VarTable = std::map<const ir::VarNode*, VarFacts>;

// The values that an integer expression can take, in every lane.
Interval interval_of(const ir::Expr& expr, const VarTable& vars);

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
std::optional<AffineIndex> affine_index(const ir::Expr& index, const VarTable& vars);

}  // namespace tf::codegen
