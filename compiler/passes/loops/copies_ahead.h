#pragma once
// Owns: loops that are pipelines, whose iterations copy what later ones read into rings of tiles. Does not know: what the iterations do.

#include <functional>
#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/passes/loops/matrix_stages.h"
#include "compiler/passes/loops/stage_storage.h"
#include "compiler/passes/loops/temporary_shapes.h"
#include "compiler/schedule/schedule.h"

namespace tf::passes {

// A stage's loop that is a pipeline, and the stages that it computes ahead.
struct PipelinedLoop {
  const schedule::StageState& stage;
  const schedule::Loop& loop;
  const std::vector<const schedule::StageState*>& copies;
  std::function<ir::Stmt(const ir::Expr&)> copies_of;  // what an iteration reads
};

class CopiesAhead {
 public:
  CopiesAhead(const schedule::StateData& data, const TemporaryShapes& shapes, const StageStorage& storage,
              const MatrixStages& matrices)
      : data_(data), shapes_(shapes), storage_(storage), matrices_(matrices) {}

  // The body of the loop: what is read in iteration k has arrived, for all threads; the tile is overwritten that was read in
  // iteration k - 1, or k - 2 where multiplications run on.
  ir::Stmt with_copies_ahead(const PipelinedLoop& pipeline, ir::Stmt body) const;
  // The rings, and the copies for the first iterations, a group each; the last group ends in the loop.
  ir::Stmt with_rings(const PipelinedLoop& pipeline, ir::Stmt loop) const;

  // Whether the copy engine makes the copy. Not for threads' own reads: those would need a fence before the next copy, as what
  // threads write does.
  bool is_in_bulk(const schedule::StageState& copy) const;
  ir::Stmt copied_in_bulk(const schedule::StageState& copy) const;

 private:
  int64_t distance_of(const schedule::StageState& stage) const;
  const ir::Buffer& source_of(const schedule::StageState& copy) const;

  const schedule::StateData& data_;
  const TemporaryShapes& shapes_;
  const StageStorage& storage_;
  const MatrixStages& matrices_;
};

// The store of that value as an asynchronous copy, if it is of an element as it is, or of zero where conditions do not hold; else
// null.
ir::Stmt asynchronous_copy(const ir::Buffer& target, const std::vector<ir::Expr>& indices,
                           const ir::Expr& value);

}  // namespace tf::passes
