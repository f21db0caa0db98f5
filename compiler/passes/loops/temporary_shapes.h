#pragma once
// Owns: how large the buffers of stages that are no output are, in which order they lie, and which of them are rings of tiles for a
// pipeline. Does not know: statements.

#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/schedule/schedule.h"

namespace tf::passes {

struct TemporaryShape {
  std::vector<int64_t> extents;
  ir::Layout layout;
  ir::Expr
      tile;  // of a ring, whose first axis the tiles are: which one an iteration of the pipeline reads; else null
};

class TemporaryShapes {
 public:
  explicit TemporaryShapes(const schedule::StateData& data) : data_(data) {}

  // As large as the stage's region, or as far as its vectors reach, which then need no mask: what they compute
  // beyond the region is never read for a result.
  TemporaryShape of(const schedule::StageState& stage) const;

  // The axis that the stage's vectorized loop moves along by one; -1 if there is none.
  int vectorized_axis(const schedule::StageState& stage) const;

  // Whether an output depends on it.
  bool is_needed(const schedule::StageState& stage) const;

  // The stages that the pipeline over that loop makes ahead; none: it is no pipeline.
  std::vector<const schedule::StageState*> copies_ahead(const schedule::StageState& stage,
                                                        const schedule::Loop& loop) const;
  // The stage whose pipeline makes this one ahead, or null.
  const schedule::StageState* pipeline_of(const schedule::StageState& stage) const;

 private:
  ir::Layout vectors_innermost(const schedule::StageState& stage) const;
  analysis::RangeMap loop_ranges(const schedule::StageState& stage) const;
  void reach_no_neighbour(const schedule::StageState& stage, std::vector<int64_t>& extents) const;

  const schedule::StateData& data_;
};

// The expression over the stage's axes at what its loops stand at.
ir::Expr at_axes(const schedule::StageState& stage, const ir::Expr& expr);

// The position of the loop that is the stage's pipeline.
size_t pipelined_loop(const schedule::StageState& stage);

}  // namespace tf::passes
