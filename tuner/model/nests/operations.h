#pragma once
// Owns: what a stage's body executes at one point of its loops: arithmetic and loads, after the selects that
// unrolling decides. Does not know: loops around it, rates.

#include <vector>

#include "compiler/schedule/schedule.h"

namespace tf::model {

struct Operations {
  double arithmetic = 0;                   // float operations a point, on average; index arithmetic is free
  std::vector<const tensor::Load*> loads;  // each location once; they live as long as the stage's body
};

// `axes` gives the stage's axes in terms of its loop variables. A select between values of an index that an
// unrolled loop alone decides runs its taken branch only; of others both branches run. What all points of
// such a loop compute alike counts once for all of them. A loop whose extent is open decides nothing.
Operations operations_of(const schedule::StateData& data, const schedule::StageState& stage,
                         const tensor::Substitution& axes);

}  // namespace tf::model
