#include "tuner/model/nest.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/analysis/bounds.h"
#include "tuner/model/operations.h"

namespace tf::model {
namespace {

using schedule::Annotation;
using schedule::StageState;
using tensor::Expr;

// The nest's loop variables, outermost first, beside its loops.
struct Frame {
  std::vector<NestLoop> loops;
  std::vector<tensor::Var> vars;
};

const StageState* find_stage(const schedule::State& state, const std::string& name) {
  for (const StageState& stage : state.stages()) {
    if (stage.name == name) return &stage;
  }
  return nullptr;
}

void append_loops(const StageState& stage, size_t count, bool own, Frame& frame) {
  for (size_t i = 0; i < count; ++i) {
    const schedule::Loop& loop = stage.loops[i];
    frame.loops.push_back({loop.extent, loop.reduce, own, loop.annotation});
    frame.vars.push_back(stage.loop_vars[i]);
  }
}

// The loops that the stage is computed in, from the outermost consumer inwards.
void append_surrounding(const schedule::State& state, const StageState& stage, Frame& frame) {
  if (stage.place != StageState::Place::kAt) return;
  const StageState* consumer = find_stage(state, stage.consumer);
  if (consumer == nullptr) return;
  append_surrounding(state, *consumer, frame);
  size_t count = 0;
  while (count < consumer->loops.size() && consumer->loops[count].name != stage.consumer_loop) ++count;
  append_loops(*consumer, std::min(count + 1, consumer->loops.size()), /*own=*/false, frame);
}

double width(const Expr& index, const analysis::RangeMap& ranges, double limit) {
  const analysis::Interval interval = analysis::interval_of(index, ranges);
  if (!interval.is_bounded()) return limit;
  return std::min(limit, static_cast<double>(interval.max - interval.min) + 1);
}

double extent_of(const tensor::BufferNode& buffer, size_t axis) {
  return static_cast<double>(tensor::as_int(buffer.extents[axis]).value_or(1));
}

// Where stages that are computed inside others keep what they compute.
struct Storage {
  std::set<const tensor::BufferNode*> registers;
  // The loop in which the buffer's memory is used anew: loops from it outwards lead to no other memory.
  std::map<const tensor::BufferNode*, const tensor::VarNode*> reused;
};

Storage storage_of(const schedule::State& state) {
  Storage storage;
  for (const StageState& stage : state.stages()) {
    if (stage.scope == tensor::Scope::kRegister) storage.registers.insert(stage.stage.output.get());
    if (stage.place != StageState::Place::kAt) continue;
    const StageState* consumer = find_stage(state, stage.consumer);
    const int loop = consumer == nullptr ? -1 : consumer->find_loop(stage.consumer_loop);
    if (loop >= 0)
      storage.reused[stage.stage.output.get()] = consumer->loop_vars[static_cast<size_t>(loop)].get();
  }
  return storage;
}

// Elements touched at every depth: loops outside the depth stand still at zero, as do those that only use the
// same memory anew.
std::vector<double> touched_by_depth(const tensor::BufferNode& buffer, const std::vector<Expr>& indices,
                                     const Frame& frame, const Storage& storage) {
  size_t first = 0;
  if (const auto reused = storage.reused.find(&buffer); reused != storage.reused.end())
    for (size_t depth = 0; depth < frame.vars.size(); ++depth)
      if (frame.vars[depth].get() == reused->second) first = depth + 1;
  analysis::RangeMap ranges;
  for (const tensor::Var& var : frame.vars) ranges[var.get()] = {0, 0};
  std::vector<double> touched(frame.loops.size() + 1, 1);
  for (size_t depth = frame.loops.size(); depth-- > 0;) {
    ranges[frame.vars[depth].get()] = {0, std::max<int64_t>(frame.loops[depth].extent, 1) - 1};
    if (frame.loops[depth].extent <= 1 || depth < first) {
      touched[depth] = touched[depth + 1];
      continue;
    }
    double elements = 1;
    for (size_t axis = 0; axis < indices.size(); ++axis) {
      elements *= width(indices[axis], ranges, extent_of(buffer, axis));
    }
    touched[depth] = elements;
  }
  return touched;
}

NestAccess describe(const tensor::BufferNode& buffer, std::vector<Expr> indices, const Frame& frame,
                    const tensor::Substitution& axes, const Storage& storage) {
  for (Expr& index : indices) index = tensor::substitute(index, axes);
  NestAccess access;
  access.element_bytes = tensor::element_bytes(buffer.element);
  access.in_register = storage.registers.contains(&buffer);
  access.touched_elems = touched_by_depth(buffer, indices, frame, storage);

  analysis::RangeMap lane;
  for (const tensor::Var& var : frame.vars) lane[var.get()] = {0, 0};
  for (size_t i = 0; i < frame.loops.size(); ++i) {
    if (frame.loops[i].own && frame.loops[i].annotation == Annotation::kVectorize)
      lane[frame.vars[i].get()] = {0, 1};
  }
  size_t varying = 0, last_varying = 0;
  bool unit = true;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    const analysis::Interval step = analysis::interval_of(indices[axis], lane);
    if (step.is_bounded() && step.min == step.max) continue;
    ++varying;
    last_varying = axis;
    unit = step.is_bounded() && step.max - step.min == 1;
  }
  access.varies_with_vector = varying > 0;
  // In a blocked layout consecutive indices of the innermost block are neighbours; in row-major those of the
  // last axis.
  const size_t inner_axis =
      buffer.layout.is_row_major() ? indices.size() - 1 : static_cast<size_t>(buffer.layout.axes.back().axis);
  access.contiguous = varying == 1 && unit && last_varying == inner_axis;
  return access;
}

void describe_loops(const StageState& stage, int fp32_lanes, Nest& nest) {
  int64_t vectors = 1;
  for (const NestLoop& loop : nest.loops) {
    nest.iterations *= static_cast<double>(loop.extent);
    if (loop.annotation == Annotation::kParallel) nest.parallel *= loop.extent;
    if (!loop.own) continue;
    if (loop.reduce) nest.reduce_extent *= loop.extent;
    if (loop.annotation == Annotation::kVectorize) {
      nest.lanes *= loop.extent;
      vectors *= (loop.extent + fp32_lanes - 1) / fp32_lanes;
    }
    if (loop.annotation == Annotation::kUnroll) {
      nest.unrolled_body *= loop.extent;
      if (!loop.reduce) vectors *= loop.extent;
    }
  }
  nest.tile_vectors = vectors;
  nest.guards = static_cast<int>(stage.guards.size());
}

}  // namespace

