#include "tuner/model/nests/nest.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "tuner/model/formulas/index_bounds.h"
#include "tuner/model/nests/operations.h"
#include "tuner/model/roofline/rates.h"

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

class Summary {
 public:
  Summary(const schedule::State& state, const tensor::PortLayouts& ports, const target::Target& target,
          const Reading& reading)
      : state_(state),
        ports_(ports),
        fp32_lanes_(target.fp32_lanes()),
        ways_(ways_of(target)),
        reading_(reading) {
    for (const StageState& stage : state.stages()) {
      stages_[stage.stage.output.get()] = &stage;
      if (stage.scope == tensor::Scope::kRegister || stage.scope == tensor::Scope::kFragment)
        registers_.insert(stage.stage.output.get());
    }
  }

  Nest nest_of(const StageState& stage) const {
    Frame frame;
    append_surrounding(stage, frame);
    append_loops(stage, stage.loops.size(), /*own=*/true, frame);
    Nest nest;
    nest.stage = stage.name;
    nest.loops = frame.loops;
    describe_loops(nest);
    const std::vector<Value> turns = unrolled_turns(stage);
    for (const Value& each : turns) nest.unrolled_turns *= each;
    describe_shares(stage, nest);
    // Where sizes are open, a guard is `divides || guard`.
    for (const Expr& guard : stage.guards) {
      const auto* either = tensor::as<tensor::Binary>(guard);
      const bool open = either && either->op == tensor::BinaryOp::kOr && reading_.is_open_only(either->a);
      nest.guards += open ? negation(reading_(either->a)) : Value(1);
    }
    tensor::Substitution axes;
    const std::vector<Expr> values = absolute_values(stage);
    size_t next = 0;
    for (const auto* group : {&stage.stage.axes, &stage.stage.reduce_axes}) {
      for (const tensor::Axis& axis : *group) {
        nest.useful_iterations *= reading_(axis.extent);
        axes[axis.var.get()] = values.at(next++);
      }
    }
    const Operations operations = operations_of(state_.data(), stage, axes);
    nest.flops_per_iteration = operations.arithmetic + (stage.stage.combiner ? 1 : 0);
    for (const tensor::Load* load : operations.loads)
      nest.accesses.push_back(describe(*load->buffer, load->indices, frame, axes));
    std::vector<Expr> output_indices;
    for (const tensor::Axis& axis : stage.stage.axes) output_indices.push_back(axis.var);
    nest.accesses.push_back(describe(*stage.stage.output, output_indices, frame, axes));
    nest.accesses.back().is_store = true;
    for (NestAccess& access : nest.accesses) {
      count_turns(stage, turns, access);
      access.stays = stays(nest.loops, turns, access);
    }
    return nest;
  }

 private:
  void append_loops(const StageState& stage, size_t count, bool own, Frame& frame) const {
    for (size_t i = 0; i < count; ++i) {
      const schedule::Loop& loop = stage.loops[i];
      frame.loops.push_back({reading_(loop.extent), loop.reduce, own, loop.annotation});
      frame.vars.push_back(stage.loop_vars[i]);
    }
  }

  // The value of each axis, with the start of each region as open sizes decide.
  static std::vector<Expr> absolute_values(const StageState& stage) {
    std::vector<Expr> values = stage.absolute_values();
    for (size_t d = 0; d < stage.origin.size(); ++d) {
      if (!stage.region[d].is_open()) continue;
      const Expr whole = stage.stage.axes[d].extent <= stage.region[d].expr();
      values[d] = tensor::select(whole, tensor::imm(0), stage.origin[d]) + stage.axis_values[d];
    }
    return values;
  }

  // The loops that the stage is computed in, from the outermost consumer inwards.
  void append_surrounding(const StageState& stage, Frame& frame) const {
    if (stage.place != StageState::Place::kAt) return;
    const StageState* consumer = state_.data().find_stage(stage.consumer);
    if (consumer == nullptr) return;
    append_surrounding(*consumer, frame);
    const size_t held = static_cast<size_t>(consumer->find_loop(stage.consumer_loop)) + 1;
    append_loops(*consumer, held, /*own=*/false, frame);
  }

  void describe_loops(Nest& nest) const {
    for (const NestLoop& loop : nest.loops) {
      nest.iterations *= loop.extent;
      if (loop.annotation == Annotation::kParallel) nest.parallel *= loop.extent;
      if (!loop.own) continue;
      if (loop.reduce) nest.reduce_extent *= loop.extent;
      if (loop.annotation == Annotation::kVectorize) {
        nest.lanes *= loop.extent;
        nest.tile_vectors *= ceil(loop.extent / fp32_lanes_);
      }
      if (loop.annotation == Annotation::kUnroll) {
        nest.unrolled_body *= loop.extent;
        if (loop.reduce) continue;
        nest.tile_vectors *= loop.extent;
        nest.row_vectors = loop.extent;  // the innermost: tiles have their vectors beside each other
      }
    }
  }

