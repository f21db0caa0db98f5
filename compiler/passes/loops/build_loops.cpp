#include "compiler/passes/loops/build_loops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/passes/fresh_variables.h"
#include "compiler/passes/loops/check_launch_loops.h"
#include "compiler/passes/loops/check_ports.h"
#include "compiler/passes/loops/copies_ahead.h"
#include "compiler/passes/loops/lane_folds.h"
#include "compiler/passes/loops/matrix_stages.h"
#include "compiler/passes/loops/raster_order.h"
#include "compiler/passes/loops/stage_guards.h"
#include "compiler/passes/loops/stage_storage.h"
#include "compiler/passes/loops/temporary_shapes.h"
#include "compiler/passes/memory/own_fragments.h"
#include "compiler/schedule/in_place.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::passes {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::ForKind;
using ir::Stmt;
using ir::Var;
using schedule::Annotation;
using schedule::Loop;
using schedule::StageState;

ForKind for_kind(Annotation annotation, bool reduce) {
  switch (annotation) {
    case Annotation::kSerial:
      return ForKind::kSerial;
    case Annotation::kParallel:
      return ForKind::kParallel;
    case Annotation::kVectorize:
      return reduce ? ForKind::kFolded : ForKind::kVectorized;
    case Annotation::kUnroll:
      return ForKind::kUnrolled;
    case Annotation::kGridX:
      return ForKind::kGridX;
    case Annotation::kGridY:
      return ForKind::kGridY;
    case Annotation::kGridZ:
      return ForKind::kGridZ;
    case Annotation::kThreadX:
      return ForKind::kThreadX;
    case Annotation::kThreadY:
      return ForKind::kThreadY;
    case Annotation::kThreadZ:
      return ForKind::kThreadZ;
  }
  __builtin_unreachable();
}

class LoopBuilder {
 public:
  explicit LoopBuilder(const schedule::StateData& data)
      : data_(data),
        shapes_(data),
        storage_(data, shapes_),
        guards_(data, shapes_),
        matrices_(data, storage_),
        ahead_(data, shapes_, storage_, matrices_) {}

  void add_param(const Buffer& logical, const std::string& name, const ir::Layout& layout,
                 ir::Function* out) {
    Buffer param = tensor::buffer(name, logical->element, logical->extents, ir::Scope::kGlobal, layout);
    storage_.add_param(logical, param);
    out->params.push_back(param);
  }

  Stmt roots() {
    std::vector<const StageState*> live;
    for (const StageState& stage : data_.stages)
      if (stage.place == StageState::Place::kRoot && shapes_.is_needed(stage)) live.push_back(&stage);
    Stmt body = ir::seq({});
    for (auto it = live.rbegin(); it != live.rend(); ++it) body = with_stage(**it, body);
    return body;
  }

 private:
  // The stage's loops, then `rest`, within its buffer's life.
  Stmt with_stage(const StageState& stage, const Stmt& rest) const {
    Stmt body = ir::seq({nest(stage), rest});
    if (data_.is_output(stage)) return body;
    return ir::make_stmt<ir::Allocate>(storage_.of(stage).buffer, body);
  }

  // What a block's threads share is complete before anyone reads it, and read by all before it is made anew.
  Stmt with_attached(const StageState& holder, const Loop& loop, Stmt body) const {
    bool shared = false;
    std::vector<const StageState*> attached;
    for (const StageState& stage : data_.stages)
      if (stage.place == StageState::Place::kAt && stage.consumer == holder.name &&
          stage.consumer_loop == loop.name)
        attached.push_back(&stage);
    for (auto it = data_.stages.rbegin(); it != data_.stages.rend(); ++it) {
      if (it->place != StageState::Place::kAt || it->consumer != holder.name ||
          it->consumer_loop != loop.name || !shapes_.is_needed(*it) || shapes_.pipeline_of(*it) != nullptr)
        continue;
      if (it->scope == ir::Scope::kShared && (!shared || is_read_before(*it, holder, loop)))
        body = ir::seq({matrices_.published(attached), ir::make_stmt<ir::Barrier>(), body});
      shared = shared || it->scope == ir::Scope::kShared;
      body = with_stage(*it, body);
    }
    return shared ? ir::seq({ir::make_stmt<ir::Barrier>(), body}) : body;
  }

  // Whether other stages at the loop read it, before the loop's body does.
  bool is_read_before(const StageState& stage, const StageState& holder, const Loop& loop) const {
    return std::ranges::any_of(data_.readers(stage.stage.output.get()), [&](const StageState* reader) {
      while (reader->place == StageState::Place::kAt && reader->consumer != holder.name)
        reader = data_.find_stage(reader->consumer);
      return reader->place == StageState::Place::kAt && reader->consumer == holder.name &&
             reader->consumer_loop == loop.name;
    });
  }

