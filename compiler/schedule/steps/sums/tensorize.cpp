#include <algorithm>

#include "compiler/analysis/access.h"
#include "compiler/analysis/simplify.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

using tensor::as;
using tensor::Expr;
using tensor_units::TensorUnit;

// The load that the factor is, as the element that the instruction takes and summed in c's.
const tensor::Load* load_of(const Expr& factor, tensor::Element element, tensor::Element sum) {
  const auto* cast = as<tensor::Cast>(factor);
  const auto* load = as<tensor::Load>(cast ? cast->a : factor);
  if (!load || load->predicate || factor->type().element != sum || load->type().element != element)
    return nullptr;
  return load;
}

// The one dimension of the access that is the axis; -1 if it is none, or not alone.
int dimension_of(const tensor::Load& load, const tensor::Var& axis) {
  int found = -1;
  for (size_t d = 0; d < load.indices.size(); ++d) {
    if (!analysis::uses(load.indices[d], axis.get())) continue;
    if (found >= 0 || !load.indices[d].same_as(axis)) return -1;
    found = static_cast<int>(d);
  }
  return found;
}

class TensorMatcher {
 public:
  TensorMatcher(StateData& data, const StageState& stage, const TensorUnit& unit)
      : data_(data), stage_(stage), unit_(unit), first_(stage.loops.size() - 3) {}

  std::optional<TensorProduct> match() {
    const tensor::Stage& s = stage_.stage;
    const int m = axis_of(first_, unit_.m, false), n = axis_of(first_ + 1, unit_.n, false),
              k = axis_of(first_ + 2, unit_.k, true);
    if (m < 0 || n < 0 || k < 0 || m == n || !has_whole_tiles()) return std::nullopt;
    const auto* product = as<tensor::Binary>(s.body);
    if (!product || product->op != tensor::BinaryOp::kMul || s.output->element != unit_.c_element)
      return std::nullopt;
    TensorProduct found{.unit = &unit_, .a = {}, .b = {}, .c_row = m, .c_column = n};
    const tensor::Var &row = s.axes[static_cast<size_t>(m)].var, &column = s.axes[static_cast<size_t>(n)].var,
                      &term = s.reduce_axes[static_cast<size_t>(k) - s.axes.size()].var;
    for (const auto& [left, right] : {std::pair(product->a, product->b), std::pair(product->b, product->a)}) {
      const tensor::Load* a = load_of(left, unit_.a_element, unit_.c_element);
      const tensor::Load* b = load_of(right, unit_.b_element, unit_.c_element);
      if (!a || !b) continue;
      found.a_row = dimension_of(*a, row);
      found.a_column = dimension_of(*a, term);
      found.b_row = dimension_of(*b, term);
      found.b_column = dimension_of(*b, column);
      if (std::min({found.a_row, found.a_column, found.b_row, found.b_column}) < 0 ||
          dimension_of(*a, column) >= 0 || dimension_of(*b, row) >= 0)
        continue;
      if (!is_factor(*a, unit_.a, found.a_row, found.a_column, found.a_column, &found.a) ||
          !is_factor(*b, unit_.b, found.b_row, found.b_column, found.b_row, &found.b) ||
          !has_tiles(stage_, unit_.c, found.c_row, found.c_column))
        return std::nullopt;
      return found;
    }
    return std::nullopt;
  }

 private:
  // The axis (behind the spatial ones, the reduce axis) that the loop runs along, one by one; -1 if it is none.
  int axis_of(size_t loop, int64_t extent, bool reduce) {
    const Loop& at = stage_.loops[loop];
    const tensor::Var& var = stage_.loop_vars[loop];
    if (at.reduce != reduce || at.extent.is_open() || at.extent != extent ||
        at.annotation != Annotation::kSerial)
      return -1;
    int found = -1;
    for (size_t d = 0; d < stage_.axis_values.size(); ++d) {
      const Expr& value = stage_.axis_values[d];
      if (!analysis::uses(value, var.get())) continue;
      const Expr next = tensor::substitute(value, {{var.get(), var + 1}});
      if (found >= 0 || tensor::as_int(analysis::simplify(next - value, data_.open_ranges())) != 1) return -1;
      found = static_cast<int>(d);
    }
    return found;
  }

  // Only terms may be fewer than the loops have. A guard that depends on open sizes is `divides || guard`.
  bool has_whole_tiles() {
    return std::ranges::all_of(stage_.guards, [&](const Expr& guard) {
      bool moves = false;
      for (size_t i = 0; i < stage_.loops.size(); ++i)
        moves = moves || (!stage_.loops[i].reduce && analysis::uses(guard, stage_.loop_vars[i].get()));
      if (!moves) return true;
      const auto* either = as<tensor::Binary>(guard);
      return either && either->op == tensor::BinaryOp::kOr &&
             data_.require(analysis::simplify(either->a, data_.open_ranges()));
    });
  }

