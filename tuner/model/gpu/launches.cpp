#include "tuner/model/gpu/launches.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "tuner/model/formulas/index_bounds.h"
#include "tuner/model/nests/operations.h"

namespace tf::model {
namespace {

using schedule::Annotation;
using schedule::StageState;
using tensor::Expr;
using tensor::Scope;

constexpr int kLaneBits = 5;
constexpr double kAddressRegisters = 24, kWidestBytes = 16;

struct GpuLoop {
  tensor::Var var;
  Value extent = 1;
  Annotation annotation = Annotation::kSerial;
  bool reduce = false, own = true;
};
using LoopChoice = std::function<bool(const GpuLoop&)>;

bool is_copied(Annotation annotation) {
  return annotation == Annotation::kUnroll || annotation == Annotation::kVectorize;
}

// Which of x, y and z.
size_t axis_of(Annotation annotation) {
  const Annotation first = schedule::is_grid(annotation) ? Annotation::kGridX : Annotation::kThreadX;
  return static_cast<size_t>(annotation) - static_cast<size_t>(first);
}

Value modulo(const Value& a, const Value& b) {
  return a - b * floor(a / b);
}

// A buffer as it lies in memory, outermost dimension first: coordinate floor(index / step) mod size.
struct StoredAxis {
  size_t axis = 0;
  Value step = 1, size = 1;
  bool wraps = false;
};

class LaunchSummary {
 public:
  LaunchSummary(const schedule::State& state, const tensor::PortLayouts& ports, const Reading& reading)
      : state_(state), ports_(ports), reading_(reading) {
    for (const StageState& stage : state.stages()) stages_[stage.stage.output.get()] = &stage;
  }

  std::vector<GpuLaunch> launches() const {
    std::vector<GpuLaunch> launches;
    for (const StageState& root : state_.stages()) {
      if (root.place != StageState::Place::kRoot) continue;
      GpuLaunch launch{.stage = root.name};
      for (const StageState& stage : state_.stages())
        if (root_of(stage) == &root) add(stage, launch);
      Value operands = 0;
      for (const GpuNest& nest : launch.nests) {
        launch.registers += nest.accumulators;
        operands = max(operands, nest.operands);
      }
      launch.registers += operands + kAddressRegisters;
      launches.push_back(std::move(launch));
    }
    return launches;
  }

 private:
  // Null of what has no loops of its own.
  const StageState* root_of(const StageState& stage) const {
    const StageState* root = &stage;
    while (root != nullptr && root->place == StageState::Place::kAt)
      root = state_.data().find_stage(root->consumer);
    return root != nullptr && root->place == StageState::Place::kRoot ? root : nullptr;
  }

  void append_loops(const StageState& stage, size_t count, bool own, std::vector<GpuLoop>& loops) const {
    for (size_t i = 0; i < count; ++i) {
      const schedule::Loop& loop = stage.loops[i];
      loops.push_back({stage.loop_vars[i], reading_(loop.extent), loop.annotation, loop.reduce, own});
    }
  }

  void append_surrounding(const StageState& stage, std::vector<GpuLoop>& loops) const {
    if (stage.place != StageState::Place::kAt) return;
    const StageState* consumer = state_.data().find_stage(stage.consumer);
    if (consumer == nullptr) return;
    append_surrounding(*consumer, loops);
    append_loops(*consumer, static_cast<size_t>(consumer->find_loop(stage.consumer_loop)) + 1, false, loops);
  }

  void add(const StageState& stage, GpuLaunch& launch) const {
    std::vector<GpuLoop> loops;
    append_surrounding(stage, loops);
    append_loops(stage, stage.loops.size(), true, loops);
    GpuNest nest{.stage = stage.name, .is_staging = stage.scope == Scope::kShared};
    nest.is_reduction = stage.is_reduction();
    for (const GpuLoop& loop : loops) {
      if (schedule::is_grid(loop.annotation)) {
        Value& grid = launch.grid[axis_of(loop.annotation)];
        grid = max(grid, loop.extent);
      } else if (schedule::is_thread(loop.annotation)) {
        Value& block = launch.block[axis_of(loop.annotation)];
        block = max(block, loop.extent);
      } else {
        nest.turns *= loop.extent;
        if (nest.is_staging && !loop.own) nest.runs *= loop.extent;
      }
    }
    for (size_t i = loops.size(); i-- > 0 && loops[i].own && is_copied(loops[i].annotation);) {
      nest.copies *= loops[i].extent;
      if (loops[i].annotation == Annotation::kVectorize) nest.vector *= loops[i].extent;
    }
    add_accesses(stage, loops, nest);
    if (nest.is_staging) launch.shared_bytes += bytes_kept(stage) * tiles_kept(stage);
    if (stage.scope == Scope::kRegister) nest.accumulators = bytes_kept(stage) / 4;
    if (stage.scope == Scope::kFragment)
      nest.accumulators = bytes_kept(stage) / 4 / (stage.tensor ? stage.tensor->unit->c.lanes : kWarpLanes);
    if (stage.tensor) count_instructions(*stage.tensor->unit, nest);
    launch.nests.push_back(std::move(nest));
  }

