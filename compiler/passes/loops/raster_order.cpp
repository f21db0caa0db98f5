#include "compiler/passes/loops/raster_order.h"

#include <algorithm>

namespace tf::passes {
namespace {

using schedule::Annotation;

size_t grid_loop(const schedule::StageState& stage, Annotation annotation) {
  return static_cast<size_t>(std::ranges::find(stage.loops, annotation, &schedule::Loop::annotation) -
                             stage.loops.begin());
}

}  // namespace

bool is_inner_of_raster(const schedule::StageState& stage, size_t n) {
  const size_t x = grid_loop(stage, Annotation::kGridX), y = grid_loop(stage, Annotation::kGridY);
  return stage.raster_group != 1 && n == std::max(x, y) && n < stage.loops.size();
}

// Blocks are counted along x, then y. `group` rows of them make a group, whose blocks are taken down its columns; the last
// group may have fewer rows.
ir::Stmt in_raster_order(const schedule::StageState& stage, const ir::Stmt& body) {
  const size_t x = grid_loop(stage, Annotation::kGridX), y = grid_loop(stage, Annotation::kGridY);
  const ir::Expr columns = stage.loops[x].extent.expr(), rows = stage.loops[y].extent.expr();
  const int64_t group = stage.raster_group;
  const ir::Expr block = stage.loop_vars[y] * columns + stage.loop_vars[x];
  const ir::Expr first = tensor::floor_div(block, columns * group) * group;
  const ir::Expr in_group = tensor::floor_mod(block, columns * group);
  const ir::Expr height = tensor::min(rows - first, tensor::imm(group));
  // What is true of the results in any case keeps bounds provable.
  const ir::Var row = tensor::var(stage.loops[y].name), column = tensor::var(stage.loops[x].name);
  const ir::Expr row_value = tensor::min(first + tensor::floor_mod(in_group, height), rows - 1);
  const ir::Expr column_value = tensor::min(tensor::floor_div(in_group, height), columns - 1);
  const ir::Stmt renamed =
      ir::substitute(body, {{stage.loop_vars[y].get(), row}, {stage.loop_vars[x].get(), column}});
  return ir::make_stmt<ir::Let>(row, row_value, ir::make_stmt<ir::Let>(column, column_value, renamed));
}

}  // namespace tf::passes
