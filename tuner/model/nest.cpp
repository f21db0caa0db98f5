#include "tuner/model/nest.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "tuner/model/index_bounds.h"
#include "tuner/model/operations.h"

namespace tf::model {
namespace {

using schedule::Annotation;
using schedule::StageState;
using tensor::Expr;

Value value_of(tensor::BinaryOp op, const Value& a, const Value& b) {
  using tensor::BinaryOp;
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kFloorDiv:
      return floor(a / b);
    case BinaryOp::kFloorMod:
      return a - floor(a / b) * b;
    case BinaryOp::kMin:
      return min(a, b);
    case BinaryOp::kMax:
      return max(a, b);
    case BinaryOp::kEq:
      return equal(a, b);
    case BinaryOp::kNe:
      return negation(equal(a, b));
    case BinaryOp::kLt:
      return less(a, b);
    case BinaryOp::kLe:
      return less_equal(a, b);
    case BinaryOp::kAnd:
      return both(a, b);
    case BinaryOp::kOr:
      return either(a, b);
  }
  __builtin_unreachable();
}

void append_terms(const Expr& sum, std::vector<Expr>& terms) {
  const auto* node = tensor::as<tensor::Binary>(sum);
  if (node != nullptr && node->op == tensor::BinaryOp::kAdd) {
    append_terms(node->a, terms);
    append_terms(node->b, terms);
  } else if (node != nullptr && node->op == tensor::BinaryOp::kSub && tensor::as_int(node->b)) {
    append_terms(node->a, terms);
    terms.push_back(-node->b);
  } else {
    terms.push_back(sum);
  }
}

// x of a quotient (x + b) // b, as quotients that round up are written; null if it is none. As 1 + x // b it
// has tighter bounds: what rounds up is positive.
Expr beside_divisor(const tensor::Binary& node) {
  if (node.op != tensor::BinaryOp::kFloorDiv) return nullptr;
  std::vector<Expr> terms;
  append_terms(node.a, terms);
  const auto divisor = std::find_if(
      terms.begin(), terms.end(), [&](const Expr& term) { return tensor::structurally_equal(term, node.b); });
  if (divisor == terms.end()) return nullptr;
  terms.erase(divisor);
  Expr rest = tensor::imm(0);
  for (const Expr& term : terms) rest = rest + term;
  return rest;
}

// The nest's loop variables, outermost first, beside its loops.
struct Frame {
  std::vector<NestLoop> loops;
  std::vector<tensor::Var> vars;
};

class Summary {
 public:
  Summary(const schedule::State& state, const schedule::PortLayouts& ports, int fp32_lanes,
          const Reading& reading)
      : state_(state), ports_(ports), fp32_lanes_(fp32_lanes), reading_(reading) {
    for (const StageState& stage : state.stages()) {
      stages_[stage.stage.output.get()] = &stage;
      if (stage.scope == tensor::Scope::kRegister) registers_.insert(stage.stage.output.get());
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
    nest.unrolled_turns = unrolled_turns(stage);
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
        if (!loop.reduce) nest.tile_vectors *= loop.extent;
      }
    }
  }