  // As lowering does it: the innermost loops, as long as their copies are within the limit. Of each of the
  // stage's loops, the turns that are copies of the code.
  std::vector<Value> unrolled_turns(const StageState& stage) const {
    std::vector<Value> turns(stage.loops.size(), 1);
    Value copies = 1, limit = reading_(stage.unroll_limit);
    const int held = state_.data().deepest_held_loop(stage);
    for (int i = static_cast<int>(stage.loops.size()) - 1; i > held; --i) {
      const schedule::Loop& loop = stage.loops[static_cast<size_t>(i)];
      if (loop.annotation == Annotation::kVectorize) continue;
      if (loop.annotation != Annotation::kSerial && loop.annotation != Annotation::kUnroll) break;
      const Value extent = reading_(loop.extent);
      copies *= extent;
      if (loop.annotation == Annotation::kSerial)
        turns[static_cast<size_t>(i)] = select(less_equal(copies, limit), extent, 1);
    }
    return turns;
  }

  // What the unrolled turns touch together, and what waits between two of them that touch the same.
  static void count_turns(const StageState& stage, const std::vector<Value>& turns, NestAccess& access) {
    const size_t around = access.touched_elems.size() - 1 - stage.loops.size();
    size_t depth = stage.loops.size();
    while (depth > 0 && is_copied(stage.loops[depth - 1].annotation)) --depth;
    access.unrolled_elems = access.touched_elems[around + depth];
    for (size_t i = depth; i-- > 0;) {
      const Value turn = access.unrolled_elems, all = access.touched_elems[around + i];
      const Value again = both(less(1, turns[i]), less(all + 0.5, turn * turns[i]));
      access.waiting_elems = max(access.waiting_elems, select(again, turn, 0));
      access.unrolled_elems = select(less(1, turns[i]), all, turn);
    }
  }

  // Whether the innermost loop that remains one in the code, of several turns, leaves the access where it is.
  static Value stays(std::span<const NestLoop> loops, const std::vector<Value>& turns,
                     const NestAccess& access) {
    Value is_still = 0, is_inside = 1;  // of all loops that remain
    const size_t around = loops.size() - turns.size();
    for (size_t depth = loops.size(); depth-- > 0;) {
      if (depth >= around && is_copied(loops[depth].annotation)) continue;
      const Value unrolled = depth >= around ? less(1, turns[depth - around]) : Value(0);
      const Value remains = both(less(1, loops[depth].extent), negation(unrolled));
      const Value same = less(access.touched_elems[depth], access.touched_elems[depth + 1] + 0.5);
      is_still = select(both(is_inside, remains), same, is_still);
      is_inside = both(is_inside, negation(remains));
      if (is_inside.greatest() == 0) break;
    }
    return is_still;
  }

  static bool is_copied(Annotation annotation) {
    return annotation == Annotation::kUnroll || annotation == Annotation::kVectorize;
  }

  // Tiles overrun the axes of the stage that everything is computed in at last; guards skip whole tiles, and
  // in edge tiles whole vectors.
  void describe_shares(const StageState& stage, Nest& nest) const {
    Value reduced = 1;
    for (const tensor::Axis& axis : stage.stage.reduce_axes) reduced *= reading_(axis.extent);
    nest.reduced = min(1, reduced / max(1, nest.reduce_extent));
    const StageState* root = &stage;
    while (root->place == StageState::Place::kAt && state_.data().find_stage(root->consumer) != nullptr)
      root = state_.data().find_stage(root->consumer);
    Value covered = 1, started = 1, wanted = 1;
    IndexBounds tile(reading_), vector(reading_);
    bool inside = true;
    for (size_t i = root->loops.size(); i-- > 0;) {
      const schedule::Loop& loop = root->loops[i];
      const Value last = max(reading_(loop.extent), 1) - 1;
      inside = inside && is_copied(loop.annotation);
      tile.set(root->loop_vars[i], inside ? last : 0);
      vector.set(root->loop_vars[i], loop.annotation == Annotation::kVectorize ? last : 0);
      if (!loop.reduce) covered *= reading_(loop.extent);
    }
    for (size_t axis = 0; axis < root->stage.axes.size(); ++axis) {
      const Value extent = reading_(root->stage.axes[axis].extent);
      const auto covers = [&](IndexBounds& bounds) {
        const Bounds index = bounds.of(root->axis_values[axis]);
        const Value length = index.is_bounded() ? min(extent, *index.high - *index.low + 1) : Value(1);
        return ceil(extent / max(1, length)) * length;
      };
      started *= covers(tile);
      wanted *= covers(vector);
    }
    nest.started = min(1, started / max(1, covered));
    nest.wanted = min(1, wanted / max(1, covered));
  }

