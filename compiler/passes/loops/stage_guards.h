#pragma once
// Owns: conditions under which a stage's iterations count, and where among its loops each stands. Does not know: what the loops do.

#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/passes/loops/temporary_shapes.h"
#include "compiler/schedule/schedule.h"

namespace tf::passes {

class StageGuards {
 public:
  StageGuards(const schedule::StateData& data, const TemporaryShapes& shapes)
      : data_(data), shapes_(shapes) {}

  // The guards that lowering keeps.
  std::vector<ir::Expr> of(const schedule::StageState& stage) const;
  // Which threads compute what a block shares: of those around that none of the stage's loops runs over, the first. Null: all.
  ir::Expr first_threads(const schedule::StageState& stage) const;
  // Of a thread loop inside another stage: the loop over all threads of that axis, which it runs over.
  const schedule::Loop* threads_of(const schedule::StageState& stage, size_t n) const;

  // Whether threads meet at barriers inside the stage.
  bool meets_threads(const schedule::StageState& stage) const;
  // Whether the guard may differ between threads that meet at barriers inside the stage: it then stands at the update.
  bool parts_threads(const schedule::StageState& stage, const ir::Expr& guard) const;

  // The body of loop number `n` under the guards that stand there: those that its variable is the innermost of, and where other
  // stages are computed outside of a guard, the same for the first iterations inside.
  ir::Stmt within_guards_at(const schedule::StageState& stage, int n, ir::Stmt body) const;
  // Within the guards that part threads, and `first` if it does: those of whole vectors, around them; or else the others, at
  // the update.
  ir::Stmt within_parting_guards(const schedule::StageState& stage, const ir::Expr& first, bool around_lanes,
                                 ir::Stmt body) const;

 private:
  bool is_of_last_lanes(const schedule::StageState& stage, const ir::Expr& guard) const;
  int held_guard_loop(const schedule::StageState& stage, const ir::Expr& guard) const;

  const schedule::StateData& data_;
  const TemporaryShapes& shapes_;
};

// The innermost of the stage's loops whose variable the expression uses; 0 if there is none.
int deepest_loop(const schedule::StageState& stage, const ir::Expr& expr);

}  // namespace tf::passes
