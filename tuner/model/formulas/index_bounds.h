#pragma once
// Owns: the range of an index expression whose loops' extents may be formulas. Does not know: buffers, nests.

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "tuner/model/formulas/reading.h"

namespace tf::model {

// From low to high, both inclusive; nothing: no bound is known there.
struct Bounds {
  std::optional<Value> low, high;
  bool is_bounded() const { return low && high; }
};

// The counterpart of analysis::interval_of. Variables that are neither set nor open sizes are unbounded.
class IndexBounds {
 public:
  explicit IndexBounds(const Reading& reading) : reading_(reading) {}

  // From here on the variable runs from 0 to `last`.
  void set(const tensor::Var& var, const Value& last);
  // From here on the variable has that value.
  void fix(const tensor::Var& var, const Value& value);
  Bounds of(const tensor::Expr& expr);

 private:
  Bounds compute(const tensor::Expr& expr);
  Bounds binary(const tensor::Binary& node);

  const Reading& reading_;
  absl::flat_hash_map<const tensor::VarNode*, Bounds> ranges_;
  absl::flat_hash_map<const tensor::ExprNode*, Bounds> known_;  // of the present ranges
};

}  // namespace tf::model