  // The first depth of the loops that lead to other memory: what a stage computes inside another lies in the
  // same memory each time.
  size_t first_moving(const tensor::BufferNode& buffer, const Frame& frame) const {
    const auto stage = stages_.find(&buffer);
    if (stage == stages_.end() || stage->second->place != StageState::Place::kAt) return 0;
    const StageState& consumer = *state_.data().find_stage(stage->second->consumer);
    const auto loop = static_cast<size_t>(consumer.find_loop(stage->second->consumer_loop));
    const auto held = std::find_if(frame.vars.begin(), frame.vars.end(), [&](const tensor::Var& var) {
      return var.get() == consumer.loop_vars[loop].get();
    });
    return held == frame.vars.end() ? 0 : static_cast<size_t>(held - frame.vars.begin()) + 1;
  }

  // What is touched at every depth: loops outside the depth stand still at zero, as do those that only use
  // the same memory anew.
  void touch_by_depth(const tensor::BufferNode& buffer, const std::vector<Expr>& indices, const Frame& frame,
                      NestAccess& access) const {
    const Storage storage = storage_of(buffer);
    const size_t first = first_moving(buffer, frame);
    IndexBounds bounds(reading_);
    for (const tensor::Var& var : frame.vars) bounds.set(var, 0);
    std::vector<Value>& touched = access.touched_elems;
    touched.assign(frame.loops.size() + 1, 1);
    access.touched_lines.assign(frame.loops.size() + 1, {1, 1, kLineBytes, kLineBytes});
    access.alignment = run_alignment(storage);
    for (size_t depth = frame.loops.size(); depth-- > 0;) {
      if (depth < first) {
        touched[depth] = touched[depth + 1];
        access.touched_lines[depth] = access.touched_lines[depth + 1];
        continue;
      }
      bounds.set(frame.vars[depth], max(frame.loops[depth].extent, 1) - 1);
      Value elements = 1;
      std::vector<Value> box;
      for (size_t axis = 0; axis < indices.size(); ++axis) {
        const Value limit = reading_(buffer.extents[axis]);
        const Bounds index = bounds.of(indices[axis]);
        box.push_back(index.is_bounded() ? min(limit, *index.high - *index.low + 1) : limit);
        elements *= box.back();
      }
      const Value turns = less(1, frame.loops[depth].extent);
      touched[depth] = select(turns, elements, touched[depth + 1]);
      if (access.in_register) continue;
      const LineCount lines = lines_of(storage, box, ways_);
      const LineCount& inner = access.touched_lines[depth + 1];
      access.touched_lines[depth] = {select(turns, lines.lines, inner.lines),
                                     select(turns, lines.runs, inner.runs),
                                     select(turns, lines.crowded_l1_bytes, inner.crowded_l1_bytes),
                                     select(turns, lines.crowded_l2_bytes, inner.crowded_l2_bytes)};
    }
  }

  Storage storage_of(const tensor::BufferNode& buffer) const {
    const schedule::OpenLayout layout = layout_of(buffer);
    Storage storage{.element_bytes = tensor::element_bytes(buffer.element),
                    .packed = state_.data().layouts.contains(name_of(buffer))};
    if (layout.is_row_major()) {
      for (size_t axis = 0; axis < buffer.extents.size(); ++axis)
        storage.dimensions.push_back({axis, reading_(buffer.extents[axis]), 1});
      return storage;
    }
    std::vector<Value> steps(buffer.extents.size(), 1);
    for (size_t i = layout.axes.size(); i-- > 0;) {
      const auto axis = static_cast<size_t>(layout.axes[i].axis);
      const Value block = reading_(*state_.data().value_of(layout.axes[i].block));
      const Value rest = ceil(reading_(buffer.extents[axis]) / steps[axis]);
      const Value size = select(less(0, block), block, rest);
      storage.dimensions.insert(storage.dimensions.begin(), {axis, size, steps[axis]});
      steps[axis] *= size;
    }
    return storage;
  }

