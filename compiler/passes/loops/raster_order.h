#pragma once
// Owns: the order of a grid's blocks, by the step raster (schedule/steps/steps.h). Does not know: what blocks do.

#include "compiler/ir/stmt.h"
#include "compiler/schedule/schedule.h"

namespace tf::passes {

// Whether loop number `n` is the inner one of the stage's grid loops of x and y, and these have a raster.
bool is_inner_of_raster(const schedule::StageState& stage, size_t n);

// The body of that loop, for the block whose turn it is:
//
//   for y in 4 grid_y                    for y in 4 grid_y
//     for x in 3 grid_x         →          for x in 3 grid_x
//       body of (y, x)                       let y' = …, x' = …: body of (y', x')
ir::Stmt in_raster_order(const schedule::StageState& stage, const ir::Stmt& body);

}  // namespace tf::passes