  // How many tiles of what it copies are kept: of a pipeline, a ring of them.
  Value tiles_kept(const StageState& stage) const {
    const StageState* consumer =
        stage.place == StageState::Place::kAt ? state_.data().find_stage(stage.consumer) : nullptr;
    const bool is_ahead = consumer != nullptr && consumer->pipelined_loop == stage.consumer_loop;
    return is_ahead ? reading_(consumer->pipeline_stages) : Value(1.0);
  }

  // A matrix instruction is one turn of its lanes: for each as many operations as its share, in the time that so many fewer
  // take.
  static void count_instructions(const tensor_units::TensorUnit& unit, GpuNest& nest) {
    // Of a warp's, between GeForce's 2 and A100's 16 for f16; H100 is twice as fast by those of four warps.
    const double speed = unit.reads_shared ? 16 : 8;
    const double products = static_cast<double>(unit.m) * unit.n * unit.k;
    nest.turns = nest.turns / products;
    nest.flops_per_turn = 2 * products / unit.c.lanes / speed;
  }

  // Of the memory that one run of the loops around fills.
  Value bytes_kept(const StageState& stage) const {
    Value elements = 1;
    for (size_t axis = 0; axis < stage.region.size(); ++axis) {
      const Value size = reading_(stage.region[axis]);
      elements *= axis + 1 == stage.region.size() ? padded(stage.name, size) : size;
    }
    return elements * tensor::element_bytes(stage.stage.output->element);
  }

  Value padded(const std::string& name, const Value& size) const {
    const auto pitch = state_.data().pitches.find(name);
    if (pitch == state_.data().pitches.end()) return size;
    const Value factor = reading_(pitch->second.factor);
    return ceil(size / factor) * factor + reading_(pitch->second.offset);
  }

  void add_accesses(const StageState& stage, const std::vector<GpuLoop>& loops, GpuNest& nest) const {
    tensor::Substitution axes;
    const std::vector<Expr> values = stage.absolute_values();
    size_t next = 0;
    for (const auto* group : {&stage.stage.axes, &stage.stage.reduce_axes})
      for (const tensor::Axis& axis : *group) axes[axis.var.get()] = values.at(next++);
    const Operations operations = operations_of(state_.data(), stage, axes);
    nest.flops_per_turn = operations.arithmetic + (stage.stage.combiner ? 1 : 0);
    const auto describe_at = [&](const tensor::BufferNode& buffer, const std::vector<Expr>& indices) {
      std::vector<Expr> substituted;
      for (const Expr& index : indices) substituted.push_back(tensor::substitute(index, axes));
      nest.accesses.push_back(describe(buffer, substituted, loops, nest));
    };
    for (const tensor::Load* load : operations.loads) {
      describe_at(*load->buffer, load->indices);
      if (nest.accesses.back().scope != Scope::kRegister)
        nest.operands += operands_of_step(*load, axes, loops);
    }
    std::vector<Expr> outputs;
    for (const tensor::Axis& axis : stage.stage.axes) outputs.push_back(axis.var);
    describe_at(*stage.stage.output, outputs);
    GpuAccess& store = nest.accesses.back();
    store.is_store = true;
    // A sum is stored once, not in each turn of its reduction.
    if (!nest.is_reduction) return;
    for (const GpuLoop& loop : loops)
      if (loop.own && loop.reduce && !is_copied(loop.annotation))
        store.requests = store.requests / loop.extent;
  }

  // Distinct values that the unrolled loops of one step of the reduction load.
  Value operands_of_step(const tensor::Load& load, const tensor::Substitution& axes,
                         const std::vector<GpuLoop>& loops) const {
    std::vector<Expr> indices;
    for (const Expr& index : load.indices) indices.push_back(tensor::substitute(index, axes));
    return elements(*load.buffer, indices, loops, [](const GpuLoop& loop) {
      return loop.own && !loop.reduce && is_copied(loop.annotation);
    });
  }

