#pragma once
// Owns: the sizes and layouts of temporaries, which are the buffers of all stages but the outputs, and which temporaries are rings
// of tiles for a pipeline. Does not know: statements.

#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/schedule/schedule.h"

namespace tf::passes {

struct TemporaryShape {
  std::vector<int64_t> extents;
  ir::Layout layout;
  // Of a ring, whose first axis counts tiles: the tile that an iteration of the pipeline reads. Null for others.
  ir::Expr tile;
};

class TemporaryShapes {
 public:
  explicit TemporaryShapes(const schedule::StateData& data) : data_(data) {}

  // As large as the region that the stage computes. Where its vectors reach beyond the region, as large as they
  // reach, so that they need no mask: no result depends on the elements beyond the region.
  TemporaryShape of(const schedule::StageState& stage) const;

  // The axis that the stage's vectorized loop moves along by one; -1 if there is none.
  int vectorized_axis(const schedule::StageState& stage) const;

  // Whether an output depends on it.
  bool is_needed(const schedule::StageState& stage) const;

  // The stages that the pipeline over `loop` computes ahead; empty if the loop is no pipeline.
  std::vector<const schedule::StageState*> copies_ahead(const schedule::StageState& stage,
                                                        const schedule::Loop& loop) const;
  // The stage whose pipeline computes this one ahead, or null.
  const schedule::StageState* pipeline_of(const schedule::StageState& stage) const;

 private:
  ir::Layout vectors_innermost(const schedule::StageState& stage) const;
  analysis::RangeMap loop_ranges(const schedule::StageState& stage) const;
  void reach_no_neighbour(const schedule::StageState& stage, std::vector<int64_t>& extents) const;

  const schedule::StateData& data_;
};

// `expr`, which is over the stage's axes, as an expression over the stage's loops.
ir::Expr at_axes(const schedule::StageState& stage, const ir::Expr& expr);

// The position of the stage's pipelined loop among its loops.
size_t pipelined_loop(const schedule::StageState& stage);

}  // namespace tf::passes