  // What iteration `at` of the stage's pipeline reads.
  Stmt copies_of(const StageState& stage, const std::vector<const StageState*>& copies,
                 const Expr& at) const {
    std::vector<Stmt> all;
    all.reserve(copies.size());
    for (const StageState* copy : copies)
      all.push_back(ir::substitute(with_fresh_variables(nest(*copy)),
                                   {{stage.loop_vars[pipelined_loop(stage)].get(), at}}));
    return ir::seq(std::move(all));
  }

  Stmt nest(const StageState& stage) const {
    if (stage.is_factor && stage.scope == ir::Scope::kFragment) return matrices_.filled_fragment(stage);
    if (ahead_.is_in_bulk(stage)) return ahead_.copied_in_bulk(stage);
    const std::vector<Annotation> annotations = with_automatic_unrolling(stage);
    const Expr first = folds_lanes(stage) ? Expr() : guards_.first_threads(stage);  // of a fold, only stores
    Stmt body = guards_.within_parting_guards(stage, first, false,
                                              stage.tensor         ? matrices_.multiply(stage)
                                              : folds_lanes(stage) ? fold(stage)
                                                                   : update(stage));
    // A matrix instruction stands for the three innermost loops.
    const int count = static_cast<int>(stage.loops.size()) - (stage.tensor ? 3 : 0);
    int first_reduce = count;
    for (int i = count - 1; i >= 0; --i)
      if (stage.loops[static_cast<size_t>(i)].reduce && !stage.tensor) first_reduce = i;
    for (int i = count - 1; i >= 0; --i) {
      const auto n = static_cast<size_t>(i);
      if (i == data_.deepest_held_loop(stage)) body = matrices_.waited_for(stage, body);
      body = with_attached(stage, stage.loops[n], body);
      body = guards_.within_guards_at(stage, i, body);
      const std::vector<const StageState*> copies = shapes_.copies_ahead(stage, stage.loops[n]);
      const PipelinedLoop pipeline{stage, stage.loops[n], copies,
                                   [&](const Expr& at) { return copies_of(stage, copies, at); }};
      if (!copies.empty()) body = ahead_.with_copies_ahead(pipeline, body);
      body = loop_over(stage, n, annotations[n], body);
      if (i == count - 1) body = guards_.within_parting_guards(stage, first, true, body);
      if (!copies.empty()) body = ahead_.with_rings(pipeline, body);
      if (i == first_reduce && !folds_lanes(stage))
        body = ir::seq({initial(stage, first_reduce, annotations), body});
    }
    if (first && !guards_.meets_threads(stage)) body = ir::make_stmt<ir::If>(first, body);
    if (data_.deepest_held_loop(stage) < 0) body = matrices_.waited_for(stage, body);
    return stage.tensor ? ir::seq({matrices_.zeros(stage), body}) : body;
  }

  Stmt fold(const StageState& stage) const {
    const Storage& storage = storage_.of(stage);
    return folded_over_lanes(stage, storage_.value_of(stage), storage.buffer,
                             storage.at(local_indices(stage)), guards_.first_threads(stage));
  }

  // A thread loop inside another stage runs over the threads around it; a guard says how many of them.
  Stmt loop_over(const StageState& stage, size_t n, Annotation annotation, const Stmt& body) const {
    const Expr extent = stage.loops[n].extent.expr();
    const auto around =
        schedule::is_thread(annotation) ? data_.thread_around(stage, annotation) : std::nullopt;
    if (!around)
      return ir::make_for(stage.loop_vars[n], tensor::imm(0), extent,
                          for_kind(annotation, stage.loops[n].reduce),
                          is_inner_of_raster(stage, n) ? in_raster_order(stage, body) : body);
    const auto outer = static_cast<size_t>(around->loop);
    return ir::substitute(body, {{stage.loop_vars[n].get(), around->stage->loop_vars[outer]}});
  }

  // The pragma unroll_limit: serial loops from the innermost out, up to one that holds other stages.
  std::vector<Annotation> with_automatic_unrolling(const StageState& stage) const {
    std::vector<Annotation> annotations;
    for (const Loop& loop : stage.loops) annotations.push_back(loop.annotation);
    int64_t copies = 1;
    const int held = data_.deepest_held_loop(stage);
    for (int i = static_cast<int>(stage.loops.size()) - 1; i > held; --i) {
      const Loop& loop = stage.loops[static_cast<size_t>(i)];
      if (loop.annotation == Annotation::kVectorize) continue;
      if (loop.extent.is_open()) break;
      copies *= loop.extent;
      if (copies > stage.unroll_limit ||
          (loop.annotation != Annotation::kSerial && loop.annotation != Annotation::kUnroll))
        break;
      annotations[static_cast<size_t>(i)] = Annotation::kUnroll;
    }
    return annotations;
  }