  // Of the box that the chosen loops touch; `inner`: along the axis of neighbours.
  Value elements(const tensor::BufferNode& buffer, const std::vector<Expr>& indices,
                 const std::vector<GpuLoop>& loops, const LoopChoice& moves, Value* inner = nullptr) const {
    IndexBounds bounds(reading_);
    for (const GpuLoop& loop : loops) bounds.set(loop.var, moves(loop) ? max(loop.extent, 1) - 1 : Value(0));
    Value count = 1;
    const std::vector<StoredAxis> stored = stored_axes(buffer);
    for (size_t axis = 0; axis < indices.size(); ++axis) {
      const Value limit = reading_(buffer.extents[axis]);
      const Bounds index = bounds.of(indices[axis]);
      const Value length = index.is_bounded() ? min(limit, *index.high - *index.low + 1) : limit;
      count *= length;
      if (inner != nullptr && axis == stored.back().axis) *inner = min(length, stored.back().size);
    }
    return count;
  }

  GpuAccess describe(const tensor::BufferNode& buffer, const std::vector<Expr>& indices,
                     const std::vector<GpuLoop>& loops, const GpuNest& nest) const {
    GpuAccess access{.element_bytes = tensor::element_bytes(buffer.element)};
    if (const auto stage = stages_.find(&buffer); stage != stages_.end()) access.scope = stage->second->scope;
    if (access.scope == Scope::kRegister || access.scope == Scope::kFragment || indices.empty()) {
      access.scope = Scope::kRegister;
      return access;
    }
    const std::vector<Value> here = axis_values(indices, loops, nullptr, 0);
    const Value vector = vector_of(buffer, indices, loops, access.element_bytes, here);
    access.requests =
        nest.turns / nest.copies *
        ceil(elements(buffer, indices, loops,
                      [](const GpuLoop& loop) { return loop.own && is_copied(loop.annotation); }) /
             vector);
    access.request_bytes = vector * access.element_bytes;
    describe_lanes(buffer, indices, loops, nest.is_staging, here, access);
    if (access.scope == Scope::kGlobal) describe_blocks(buffer, indices, loops, access);
    return access;
  }

  // Of a lane's neighbours in memory, which vector loops or unrolled ones take, as many as one instruction moves:
  // compilers join the loads of unrolled neighbours.
  Value vector_of(const tensor::BufferNode& buffer, const std::vector<Expr>& indices,
                  const std::vector<GpuLoop>& loops, int element_bytes,
                  const std::vector<Value>& here) const {
    Value lanes = 1;
    for (const GpuLoop& loop : loops) {
      if (!loop.own || !is_copied(loop.annotation)) continue;
      const Value step = offset(buffer, axis_values(indices, loops, &loop, 1)) - offset(buffer, here);
      lanes = max(lanes, select(equal(step, 1), min(loop.extent, kWidestBytes / element_bytes), 1));
    }
    return lanes;
  }

  // The index of each axis, with one loop at a value and the others at 0.
  std::vector<Value> axis_values(const std::vector<Expr>& indices, const std::vector<GpuLoop>& loops,
                                 const GpuLoop* moved, const Value& value) const {
    IndexBounds bounds(reading_);
    for (const GpuLoop& loop : loops) bounds.fix(loop.var, &loop == moved ? value : Value(0));
    std::vector<Value> values;
    for (const Expr& index : indices) values.push_back(bounds.of(index).low.value_or(0));
    return values;
  }

  // Where in memory that is, in elements.
  Value offset(const tensor::BufferNode& buffer, const std::vector<Value>& values) const {
    const std::vector<StoredAxis> stored = stored_axes(buffer);
    Value at = 0, stride = 1;
    for (size_t i = stored.size(); i-- > 0;) {
      const StoredAxis& part = stored[i];
      const Value whole = floor(values[part.axis] / part.step);
      at += stride * (part.wraps ? modulo(whole, part.size) : whole);
      stride *= part.size;
    }
    return at;
  }

  // How a warp's lanes lie: each bit of a lane's number moves its address by so much. Of powers of two that tells how
  // many lines they touch and which banks.
  void describe_lanes(const tensor::BufferNode& buffer, const std::vector<Expr>& indices,
                      const std::vector<GpuLoop>& loops, bool is_staging, const std::vector<Value>& here,
                      GpuAccess& access) const {
    const Value start = offset(buffer, here);
    Value distinct = 1, lines = 1, sectors = 1, conflicts = 1;
    for (int bit = 0; bit < kLaneBits; ++bit) {
      Value left = 1 << bit, inside = 1, moved = 0;  // threads that the bit is worth, of the axes so far
      for (const Annotation axis : {Annotation::kThreadX, Annotation::kThreadY, Annotation::kThreadZ}) {
        const GpuLoop* loop = find_thread(loops, axis, is_staging);
        if (loop == nullptr) continue;
        const Value here_it_is = both(inside, less(left, loop->extent));
        if (here_it_is.greatest() > 0) {
          const Value to = offset(buffer, axis_values(indices, loops, loop, select(here_it_is, left, 0)));
          moved += select(here_it_is, max(to - start, start - to), 0);
        }
        inside = both(inside, negation(here_it_is));
        left = max(1, floor(left / loop->extent));
      }
      const Value bytes = moved * access.element_bytes;
      const Value moves = less(0, bytes);
      distinct *= 1 + moves;
      sectors *= 1 + less_equal(kSectorBytes, bytes);
      lines *= 1 + less_equal(kBankRowBytes, bytes);
      conflicts *= 1 + both(moves, equal(modulo(bytes, kBankRowBytes), 0));
    }
    access.useful_bytes = distinct * access.request_bytes;
    access.sectors = max(sectors, ceil(access.request_bytes / kSectorBytes));
    const Value rows = ceil(access.useful_bytes / kBankRowBytes);
    const bool swizzled = static_cast<bool>(layout_of(buffer).swizzle);
    access.passes = access.scope != Scope::kShared ? max(rows, lines)
                    : swizzled                     ? rows
                                                   : max(rows, conflicts);
  }

