#pragma once
// Owns: intervals of integer expressions, given the ranges of their variables. Does not know: statements,
// loops.

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "compiler/ir/data.h"
#include "compiler/ir/stmt.h"

namespace tf::analysis {

using ir::Expr;
using ir::VarNode;

// The whole numbers from min to max, both inclusive. An end at int64's limit means: no bound is known there.
// Arithmetic rounds outwards, so a result always contains every value that the operands can give.
struct Interval {
  static constexpr int64_t kNoMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();
  int64_t min = kNoMin;
  int64_t max = kNoMax;

  static Interval everything() { return {}; }
  static Interval point(int64_t value) { return {value, value}; }
  // [min, min + extent), extent > 0.
  static Interval from_extent(int64_t min, int64_t extent) { return {min, min + extent - 1}; }

  bool operator==(const Interval&) const = default;
  bool has_min() const { return min != kNoMin; }
  bool has_max() const { return max != kNoMax; }
  bool is_bounded() const { return has_min() && has_max(); }
  bool is_point() const { return min == max; }
  bool contains(int64_t value) const { return min <= value && value <= max; }
  bool contains(const Interval& other) const { return min <= other.min && other.max <= max; }
};

Interval operator+(const Interval& a, const Interval& b);
Interval operator-(const Interval& a, const Interval& b);
Interval operator*(const Interval& a, const Interval& b);
Interval operator*(const Interval& a, int64_t b);
// Everything where the divisor may be zero or negative.
Interval floor_div(const Interval& a, const Interval& b);
Interval floor_mod(const Interval& a, const Interval& b);
Interval min(const Interval& a, const Interval& b);
Interval max(const Interval& a, const Interval& b);
Interval join(const Interval& a, const Interval& b);       // smallest that contains both
Interval intersect(const Interval& a, const Interval& b);  // of intervals that share a value

// What is known of each variable; a variable that is not in the map can have any value.
using RangeMap = std::map<const VarNode*, Interval>;

// Of the variables that stand for named dimensions.
RangeMap ranges_of(const std::vector<tensor::Dimension>& dims);

// The values that an integer or bool expression can have, over all lanes. Each operand is taken by itself (x
// - x gives more than 0): simplify first where that matters. Floats give everything. So do an i64 negation,
// sum and product of data that may overflow: they wrap, while indices must not overflow. `data` says which
// variables are data.
Interval interval_of(const Expr& expr, const RangeMap& ranges, const ir::Data& data = {});
// The values of the loop's variable, if it runs.
Interval iterations(const ir::For& loop, const RangeMap& ranges, const ir::Data& data = {});
// The values of the integer element type.
Interval element_range(ir::Element element);

}  // namespace tf::analysis