  // As lowering does it: the innermost loops, as long as their copies are within the limit.
  Value unrolled_turns(const StageState& stage) const {
    Value copies = 1, turns = 1, limit = reading_(stage.unroll_limit);
    const int held = state_.data().deepest_held_loop(stage);
    for (int i = static_cast<int>(stage.loops.size()) - 1; i > held; --i) {
      const schedule::Loop& loop = stage.loops[static_cast<size_t>(i)];
      if (loop.annotation == Annotation::kVectorize) continue;
      if (loop.annotation != Annotation::kSerial && loop.annotation != Annotation::kUnroll) break;
      const Value extent = reading_(loop.extent);
      copies *= extent;
      if (loop.annotation == Annotation::kSerial) turns *= select(less_equal(copies, limit), extent, 1);
    }
    return turns;
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

  // Elements touched at every depth: loops outside the depth stand still at zero, as do those that only use
  // the same memory anew.
  std::vector<Value> touched_by_depth(const tensor::BufferNode& buffer, const std::vector<Expr>& indices,
                                      const Frame& frame) const {
    const size_t first = first_moving(buffer, frame);
    IndexBounds bounds(reading_);
    for (const tensor::Var& var : frame.vars) bounds.set(var, 0);
    std::vector<Value> touched(frame.loops.size() + 1, 1);
    for (size_t depth = frame.loops.size(); depth-- > 0;) {
      if (depth < first) {
        touched[depth] = touched[depth + 1];
        continue;
      }
      bounds.set(frame.vars[depth], max(frame.loops[depth].extent, 1) - 1);
      Value elements = 1;
      for (size_t axis = 0; axis < indices.size(); ++axis) {
        const Value limit = reading_(buffer.extents[axis]);
        const Bounds index = bounds.of(indices[axis]);
        elements *= index.is_bounded() ? min(limit, *index.high - *index.low + 1) : limit;
      }
      touched[depth] = select(less_equal(frame.loops[depth].extent, 1), touched[depth + 1], elements);
    }
    return touched;
  }

  // The axis whose consecutive indices lie beside each other in memory.
  size_t inner_axis(const tensor::BufferNode& buffer) const {
    const auto last = static_cast<size_t>(buffer.rank()) - 1;
    auto of = [&](const auto& layout) {
      return layout.is_row_major() ? last : static_cast<size_t>(layout.axes.back().axis);
    };
    const schedule::StateData& data = state_.data();
    const tensor::Workload& workload = data.workload;
    for (size_t i = 0; i < workload.outputs.size(); ++i)
      if (workload.outputs[i].get() == &buffer) return of(ports_.output(i));
    for (size_t i = 0; i < workload.inputs.size(); ++i) {
      if (workload.inputs[i].buffer.get() != &buffer) continue;
      if (!workload.inputs[i].constant) return of(ports_.input(workload, i));
      const auto found = data.layouts.find("p" + std::to_string(i));
      return found == data.layouts.end() ? last : of(found->second);
    }
    const auto stage = stages_.find(&buffer);
    if (stage == stages_.end()) return last;
    const auto found = data.layouts.find(stage->second->name);
    if (found != data.layouts.end()) return of(found->second);
    return vector_axis(*stage->second).value_or(last);
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
    access.touched_elems = touched_by_depth(buffer, indices, frame);

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
  const schedule::PortLayouts& ports_;
  const double fp32_lanes_;
  const Reading& reading_;
  std::map<const tensor::BufferNode*, const StageState*> stages_;
  std::set<const tensor::BufferNode*> registers_;
};

}  // namespace

Reading::Reading(const space::Sketch& sketch, const schedule::OpenSizes& open, Formulas& formulas) {
  for (size_t slot = 0; slot < open.size(); ++slot) {
    for (size_t part = 0; part < open[slot].size(); ++part) {
      std::vector<int64_t> values;
      for (const std::vector<int64_t>& choice : sketch.slots[slot].choices) values.push_back(choice[part]);
      sizes_.emplace(open[slot][part].var.get(),
                     formulas.part(static_cast<int>(slot), static_cast<int>(part), values));
    }
  }
}

Value Reading::operator()(const schedule::Whole& whole) const {
  return whole.is_open() ? (*this)(whole.expr()) : Value(static_cast<double>(static_cast<int64_t>(whole)));
}

Value Reading::operator()(const Expr& expr) const {
  if (const auto* imm = tensor::as<tensor::IntImm>(expr)) return static_cast<double>(imm->value);
  if (const auto* var = tensor::as<tensor::VarNode>(expr)) return sizes_.at(var);
  if (const auto* node = tensor::as<tensor::Binary>(expr)) {
    if (const Expr rest = beside_divisor(*node)) return 1 + floor((*this)(rest) / (*this)(node->b));
    return value_of(node->op, (*this)(node->a), (*this)(node->b));
  }
  if (const auto* node = tensor::as<tensor::Select>(expr))
    return select((*this)(node->condition), (*this)(node->if_true), (*this)(node->if_false));
  if (const auto* node = tensor::as<tensor::Unary>(expr); node && node->op == tensor::UnaryOp::kNot)
    return negation((*this)(node->a));
  if (const auto* node = tensor::as<tensor::Unary>(expr); node && node->op == tensor::UnaryOp::kNeg)
    return 0 - (*this)(node->a);
  TF_CHECK(false) << "sizes are sums, products, quotients and choices of sizes";
  __builtin_unreachable();
}

bool Reading::is_open_only(const Expr& expr) const {
  bool open = true;
  tensor::for_each(expr, [&](const Expr& e) {
    const auto* var = tensor::as<tensor::VarNode>(e);
    open = open && e->kind() != tensor::ExprKind::kLoad && (var == nullptr || sizes_.contains(var));
    return open;
  });
  return open;
}

std::vector<Nest> summarize(const schedule::State& state, const schedule::PortLayouts& ports, int fp32_lanes,
                            const Reading& reading) {
  const Summary summary(state, ports, fp32_lanes, reading);
  std::vector<Nest> nests;
  for (const StageState& stage : state.stages())
    if (stage.place != StageState::Place::kInlined) nests.push_back(summary.nest_of(stage));
  return nests;
}

}  // namespace tf::model
