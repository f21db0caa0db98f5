#pragma once
// Owns: a state's sizes, and conditions over them, as values: of a schedule constants, of a sketch formulas
// over its choices. Does not know: loop nests.

#include <map>

#include "compiler/schedule/schedule.h"
#include "tuner/model/formulas/value.h"
#include "tuner/space/space.h"

namespace tf::model {

// Reads the expressions of a state, over the variables of its open sizes, as values. It, and the formulas,
// must outlive what it gives.
class Reading {
 public:
  // Of a schedule's state, in which nothing is open.
  Reading() = default;
  // Of a sketch: the state's open sizes are the sketch's.
  Reading(const space::Sketch& sketch, const schedule::OpenSizes& open, Formulas& formulas);

  Value operator()(const schedule::SymInt& whole) const;
  // A condition over open sizes.
  Value operator()(const tensor::Expr& expr) const;
  // Whether the expression has no other variables.
  bool is_open_only(const tensor::Expr& expr) const;

 private:
  std::map<const tensor::VarNode*, Value> sizes_;
};

}  // namespace tf::model
