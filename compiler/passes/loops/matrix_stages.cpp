#include "compiler/passes/loops/matrix_stages.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/passes/loops/matrix_tiles.h"

namespace tf::passes {

using ir::Expr;
using ir::Stmt;
using schedule::StageState;

Stmt MatrixStages::multiply(const StageState& stage) const {
  const schedule::TensorProduct& product = *stage.tensor;
  tensor::Substitution first;
  for (size_t i = stage.loops.size() - 3; i < stage.loops.size(); ++i)
    first[stage.loop_vars[i].get()] = tensor::imm(0);
  std::vector<Expr> sums = local_indices(stage);
  for (Expr& index : sums) index = tensor::substitute(index, first);
  std::vector<ir::MatrixTile> tiles = {
      tile_at(storage_.of(stage).buffer, std::move(sums), product.c_row, product.c_column)};
  const auto add = [&](const std::string& factor, int row, int column) {
    const ir::BufferNode* buffer = data_.find_stage(factor)->stage.output.get();
    tensor::for_each(storage_.value_of(stage), [&](const Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      if (load && load->buffer.same_as(storage_.of(buffer).buffer)) {
        std::vector<Expr> indices;
        for (const Expr& index : load->indices) indices.push_back(tensor::substitute(index, first));
        const int ring = load->buffer->rank() - buffer->rank();  // of shared tiles: one axis more
        tiles.push_back(tile_at(load->buffer, std::move(indices), row + ring, column + ring));
      }
      return true;
    });
  };
  add(product.a, product.a_row, product.a_column);
  add(product.b, product.b_row, product.b_column);
  return ir::make_stmt<ir::MatrixOp>(product.unit, ir::MatrixAction::kMultiply, std::move(tiles));
}

Stmt MatrixStages::zeros(const StageState& stage) const {
  const schedule::TensorProduct& product = *stage.tensor;
  return over_tiles(
      stage.region, product.unit->c, product.c_row, product.c_column, [&](std::vector<Expr> indices) {
        return ir::make_stmt<ir::MatrixOp>(
            product.unit, ir::MatrixAction::kZero,
            std::vector<ir::MatrixTile>{
                tile_at(storage_.of(stage).buffer, std::move(indices), product.c_row, product.c_column)});
      });
}

bool MatrixStages::multiplies_on(const StageState& stage) const {
  return stage.tensor && stage.tensor->unit->reads_shared && !(stage.pipeline_stages < 3) &&
         stage.find_loop(stage.pipelined_loop) >= 0 &&
         stage.find_loop(stage.pipelined_loop) == data_.deepest_held_loop(stage);
}

Stmt MatrixStages::waited_for(const StageState& stage, Stmt body) const {
  if (!stage.tensor || !stage.tensor->unit->reads_shared) return body;
  Stmt fenced = ir::seq({meeting(stage, ir::MatrixAction::kFence, 0), std::move(body)});
  return multiplies_on(stage) ? fenced : ir::seq({fenced, wait(stage, 0)});
}

// A fence or a wait of all sums.
Stmt MatrixStages::meeting(const StageState& stage, ir::MatrixAction action, int groups) const {
  const schedule::TensorProduct& product = *stage.tensor;
  const ir::Buffer& sums = storage_.of(stage).buffer;
  std::vector<Expr> first(static_cast<size_t>(sums->rank()), tensor::imm(0));
  return ir::make_stmt<ir::MatrixOp>(
      product.unit, action,
      std::vector<ir::MatrixTile>{tile_at(sums, std::move(first), product.c_row, product.c_column)}, groups);
}

Stmt MatrixStages::wait(const StageState& stage, int groups) const {
  return meeting(stage, ir::MatrixAction::kWait, groups);
}

Stmt MatrixStages::filled_fragment(const StageState& stage) const {
  const schedule::TensorProduct& product = *data_.find_stage(stage.consumer)->tensor;
  const bool is_a = product.a == stage.name;
  const int row = is_a ? product.a_row : product.b_row, column = is_a ? product.a_column : product.b_column;
  return over_tiles(
      stage.region, is_a ? product.unit->a : product.unit->b, row, column, [&](std::vector<Expr> indices) {
        tensor::Substitution places;
        for (size_t d = 0; d < indices.size(); ++d) places[stage.loop_vars[d].get()] = indices[d];
        const Expr source =
            storage_.with_storage(tensor::substitute(at_axes(stage, stage.stage.body), places));
        const auto* load = ir::as<ir::Load>(source);
        const int ring = load->buffer->rank() - stage.stage.output->rank();  // of tiles: one axis more
        return ir::make_stmt<ir::MatrixOp>(
            product.unit, is_a ? ir::MatrixAction::kLoadA : ir::MatrixAction::kLoadB,
            std::vector<ir::MatrixTile>{tile_at(storage_.of(stage).buffer, std::move(indices), row, column),
                                        tile_at(load->buffer, load->indices, row + ring, column + ring)});
      });
}

const tensor_units::TensorUnit* MatrixStages::reading_unit(
    const std::vector<const StageState*>& stages) const {
  for (const StageState* stage : stages)
    for (const StageState* reader : data_.readers(stage->stage.output.get()))
      if (reader->tensor && reader->tensor->unit->reads_shared) return reader->tensor->unit;
  return nullptr;
}

Stmt MatrixStages::published(const std::vector<const StageState*>& stages) const {
  const tensor_units::TensorUnit* unit = reading_unit(stages);
  if (!unit) return ir::seq({});
  return ir::make_stmt<ir::MatrixOp>(unit, ir::MatrixAction::kPublish, std::vector<ir::MatrixTile>());
}

Expr MatrixStages::readable(const StageState& stage, const Expr& value) const {
  const bool is_read =
      std::ranges::any_of(data_.readers(stage.stage.output.get()), [](const StageState* reader) {
        return (reader->is_factor && reader->scope == ir::Scope::kFragment) ||
               (reader->tensor && reader->tensor->unit->reads_shared);
      });
  if (!is_read) return value;
  Expr inside = tensor::imm({tensor::Element::kBool, 1}, 1);
  const std::vector<Expr> values = stage.absolute_values();
  for (size_t d = 0; d < stage.stage.axes.size(); ++d)
    inside = tensor::logical_and(inside, values[d] < stage.stage.axes[d].extent);
  return tensor::select(inside, value, tensor::imm(value->type(), 0));
}

}  // namespace tf::passes