  // A stage that fills shared memory has threads of its own, others those around them.
  static const GpuLoop* find_thread(const std::vector<GpuLoop>& loops, Annotation axis, bool is_staging) {
    for (size_t i = loops.size(); i-- > 0;)
      if (loops[i].annotation == axis && (!is_staging || loops[i].own)) return &loops[i];
    return nullptr;
  }

  void describe_blocks(const tensor::BufferNode& buffer, const std::vector<Expr>& indices,
                       const std::vector<GpuLoop>& loops, GpuAccess& access) const {
    const auto bytes = [&](std::optional<Annotation> grid) {
      Value inner = 1;
      const Value count = elements(
          buffer, indices, loops,
          [&](const GpuLoop& loop) { return !schedule::is_grid(loop.annotation) || loop.annotation == grid; },
          &inner);
      const Value run = max(1, inner) * access.element_bytes;
      return count * access.element_bytes * ceil(run / kSectorBytes) * kSectorBytes / run;
    };
    access.block_bytes = bytes(std::nullopt);
    for (const Annotation grid : {Annotation::kGridX, Annotation::kGridY, Annotation::kGridZ})
      access.along[axis_of(grid)] = max(1, bytes(grid) / access.block_bytes);
  }

  // What a stage keeps for others in a block is as large as its region there.
  std::vector<StoredAxis> stored_axes(const tensor::BufferNode& buffer) const {
    const schedule::OpenLayout layout = layout_of(buffer);
    const auto stage = stages_.find(&buffer);
    const bool is_part = stage != stages_.end() && stage->second->place == StageState::Place::kAt;
    const auto size_of = [&](size_t axis) {
      return is_part ? reading_(stage->second->region[axis]) : reading_(buffer.extents[axis]);
    };
    std::vector<StoredAxis> stored;
    if (layout.is_row_major()) {
      for (size_t axis = 0; axis < buffer.extents.size(); ++axis)
        stored.push_back({.axis = axis, .size = size_of(axis)});
      if (!stored.empty() && stage != stages_.end())
        stored.back().size = padded(stage->second->name, stored.back().size);
      return stored;
    }
    std::vector<Value> steps(buffer.extents.size(), 1);
    for (size_t i = layout.axes.size(); i-- > 0;) {
      const auto axis = static_cast<size_t>(layout.axes[i].axis);
      const Value block = reading_(*state_.data().value_of(layout.axes[i].block));
      const Value rest = ceil(size_of(axis) / steps[axis]);
      const Value size = select(less(0, block), block, rest);
      stored.insert(stored.begin(), {.axis = axis, .step = steps[axis], .size = size, .wraps = true});
      steps[axis] *= size;
    }
    return stored;
  }

  schedule::OpenLayout layout_of(const tensor::BufferNode& buffer) const {
    const schedule::StateData& data = state_.data();
    const tensor::Workload& workload = data.workload;
    for (size_t i = 0; i < workload.outputs.size(); ++i)
      if (workload.outputs[i].get() == &buffer) return ports_.output(i);
    std::string name;
    for (size_t i = 0; i < workload.inputs.size(); ++i) {
      if (workload.inputs[i].buffer.get() != &buffer) continue;
      if (!workload.inputs[i].constant) return ports_.input(workload, i);
      name = "p" + std::to_string(i);
    }
    if (const auto stage = stages_.find(&buffer); stage != stages_.end()) name = stage->second->name;
    const auto found = data.layouts.find(name);
    return found == data.layouts.end() ? schedule::OpenLayout() : found->second;
  }

  const schedule::State& state_;
  const tensor::PortLayouts& ports_;
  const Reading& reading_;
  std::map<const tensor::BufferNode*, const StageState*> stages_;
};

}  // namespace

std::vector<GpuLaunch> launches_of(const schedule::State& state, const tensor::PortLayouts& ports,
                                   const Reading& reading) {
  return LaunchSummary(state, ports, reading).launches();
}

}  // namespace tf::model
