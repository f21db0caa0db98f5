#include "compiler/passes/loops/temporary_shapes.h"

#include <algorithm>

#include "base/whole_division.h"
#include "compiler/analysis/access.h"
#include "compiler/analysis/simplify.h"

namespace tf::passes {

using ir::Expr;
using schedule::Annotation;
using schedule::Loop;
using schedule::StageState;

namespace {

int64_t with_pitch(int64_t extent, const schedule::Pitch& pitch) {
  return round_up(extent, pitch.factor) + pitch.offset;
}

}  // namespace

TemporaryShape TemporaryShapes::of(const StageState& stage) const {
  TemporaryShape shape;
  std::vector<int64_t>& extents = shape.extents;
  // As large as named dimensions can make it.
  for (const tensor::SymInt& extent : stage.region) extents.push_back(data_.iterations(extent).max + 1);
  if (stage.place == StageState::Place::kAt && vectorized_axis(stage) >= 0) {
    const analysis::RangeMap ranges = loop_ranges(stage);
    for (size_t d = 0; d < extents.size(); ++d)
      if (analysis::uses(stage.axis_values[d], stage.loop_vars.back().get()))
        extents[d] = std::max(extents[d], analysis::tight_interval_of(stage.axis_values[d], ranges).max + 1);
  }
  if (auto found = data_.layouts.find(stage.name); found != data_.layouts.end())
    shape.layout = found->second.closed();
  else if (data_.pitches.contains(stage.name))
    extents.back() = with_pitch(extents.back(), data_.pitches.at(stage.name));
  else
    shape.layout = vectors_innermost(stage);
  if (stage.scope != ir::Scope::kShared) shape.layout.swizzle = {};
  if (const StageState* holder = pipeline_of(stage)) {
    if (shape.layout.is_row_major()) reach_no_neighbour(stage, extents);
    const int64_t stages = holder->pipeline_stages;
    shape.tile = tensor::floor_mod(holder->loop_vars[pipelined_loop(*holder)], stages);
    extents.insert(extents.begin(), stages);
    std::vector<tensor::LayoutAxis>& axes = shape.layout.axes;
    for (tensor::LayoutAxis& axis : axes) ++axis.axis;
    if (!axes.empty()) axes.insert(axes.begin(), {0, 0});
  }
  return shape;
}

int TemporaryShapes::vectorized_axis(const StageState& stage) const {
  if (stage.loops.empty() || stage.loops.back().annotation != Annotation::kVectorize) return -1;
  // Vectors that threads copy may be pieces of rows: only simplified, the rows do not depend on the lane.
  const bool shared = stage.scope == ir::Scope::kShared;
  const analysis::RangeMap ranges = shared ? loop_ranges(stage) : analysis::RangeMap();
  for (size_t d = 0; d < stage.origin.size(); ++d)
    if (analysis::uses(shared ? analysis::simplify(stage.axis_values[d], ranges) : stage.axis_values[d],
                       stage.loop_vars.back().get()))
      return static_cast<int>(d);
  return -1;
}

bool TemporaryShapes::is_needed(const StageState& stage) const {
  return data_.is_output(stage) || !data_.readers(stage.stage.output.get()).empty();
}

std::vector<const StageState*> TemporaryShapes::copies_ahead(const StageState& stage,
                                                             const Loop& loop) const {
  if (stage.pipelined_loop != loop.name || stage.pipeline_stages == 1) return {};
  std::vector<const StageState*> copies = data_.copied_in(stage, loop.name);
  std::erase_if(copies, [&](const StageState* copy) { return !is_needed(*copy); });
  return copies;
}

const StageState* TemporaryShapes::pipeline_of(const StageState& stage) const {
  if (stage.place != StageState::Place::kAt) return nullptr;
  const StageState* holder = data_.find_stage(stage.consumer);
  const Loop& loop = holder->loops[static_cast<size_t>(holder->find_loop(stage.consumer_loop))];
  return std::ranges::count(copies_ahead(*holder, loop), &stage) > 0 ? holder : nullptr;
}

// Unless the schedule says otherwise, a temporary's vectors lie in a row.
ir::Layout TemporaryShapes::vectors_innermost(const StageState& stage) const {
  const int axis = vectorized_axis(stage), rank = static_cast<int>(stage.origin.size());
  ir::Layout layout;
  if (axis < 0 || axis == rank - 1) return layout;
  for (int d = 0; d < rank; ++d)
    if (d != axis) layout.axes.push_back({d, 0});
  layout.axes.push_back({axis, 0});
  return layout;
}

analysis::RangeMap TemporaryShapes::loop_ranges(const StageState& stage) const {
  analysis::RangeMap ranges = data_.open_ranges();
  for (size_t i = 0; i < stage.loops.size(); ++i)
    ranges[stage.loop_vars[i].get()] = data_.iterations(stage.loops[i].extent);
  return ranges;
}

// A tile of a ring gets as many rows as its readers reach: iterations beyond the end of an axis read something that no result is
// made of, which must not be in the next tile, on its way. What reaches too far for that gets a predicate by guard_memory.
void TemporaryShapes::reach_no_neighbour(const StageState& stage, std::vector<int64_t>& extents) const {
  constexpr int64_t kFarthest = 4096;  // elements beyond the tile
  analysis::RangeMap ranges;
  for (const StageState& each : data_.stages) ranges.merge(loop_ranges(each));
  int64_t row = 1, most = 0;
  for (size_t d = 1; d < extents.size(); ++d) row *= extents[d];
  for (const StageState* reader : data_.readers(stage.stage.output.get())) {
    tensor::for_each(at_axes(*reader, reader->stage.body), [&](const Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      if (!load || load->buffer.get() != stage.stage.output.get()) return true;
      int64_t last = 0;
      for (size_t d = 0; d < extents.size(); ++d) {
        const analysis::Interval reach =
            analysis::tight_interval_of(load->indices[d] - stage.origin[d], ranges);
        last = last * extents[d] + std::min(reach.max, kFarthest);
      }
      if (last < row * extents[0] + kFarthest) most = std::max(most, last);
      return true;
    });
  }
  extents[0] = std::max(extents[0], most / row + 1);
}

Expr at_axes(const StageState& stage, const Expr& expr) {
  const tensor::Stage& s = stage.stage;
  tensor::Substitution axes;
  const std::vector<Expr> values = stage.absolute_values();
  for (size_t d = 0; d < s.axes.size(); ++d) axes[s.axes[d].var.get()] = values[d];
  for (size_t r = 0; r < s.reduce_axes.size(); ++r)
    axes[s.reduce_axes[r].var.get()] = values[s.axes.size() + r];
  return tensor::substitute(expr, axes);
}

size_t pipelined_loop(const StageState& stage) {
  return static_cast<size_t>(stage.find_loop(stage.pipelined_loop));
}

}  // namespace tf::passes