  bool has_tiles(const StageState& stage, const tensor_units::LaneMap& map, int row, int column) {
    for (const auto& [axis, extent] : {std::pair(row, map.rows), std::pair(column, map.columns)}) {
      const Expr region = stage.region[static_cast<size_t>(axis)].expr();
      const Expr rest = analysis::simplify(tensor::floor_mod(region, extent), data_.open_ranges());
      if (!data_.require(tensor::equal(rest, tensor::imm(0)))) return false;
    }
    return true;
  }

  bool is_factor(const tensor::Load& load, const tensor_units::LaneMap& map, int row, int column, int term,
                 std::string* name) {
    return unit_.reads_shared ? is_shared(load, map, row, column, term, name)
                              : is_copy(load, map, row, column, name);
  }

  // In shared memory, in lines that the instruction reads.
  bool is_shared(const tensor::Load& load, const tensor_units::LaneMap& map, int row, int column, int term,
                 std::string* name) {
    const auto stage = std::ranges::find_if(
        data_.stages, [&](const StageState& other) { return other.stage.output.same_as(load.buffer); });
    if (stage == data_.stages.end() || stage->place != StageState::Place::kAt ||
        stage->scope != tensor::Scope::kShared || stage->is_reduction() ||
        data_.readers(load.buffer.get()).size() != 1)
      return false;
    const auto found = data_.layouts.find(stage->name);
    if (found == data_.layouts.end()) return false;
    const std::vector<OpenLayoutAxis>& axes = found->second.axes;
    if (axes.size() != static_cast<size_t>(load.buffer->rank()) + 1) return false;
    const OpenLayoutAxis &line = axes.back(), &across = axes[axes.size() - 2];
    const int64_t bytes = tensor::element_bytes(load.buffer->element), line_bytes = line.block.value * bytes;
    *name = stage->name;
    return !line.block.is_open() && across.block == Size(0) &&
           (std::pair(line.axis, across.axis) == std::pair(row, column) ||
            std::pair(line.axis, across.axis) == std::pair(column, row)) &&
           (line.axis == term || bytes == 2) && line_bytes == tensor_units::kLineBytes &&
           found->second.swizzle == tensor_units::line_swizzle(load.buffer->element) &&
           has_tiles(*stage, map, row, column);
  }

  // A copy of a copy in shared memory, element by element.
  bool is_copy(const tensor::Load& load, const tensor_units::LaneMap& map, int row, int column,
               std::string* name) {
    const auto stage = std::ranges::find_if(
        data_.stages, [&](const StageState& other) { return other.stage.output.same_as(load.buffer); });
    if (stage == data_.stages.end() || stage->place != StageState::Place::kAt ||
        stage->consumer != stage_.name || stage->scope != tensor::Scope::kFragment || stage->reshaped ||
        stage->is_reduction() || data_.deepest_held_loop(*stage) >= 0 ||
        data_.readers(load.buffer.get()).size() != 1)
      return false;
    const auto* copied = as<tensor::Load>(stage->stage.body);
    if (!copied || copied->predicate) return false;
    for (size_t d = 0; d < copied->indices.size(); ++d)
      if (!copied->indices[d].same_as(stage->stage.axes[d].var)) return false;
    const bool shared = std::ranges::any_of(data_.stages, [&](const StageState& other) {
      return other.stage.output.same_as(copied->buffer) && other.scope == tensor::Scope::kShared;
    });
    *name = stage->name;
    return shared && has_tiles(*stage, map, row, column);
  }

  StateData& data_;
  const StageState& stage_;
  const TensorUnit& unit_;
  const size_t first_;
};

}  // namespace

std::optional<Illegal> apply_step(StateData& data, const Tensorize& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const int loop = stage->find_loop(step.loop);
  if (loop < 0) return Illegal::kUnknownLoop;
  const TensorUnit* unit = tensor_units::find_tensor_unit(step.unit);
  if (!unit || stage->place != StageState::Place::kAt || stage->scope != tensor::Scope::kFragment ||
      stage->stage.combiner != tensor::Combiner::kSum ||
      static_cast<size_t>(loop) + 3 != stage->loops.size() || data.deepest_held_loop(*stage) >= loop)
    return Illegal::kNotTensor;
  const auto lanes = data.thread_around(*stage, Annotation::kThreadX);
  if (!lanes ||
      !data.require(tensor::equal(lanes->stage->loops[static_cast<size_t>(lanes->loop)].extent.expr(),
                                  tensor::imm(unit->c.lanes))))
    return Illegal::kNotTensor;
  std::optional<TensorProduct> product = TensorMatcher(data, *stage, *unit).match();
  if (!product) return Illegal::kNotTensor;
  for (const std::string& factor : {product->a, product->b}) data.find_stage(factor)->is_factor = true;
  stage->tensor = std::move(product);
  return std::nullopt;
}

}  // namespace tf::schedule