  // Of a constant or a stage, by which the schedule knows it; empty for others.
  std::string name_of(const tensor::BufferNode& buffer) const {
    const tensor::Workload& workload = state_.data().workload;
    for (size_t i = 0; i < workload.inputs.size(); ++i)
      if (workload.inputs[i].buffer.get() == &buffer && workload.inputs[i].constant)
        return "p" + std::to_string(i);
    const auto stage = stages_.find(&buffer);
    return stage == stages_.end() ? "" : stage->second->name;
  }

  // As far as it is known: a temporary may have none.
  schedule::OpenLayout layout_of(const tensor::BufferNode& buffer) const {
    const schedule::StateData& data = state_.data();
    const tensor::Workload& workload = data.workload;
    for (size_t i = 0; i < workload.outputs.size(); ++i)
      if (workload.outputs[i].get() == &buffer) return ports_.output(i);
    for (size_t i = 0; i < workload.inputs.size(); ++i)
      if (workload.inputs[i].buffer.get() == &buffer && !workload.inputs[i].constant)
        return ports_.input(workload, i);
    const auto found = data.layouts.find(name_of(buffer));
    return found == data.layouts.end() ? schedule::OpenLayout() : found->second;
  }

  // The axis whose consecutive indices lie beside each other in memory.
  size_t inner_axis(const tensor::BufferNode& buffer) const {
    const auto last = static_cast<size_t>(buffer.rank()) - 1;
    const schedule::OpenLayout layout = layout_of(buffer);
    if (!layout.is_row_major()) return static_cast<size_t>(layout.axes.back().axis);
    const std::span<const tensor::Buffer> outputs = state_.data().workload.outputs;
    const auto stage = stages_.find(&buffer);
    const bool temporary = stage != stages_.end() && std::ranges::none_of(outputs, [&](const auto& output) {
                             return output.get() == &buffer;
                           });
    return temporary ? vector_axis(*stage->second).value_or(last) : last;
  }

  // A temporary without a layout has its vectors in a row.
  static std::optional<size_t> vector_axis(const StageState& stage) {
    if (stage.loops.empty() || stage.loops.back().annotation != Annotation::kVectorize) return std::nullopt;
    for (size_t d = 0; d < stage.origin.size(); ++d) {
      bool moves = false;
      tensor::for_each(stage.axis_values[d], [&](const Expr& e) {
        moves = moves || e.get() == stage.loop_vars.back().get();
        return !moves;
      });
      if (moves) return d;
    }
    return std::nullopt;
  }

  NestAccess describe(const tensor::BufferNode& buffer, std::vector<Expr> indices, const Frame& frame,
                      const tensor::Substitution& axes) const {
    for (Expr& index : indices) index = tensor::substitute(index, axes);
    NestAccess access;
    access.element_bytes = tensor::element_bytes(buffer.element);
    access.in_register = registers_.contains(&buffer);
    access.is_constant = std::ranges::any_of(state_.data().workload.inputs, [&](const tensor::Input& input) {
      return input.constant && input.buffer.get() == &buffer;
    });
    touch_by_depth(buffer, indices, frame, access);

    IndexBounds lane(reading_);
    for (size_t i = 0; i < frame.loops.size(); ++i) {
      const bool vector = frame.loops[i].own && frame.loops[i].annotation == Annotation::kVectorize;
      lane.set(frame.vars[i], vector ? 1 : 0);
    }
    const size_t inner = indices.empty() ? 0 : inner_axis(buffer);
    access.contiguous = indices.empty() ? 0 : 1;
    for (size_t axis = 0; axis < indices.size(); ++axis) {
      const Bounds index = lane.of(indices[axis]);
      const Value step = index.is_bounded() ? *index.high - *index.low : Value(2);
      access.varies_with_vector = either(access.varies_with_vector, negation(equal(step, 0)));
      access.contiguous = both(access.contiguous, equal(step, axis == inner ? 1 : 0));
    }
    return access;
  }

  const schedule::State& state_;
  const tensor::PortLayouts& ports_;
  const double fp32_lanes_;
  const CacheWays ways_;
  const Reading& reading_;
  std::map<const tensor::BufferNode*, const StageState*> stages_;
  std::set<const tensor::BufferNode*> registers_;
};

}  // namespace

std::vector<Nest> summarize(const schedule::State& state, const tensor::PortLayouts& ports,
                            const target::Target& target, const Reading& reading) {
  const Summary summary(state, ports, target, reading);
  std::vector<Nest> nests;
  for (const StageState& stage : state.stages())
    if (stage.place != StageState::Place::kInlined) nests.push_back(summary.nest_of(stage));
  return nests;
}

}  // namespace tf::model