std::vector<Nest> summarize(const schedule::State& state, int fp32_lanes) {
  const Storage storage = storage_of(state);
  std::vector<Nest> nests;
  for (const StageState& stage : state.stages()) {
    if (stage.place == StageState::Place::kInlined) continue;
    Frame frame;
    append_surrounding(state, stage, frame);
    append_loops(stage, stage.loops.size(), /*own=*/true, frame);

    Nest nest;
    nest.stage = stage.name;
    nest.loops = frame.loops;
    describe_loops(stage, fp32_lanes, nest);
    tensor::Substitution axes;
    const std::vector<Expr> values = stage.absolute_values();
    size_t next = 0;
    for (const auto* group : {&stage.stage.axes, &stage.stage.reduce_axes}) {
      for (const tensor::Axis& axis : *group) {
        nest.useful_iterations *= static_cast<double>(tensor::as_int(axis.extent).value_or(1));
        axes[axis.var.get()] = values.at(next++);
      }
    }
    const Operations operations = operations_of(stage, axes);
    nest.flops_per_iteration = operations.arithmetic + (stage.stage.combiner ? 1 : 0);
    for (const tensor::Load* load : operations.loads)
      nest.accesses.push_back(describe(*load->buffer, load->indices, frame, axes, storage));
    std::vector<Expr> output_indices;
    for (const tensor::Axis& axis : stage.stage.axes) output_indices.push_back(axis.var);
    nest.accesses.push_back(describe(*stage.stage.output, output_indices, frame, axes, storage));
    nest.accesses.back().is_store = true;
    nests.push_back(std::move(nest));
  }
  return nests;
}

}  // namespace tf::model
