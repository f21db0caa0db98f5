#pragma once
// Owns: the statements of stages that are computed by matrix instructions, and of the fragments and tiles that these read. Does not
// know: the loops around them.

#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/passes/loops/stage_storage.h"
#include "compiler/schedule/schedule.h"

namespace tf::passes {

class MatrixStages {
 public:
  MatrixStages(const schedule::StateData& data, const StageStorage& storage)
      : data_(data), storage_(storage) {}

  // The instruction on the tiles that the stage's outer loops stand at.
  ir::Stmt multiply(const schedule::StageState& stage) const;
  // All sums are zero.
  ir::Stmt zeros(const schedule::StageState& stage) const;

  // Whether the multiplications of an iteration of a pipeline run on in the next one, which then begins with their tile still
  // being read.
  bool multiplies_on(const schedule::StageState& stage) const;
  // Multiplications that are asynchronous, such that nobody else meets them. The body of other stages as it is.
  ir::Stmt waited_for(const schedule::StageState& stage, ir::Stmt body) const;
  // Waits until no more than so many groups of multiplications run.
  ir::Stmt wait(const schedule::StageState& stage, int groups) const;

  // A factor's copy from shared memory.
  ir::Stmt filled_fragment(const schedule::StageState& stage) const;

  // Whose matrix instructions read one of these from shared memory by themselves; null: none.
  const tensor_units::TensorUnit* reading_unit(const std::vector<const schedule::StageState*>& stages) const;
  // Before a barrier: what a thread has written of factors that matrix instructions read by themselves.
  ir::Stmt published(const std::vector<const schedule::StageState*>& stages) const;

  // The stage's value, or zero beyond its axes if matrix instructions or their fragments read it: zeros add nothing to sums.
  ir::Expr readable(const schedule::StageState& stage, const ir::Expr& value) const;

 private:
  ir::Stmt meeting(const schedule::StageState& stage, ir::MatrixAction action, int groups) const;

  const schedule::StateData& data_;
  const StageStorage& storage_;
};

}  // namespace tf::passes