  Stmt update(const StageState& stage) const {
    const tensor::Stage& s = stage.stage;
    Expr value = matrices_.readable(stage, storage_.value_of(stage));
    const Buffer& target = storage_.of(stage).buffer;
    std::vector<Expr> indices = storage_.of(stage).at(local_indices(stage));
    if (shapes_.pipeline_of(stage) != nullptr)
      if (Stmt copy = asynchronous_copy(target, indices, value)) return copy;
    if (stage.is_reduction()) value = tensor::combine(*s.combiner, tensor::load(target, indices), value);
    return ir::store(target, std::move(indices), value);
  }

  Stmt initial(const StageState& stage, int first_reduce, const std::vector<Annotation>& annotations) const {
    tensor::Substitution fresh;
    std::vector<Var> vars(stage.loops.size());
    for (size_t i = static_cast<size_t>(first_reduce); i < stage.loops.size(); ++i) {
      if (stage.loops[i].reduce) continue;
      vars[i] = tensor::var(stage.loops[i].name);
      fresh[stage.loop_vars[i].get()] = vars[i];
    }
    std::vector<Expr> indices = local_indices(stage);
    for (Expr& index : indices) index = tensor::substitute(index, fresh);
    const Buffer& target = storage_.of(stage).buffer;
    Stmt body =
        ir::store(target, std::move(indices), tensor::identity(*stage.stage.combiner, target->element));
    for (const Expr& guard : guards_.of(stage))
      if (guards_.parts_threads(stage, guard) && deepest_loop(stage, guard) < first_reduce)
        body = ir::make_stmt<ir::If>(guard, body);
    if (const Expr first = guards_.first_threads(stage); first && guards_.meets_threads(stage))
      body = ir::make_stmt<ir::If>(first, body);
    for (size_t i = stage.loops.size(); i-- > static_cast<size_t>(first_reduce);) {
      if (!vars[i]) continue;
      for (const Expr& guard : guards_.of(stage))
        if (deepest_loop(stage, guard) == static_cast<int>(i))
          body = ir::make_stmt<ir::If>(tensor::substitute(guard, fresh), body);
      const auto around =
          guards_.threads_of(stage, i) ? data_.thread_around(stage, annotations[i]) : std::nullopt;
      body = around
                 ? ir::substitute(
                       body, {{vars[i].get(), around->stage->loop_vars[static_cast<size_t>(around->loop)]}})
                 : ir::make_for(vars[i], tensor::imm(0), stage.loops[i].extent.expr(),
                                for_kind(annotations[i], false), body);
    }
    return body;
  }

  const schedule::StateData& data_;
  const TemporaryShapes shapes_;
  StageStorage storage_;
  const StageGuards guards_;
  const MatrixStages matrices_;
  const CopiesAhead ahead_;
};

}  // namespace

absl::StatusOr<ir::Function> build_loops(const schedule::State& state, const tensor::PortLayouts& ports,
                                         const std::string& name) {
  const tensor::Workload& workload = state.workload();
  if (absl::Status status = check_ports(workload, ports); !status.ok()) return status;
  ir::Function function;
  function.name = name;
  function.dims = workload.dims;
  LoopBuilder builder(state.data());
  size_t activation = 0;
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    const tensor::Input& input = workload.inputs[i];
    const std::string param = absl::StrCat("p", i);
    ir::Layout layout;
    if (input.constant) {
      auto found = state.data().layouts.find(param);
      if (found != state.data().layouts.end()) layout = found->second.closed();
    } else if (!ports.inputs.empty()) {
      layout = ports.inputs[activation];
    }
    activation += input.constant ? 0 : 1;
    builder.add_param(input.buffer, param, layout, &function);
  }
  for (size_t i = 0; i < workload.outputs.size(); ++i) {
    std::string param = "out";
    for (const StageState& stage : state.stages())
      if (stage.stage.output.same_as(workload.outputs[i])) param = stage.name;
    builder.add_param(workload.outputs[i], param, ports.outputs.empty() ? ir::Layout{} : ports.outputs[i],
                      &function);
  }
  function.body = builder.roots();
  if (absl::Status status = check_launch_loops(function); !status.ok()) return status;
  if (absl::Status status = check_fragments(function); !status.ok()) return status;
  function.in_place = schedule::in_place_inputs(state.data(), ports);
  return function;
}

}  // namespace tf::passes
