#include "compiler/passes/loops/build_loops.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/whole_division.h"
#include "compiler/analysis/access.h"
#include "compiler/analysis/simplify.h"
#include "compiler/passes/fresh_variables.h"
#include "compiler/passes/loops/bulk_copies.h"
#include "compiler/passes/loops/check_launch_loops.h"
#include "compiler/passes/loops/check_ports.h"
#include "compiler/passes/loops/lane_folds.h"
#include "compiler/passes/loops/matrix_tiles.h"
#include "compiler/passes/loops/raster_order.h"
#include "compiler/passes/loops/temporary_shapes.h"
#include "compiler/passes/memory/own_fragments.h"
#include "compiler/schedule/bulk_copy.h"
#include "compiler/schedule/in_place.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::passes {
namespace {

using ir::Buffer;
using ir::BufferNode;
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

// Where a tensor of the workload is stored, and which part of it; of a ring of tiles, in which one.
struct Storage {
  Buffer buffer;
  std::vector<Expr> origin;
  Expr tile;  // null: there is one

  std::vector<Expr> at(std::vector<Expr> indices) const {
    if (tile) indices.insert(indices.begin(), tile);
    return indices;
  }
};

class LoopBuilder {
 public:
  explicit LoopBuilder(const schedule::StateData& data) : data_(data), shapes_(data) {}

  void add_param(const Buffer& logical, const std::string& name, const ir::Layout& layout,
                 ir::Function* out) {
    Buffer param = tensor::buffer(name, logical->element, logical->extents, ir::Scope::kGlobal, layout);
    storage_[logical.get()] = {param, std::vector<Expr>(logical->extents.size(), tensor::imm(0)), nullptr};
    out->params.push_back(param);
  }

  Stmt roots() {
    std::vector<const StageState*> live;
    for (const StageState& stage : data_.stages)
      if (stage.place == StageState::Place::kRoot && shapes_.is_needed(stage)) live.push_back(&stage);
    for (const StageState& stage : data_.stages)
      if (stage.place != StageState::Place::kInlined && !data_.is_output(stage)) place(stage);
    Stmt body = ir::seq({});
    for (auto it = live.rbegin(); it != live.rend(); ++it) body = with_stage(**it, body);
    return body;
  }

 private:
  void place(const StageState& stage) {
    TemporaryShape shape = shapes_.of(stage);
    std::vector<Expr> sizes;
    for (int64_t extent : shape.extents) sizes.push_back(tensor::imm(extent));
    Buffer buffer = tensor::buffer(stage.name, stage.stage.output->element, std::move(sizes), scope_of(stage),
                                   std::move(shape.layout));
    storage_[stage.stage.output.get()] = {buffer, stage.origin, shape.tile};
  }

  // The guards that lowering keeps.
  std::vector<Expr> guards_of(const StageState& stage) const {
    const bool reaches_over = stage.place == StageState::Place::kAt && shapes_.vectorized_axis(stage) >= 0;
    std::vector<Expr> guards;
    if (stage.tensor || folds_lanes(stage)) return guards;  // terms beyond the last are zeros; of stores
    for (const Expr& guard : stage.guards)
      if (!reaches_over || !is_of_last_lanes(stage, guard)) guards.push_back(guard);
    for (size_t n = 0; n < stage.loops.size(); ++n)
      if (const Loop* threads = threads_of(stage, n);
          threads && !tensor::same(threads->extent, stage.loops[n].extent))
        guards.push_back(stage.loop_vars[n] < stage.loops[n].extent.expr());
    return guards;
  }

  // Whether the guard only keeps lanes of a vector from what lies behind the region, not from what another thread computes.
  bool is_of_last_lanes(const StageState& stage, const Expr& guard) const {
    if (!analysis::uses(guard, stage.loop_vars.back().get())) return false;
    const Expr& along = stage.axis_values[static_cast<size_t>(shapes_.vectorized_axis(stage))];
    for (size_t n = 0; n < stage.loops.size(); ++n)
      if (const tensor::VarNode* var = stage.loop_vars[n].get();
          schedule::is_thread(stage.loops[n].annotation) && analysis::uses(along, var) &&
          !analysis::uses(guard, var))
        return false;
    return true;
  }

  // Of a thread loop inside another stage: the loop over all threads of that axis, which it runs over.
  const Loop* threads_of(const StageState& stage, size_t n) const {
    if (!schedule::is_thread(stage.loops[n].annotation)) return nullptr;
    const Loop* threads = nullptr;
    const StageState* at = &stage;
    while (const auto around = data_.thread_around(*at, stage.loops[n].annotation)) {
      threads = &around->stage->loops[static_cast<size_t>(around->loop)];
      at = around->stage;
    }
    return threads;
  }

  // Which threads compute what a block shares: of those around that none of the stage's loops runs over, the first. Null: all.
  Expr first_threads(const StageState& stage) const {
    Expr first;
    if (stage.place != StageState::Place::kAt || stage.scope != ir::Scope::kShared) return first;
    for (const Annotation axis : {Annotation::kThreadX, Annotation::kThreadY, Annotation::kThreadZ}) {
      const auto around = data_.thread_around(stage, axis);
      if (!around || std::ranges::count(stage.loops, axis, &Loop::annotation) != 0) continue;
      const Expr is_first = around->stage->loop_vars[static_cast<size_t>(around->loop)] < tensor::imm(1);
      first = first ? tensor::logical_and(first, is_first) : is_first;
    }
    return first;
  }

  // Registers are a worker's own: a region that a parallel loop inside reads lives in memory.
  ir::Scope scope_of(const StageState& stage) const {
    if (stage.place != StageState::Place::kAt) return stage.scope;
    const StageState* consumer = data_.find_stage(stage.consumer);
    const auto from = static_cast<size_t>(consumer->find_loop(stage.consumer_loop)) + 1;
    for (size_t i = from; i < consumer->loops.size(); ++i)
      if (consumer->loops[i].annotation == Annotation::kParallel) return ir::Scope::kGlobal;
    return stage.scope;
  }

  // The stage's loops, then `rest`, within its buffer's life.
  Stmt with_stage(const StageState& stage, const Stmt& rest) const {
    Stmt body = ir::seq({nest(stage), rest});
    if (data_.is_output(stage)) return body;
    return ir::make_stmt<ir::Allocate>(storage_.at(stage.stage.output.get()).buffer, body);
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
        body = ir::seq({published(attached), ir::make_stmt<ir::Barrier>(), body});
      shared = shared || it->scope == ir::Scope::kShared;
      body = with_stage(*it, body);
    }
    return shared ? ir::seq({ir::make_stmt<ir::Barrier>(), body}) : body;
  }

  // Whose matrix instructions read one of these from shared memory by themselves; null: none.
  const tensor_units::TensorUnit* reading_unit(const std::vector<const StageState*>& stages) const {
    for (const StageState* stage : stages)
      for (const StageState* reader : data_.readers(stage->stage.output.get()))
        if (reader->tensor && reader->tensor->unit->reads_shared) return reader->tensor->unit;
    return nullptr;
  }

  // Before a barrier: what a thread has written of factors that matrix instructions read by themselves.
  Stmt published(const std::vector<const StageState*>& stages) const {
    const tensor_units::TensorUnit* unit = reading_unit(stages);
    if (!unit) return ir::seq({});
    return ir::make_stmt<ir::MatrixOp>(unit, ir::MatrixAction::kPublish, std::vector<ir::MatrixTile>());
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

  // Whether the multiplications of an iteration of a pipeline run on in the next one, which then begins with their tile still
  // being read.
  bool multiplies_on(const StageState& stage) const {
    return stage.tensor && stage.tensor->unit->reads_shared && !(stage.pipeline_stages < 3) &&
           stage.find_loop(stage.pipelined_loop) >= 0 &&
           stage.find_loop(stage.pipelined_loop) == data_.deepest_held_loop(stage);
  }

  // How many iterations ahead a pipeline copies: all tiles but that which is read, or those which are.
  int64_t distance_of(const StageState& stage) const {
    return stage.pipeline_stages - (multiplies_on(stage) ? 2 : 1);
  }

  // In iteration k of a pipeline: what is read in it has arrived, for all threads; the tile is overwritten that was read in
  // iteration k - 1, or k - 2 where multiplications run on.
  Stmt with_copies_ahead(const StageState& stage, const Loop& loop,
                         const std::vector<const StageState*>& copies, Stmt body) const {
    const int64_t distance = distance_of(stage);
    const Expr ahead = stage.loop_vars[pipelined_loop(stage)] + distance;
    const bool by_threads =
        std::ranges::any_of(copies, [&](const StageState* copy) { return !is_in_bulk(*copy); });
    const Stmt begin = ir::seq({ir::make_stmt<ir::AsyncWait>(static_cast<int>(distance) - 1),
                                by_threads ? published(copies) : ir::seq({}), ir::make_stmt<ir::Barrier>()});
    const Stmt copied = ir::make_stmt<ir::If>(ahead < loop.extent.expr(), copies_of(stage, copies, ahead));
    // Copies between multiplications and their wait: elsewhere ptxas would have the multiplications wait for each other.
    return multiplies_on(stage)
               ? ir::seq({begin, std::move(body), copied, meeting(stage, ir::MatrixAction::kWait, 1)})
               : ir::seq({begin, copied, std::move(body)});
  }

  // The rings, and the copies for the first iterations, a group each; the last group ends in the loop.
  Stmt with_rings(const StageState& stage, const Loop& loop, const std::vector<const StageState*>& copies,
                  Stmt pipeline) const {
    const int64_t distance = distance_of(stage);
    std::vector<Stmt> all = {ir::make_stmt<ir::Barrier>()};
    // What threads did before with that memory comes before what a copy engine does.
    if (std::ranges::any_of(copies, [&](const StageState* copy) { return is_in_bulk(*copy); }))
      all.insert(all.begin(), published(copies));
    for (int64_t k = 0; k < distance; ++k) {
      if (k > 0) all.push_back(ir::make_stmt<ir::AsyncWait>(static_cast<int>(distance)));
      const Expr first = tensor::imm(k);
      all.push_back(ir::make_stmt<ir::If>(first < loop.extent.expr(), copies_of(stage, copies, first)));
    }
    all.push_back(std::move(pipeline));
    if (multiplies_on(stage)) all.push_back(meeting(stage, ir::MatrixAction::kWait, 0));
    Stmt body = ir::seq(std::move(all));
    for (const StageState* copy : copies)
      body = ir::make_stmt<ir::Allocate>(storage_.at(copy->stage.output.get()).buffer, body);
    return body;
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
    if (stage.is_factor && stage.scope == ir::Scope::kFragment) return filled_fragment(stage);
    if (is_in_bulk(stage)) return copied_in_bulk(stage);
    const std::vector<Annotation> annotations = with_automatic_unrolling(stage);
    const Expr first = folds_lanes(stage) ? Expr() : first_threads(stage);  // of a fold, only stores
    Stmt body = within_parting_guards(stage, first, false,
                                      stage.tensor         ? multiply(stage)
                                      : folds_lanes(stage) ? fold(stage)
                                                           : update(stage));
    // A matrix instruction stands for the three innermost loops.
    const int count = static_cast<int>(stage.loops.size()) - (stage.tensor ? 3 : 0);
    int first_reduce = count;
    for (int i = count - 1; i >= 0; --i)
      if (stage.loops[static_cast<size_t>(i)].reduce && !stage.tensor) first_reduce = i;
    for (int i = count - 1; i >= 0; --i) {
      const auto n = static_cast<size_t>(i);
      if (i == data_.deepest_held_loop(stage)) body = waited_for(stage, body);
      body = with_attached(stage, stage.loops[n], body);
      for (const Expr& guard : guards_of(stage)) {
        if (parts_threads(stage, guard)) continue;
        if (deepest_loop(stage, guard) == i)
          body = ir::make_stmt<ir::If>(guard, body);
        else if (held_guard_loop(stage, guard) == i)
          body = ir::make_stmt<ir::If>(at_first_iterations(stage, guard, i), body);
      }
      const std::vector<const StageState*> copies = shapes_.copies_ahead(stage, stage.loops[n]);
      if (!copies.empty()) body = with_copies_ahead(stage, stage.loops[n], copies, body);
      body = loop_over(stage, n, annotations[n], body);
      if (i == count - 1) body = within_parting_guards(stage, first, true, body);
      if (!copies.empty()) body = with_rings(stage, stage.loops[n], copies, body);
      if (i == first_reduce && !folds_lanes(stage))
        body = ir::seq({initial(stage, first_reduce, annotations), body});
    }
    if (first && !meets_threads(stage)) body = ir::make_stmt<ir::If>(first, body);
    if (data_.deepest_held_loop(stage) < 0) body = waited_for(stage, body);
    return stage.tensor ? ir::seq({zeros(stage), body}) : body;
  }

  // The parameter that a copy in bulk is made from.
  const Buffer& source_of(const StageState& stage) const {
    return storage_.at(ir::as<ir::Load>(stage.stage.body)->buffer.get()).buffer;
  }

  // Not for threads' own reads: those would need a fence before the next copy, as what threads write does.
  bool is_in_bulk(const StageState& stage) const {
    const StageState* holder = shapes_.pipeline_of(stage);
    return holder && holder->bulk_copies == 1 && reading_unit({&stage}) != nullptr &&
           schedule::is_bulk_copy(data_, stage) &&
           can_copy_in_bulk(source_of(stage), storage_.at(stage.stage.output.get()).buffer);
  }

  Stmt copied_in_bulk(const StageState& stage) const {
    const Storage& storage = storage_.at(stage.stage.output.get());
    return bulk_copies(
        {.source = source_of(stage), .origin = stage.origin, .target = storage.buffer, .tile = storage.tile});
  }

  Stmt fold(const StageState& stage) const {
    const Storage& storage = storage_.at(stage.stage.output.get());
    return folded_over_lanes(stage, with_storage(at_axes(stage, stage.stage.body)), storage.buffer,
                             storage.at(local_indices(stage)), first_threads(stage));
  }

  // Within the guards that part threads, and `first` if it does: those of whole vectors, around them; or else the others, at
  // the update.
  Stmt within_parting_guards(const StageState& stage, const Expr& first, bool around_lanes, Stmt body) const {
    const bool has_lanes =
        !stage.loops.empty() && !stage.tensor && stage.loops.back().annotation == Annotation::kVectorize;
    const auto stands_here = [&](const Expr& guard) {
      return (has_lanes && !analysis::uses(guard, stage.loop_vars.back().get())) == around_lanes;
    };
    for (const Expr& guard : guards_of(stage))
      if (parts_threads(stage, guard) && stands_here(guard)) body = ir::make_stmt<ir::If>(guard, body);
    if (first && meets_threads(stage) && stands_here(first)) body = ir::make_stmt<ir::If>(first, body);
    return body;
  }

  // --- Matrix instructions.
  // The instruction on the tiles that the stage's outer loops stand at.
  Stmt multiply(const StageState& stage) const {
    const schedule::TensorProduct& product = *stage.tensor;
    tensor::Substitution first;
    for (size_t i = stage.loops.size() - 3; i < stage.loops.size(); ++i)
      first[stage.loop_vars[i].get()] = tensor::imm(0);
    std::vector<Expr> sums = local_indices(stage);
    for (Expr& index : sums) index = tensor::substitute(index, first);
    std::vector<ir::MatrixTile> tiles = {tile_at(storage_.at(stage.stage.output.get()).buffer,
                                                 std::move(sums), product.c_row, product.c_column)};
    const auto add = [&](const std::string& factor, int row, int column) {
      const BufferNode* buffer = data_.find_stage(factor)->stage.output.get();
      tensor::for_each(with_storage(at_axes(stage, stage.stage.body)), [&](const Expr& e) {
        const auto* load = ir::as<ir::Load>(e);
        if (load && load->buffer.same_as(storage_.at(buffer).buffer)) {
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

  Stmt zeros(const StageState& stage) const {
    const schedule::TensorProduct& product = *stage.tensor;
    return over_tiles(
        stage.region, product.unit->c, product.c_row, product.c_column, [&](std::vector<Expr> indices) {
          return ir::make_stmt<ir::MatrixOp>(
              product.unit, ir::MatrixAction::kZero,
              std::vector<ir::MatrixTile>{tile_at(storage_.at(stage.stage.output.get()).buffer,
                                                  std::move(indices), product.c_row, product.c_column)});
        });
  }

  // A fence or a wait of all sums.
  Stmt meeting(const StageState& stage, ir::MatrixAction action, int groups) const {
    const schedule::TensorProduct& product = *stage.tensor;
    const Buffer& sums = storage_.at(stage.stage.output.get()).buffer;
    std::vector<Expr> first(static_cast<size_t>(sums->rank()), tensor::imm(0));
    return ir::make_stmt<ir::MatrixOp>(
        product.unit, action,
        std::vector<ir::MatrixTile>{tile_at(sums, std::move(first), product.c_row, product.c_column)},
        groups);
  }

  // Multiplications that are asynchronous, such that nobody else meets them.
  Stmt waited_for(const StageState& stage, Stmt body) const {
    if (!stage.tensor || !stage.tensor->unit->reads_shared) return body;
    Stmt fenced = ir::seq({meeting(stage, ir::MatrixAction::kFence, 0), std::move(body)});
    return multiplies_on(stage) ? fenced : ir::seq({fenced, meeting(stage, ir::MatrixAction::kWait, 0)});
  }

  // A factor's copy from shared memory.
  Stmt filled_fragment(const StageState& stage) const {
    const schedule::TensorProduct& product = *data_.find_stage(stage.consumer)->tensor;
    const bool is_a = product.a == stage.name;
    const int row = is_a ? product.a_row : product.b_row, column = is_a ? product.a_column : product.b_column;
    return over_tiles(
        stage.region, is_a ? product.unit->a : product.unit->b, row, column, [&](std::vector<Expr> indices) {
          tensor::Substitution places;
          for (size_t d = 0; d < indices.size(); ++d) places[stage.loop_vars[d].get()] = indices[d];
          const Expr source = with_storage(tensor::substitute(at_axes(stage, stage.stage.body), places));
          const auto* load = ir::as<ir::Load>(source);
          const int ring = load->buffer->rank() - stage.stage.output->rank();  // of tiles: one axis more
          return ir::make_stmt<ir::MatrixOp>(
              product.unit, is_a ? ir::MatrixAction::kLoadA : ir::MatrixAction::kLoadB,
              std::vector<ir::MatrixTile>{
                  tile_at(storage_.at(stage.stage.output.get()).buffer, std::move(indices), row, column),
                  tile_at(load->buffer, load->indices, row + ring, column + ring)});
        });
  }

  // Whether matrix instructions or their fragments read it: then what it has beyond its axes is zeros, which add nothing to
  // sums.
  bool is_read_by_fragments(const StageState& stage) const {
    return std::ranges::any_of(data_.readers(stage.stage.output.get()), [](const StageState* reader) {
      return (reader->is_factor && reader->scope == ir::Scope::kFragment) ||
             (reader->tensor && reader->tensor->unit->reads_shared);
    });
  }

  Expr zero_beyond_axes(const StageState& stage, const Expr& value) const {
    Expr inside = tensor::imm({tensor::Element::kBool, 1}, 1);
    const std::vector<Expr> values = stage.absolute_values();
    for (size_t d = 0; d < stage.stage.axes.size(); ++d)
      inside = tensor::logical_and(inside, values[d] < stage.stage.axes[d].extent);
    return tensor::select(inside, value, tensor::imm(value->type(), 0));
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

  // Whether threads meet at barriers inside it.
  bool meets_threads(const StageState& stage) const {
    return std::ranges::any_of(data_.stages, [&](const StageState& other) {
      return (other.scope == ir::Scope::kShared || folds_lanes(other)) &&
             other.place == StageState::Place::kAt && data_.is_inside(other, stage, 0);
    });
  }

  // Whether the guard may differ between threads that meet at barriers inside it: it then stands at the
  // update.
  bool parts_threads(const StageState& stage, const Expr& guard) const {
    const bool meets = meets_threads(stage);
    for (size_t i = 0; meets && i < stage.loops.size(); ++i)
      if (schedule::is_thread(stage.loops[i].annotation) && analysis::uses(guard, stage.loop_vars[i].get()))
        return true;
    return false;
  }

  static int deepest_loop(const StageState& stage, const Expr& expr) {
    int deepest = 0;
    for (size_t i = 0; i < stage.loop_vars.size(); ++i)
      if (analysis::uses(expr, stage.loop_vars[i].get())) deepest = static_cast<int>(i);
    return deepest;
  }

  // Where other stages are computed outside of the guard: the innermost loop around them that the guard moves
  // with, so that they are not computed for iterations of which none counts; -1 if there is none.
  int held_guard_loop(const StageState& stage, const Expr& guard) const {
    const int held = data_.deepest_held_loop(stage);
    if (held >= deepest_loop(stage, guard)) return -1;
    for (int i = held; i >= 0; --i)
      if (analysis::uses(guard, stage.loop_vars[static_cast<size_t>(i)].get()))
        return grows_inside(stage, guard, i) ? i : -1;
    return -1;
  }

  // Whether what the guard bounds grows with each of the loops inside of `loop`: all sums do, but for the remainders of loops
  // that were fused.
  static bool grows_inside(const StageState& stage, const Expr& guard, int loop) {
    bool grows = true;
    tensor::for_each(guard, [&](const Expr& e) {
      const auto* operation = ir::as<ir::Binary>(e);
      if (operation && operation->op == ir::BinaryOp::kFloorMod)
        for (size_t i = static_cast<size_t>(loop) + 1; i < stage.loop_vars.size(); ++i)
          grows = grows && !analysis::uses(e, stage.loop_vars[i].get());
      return grows;
    });
    return grows;
  }

  // Whether any iteration of the loops inside of `loop` counts, of a guard that grows there.
  static Expr at_first_iterations(const StageState& stage, const Expr& guard, int loop) {
    tensor::Substitution first;
    for (size_t i = static_cast<size_t>(loop) + 1; i < stage.loop_vars.size(); ++i)
      first[stage.loop_vars[i].get()] = tensor::imm(0);
    return tensor::substitute(guard, first);
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

  std::vector<Expr> local_indices(const StageState& stage) const {
    return {stage.axis_values.begin(),
            stage.axis_values.begin() + static_cast<std::ptrdiff_t>(stage.origin.size())};
  }

  Stmt update(const StageState& stage) const {
    const tensor::Stage& s = stage.stage;
    Expr value = with_storage(at_axes(stage, s.body));
    if (is_read_by_fragments(stage)) value = zero_beyond_axes(stage, value);
    const Buffer& target = storage_.at(s.output.get()).buffer;
    std::vector<Expr> indices = storage_.at(s.output.get()).at(local_indices(stage));
    if (shapes_.pipeline_of(stage) != nullptr)
      if (Stmt copy = asynchronous(target, indices, value)) return copy;
    if (stage.is_reduction()) value = tensor::combine(*s.combiner, tensor::load(target, indices), value);
    return ir::store(target, std::move(indices), value);
  }

  // The store as an asynchronous copy, if it is of an element as it is, or of zero where conditions do not hold; else null.
  static Stmt asynchronous(const Buffer& target, const std::vector<Expr>& indices, const Expr& value) {
    Expr predicate, element = value;
    while (const auto* choice = ir::as<ir::Select>(element)) {
      if (!is_zero(choice->if_false) || analysis::contains_load(choice->condition)) return nullptr;
      predicate = tensor::both(predicate, choice->condition);
      element = Expr(choice->if_true);
    }
    const auto* load = ir::as<ir::Load>(element);
    if (!load || load->buffer->scope != ir::Scope::kGlobal || load->buffer->element != target->element)
      return nullptr;
    predicate = tensor::both(predicate, load->predicate);
    return ir::make_stmt<ir::AsyncCopy>(target, indices, load->buffer, load->indices, 1, predicate);
  }

  static bool is_zero(const Expr& value) {
    const auto* number = ir::as<ir::FloatImm>(value);
    return number ? number->value == 0 && !std::signbit(number->value) : tensor::as_int(value) == 0;
  }

  // Loads of the workload's tensors become loads of their storage.
  Expr with_storage(const Expr& body) const {
    return tensor::rewrite(body, [&](const Expr& e) -> Expr {
      const auto* load = ir::as<ir::Load>(e);
      if (!load) return e;
      auto found = storage_.find(load->buffer.get());
      TF_CHECK(found != storage_.end()) << load->buffer->name << " is never stored";
      std::vector<Expr> indices;
      for (size_t d = 0; d < load->indices.size(); ++d)
        indices.push_back(load->indices[d] - found->second.origin[d]);
      return tensor::load(found->second.buffer, found->second.at(std::move(indices)), load->predicate);
    });
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
    const Buffer& target = storage_.at(stage.stage.output.get()).buffer;
    Stmt body =
        ir::store(target, std::move(indices), tensor::identity(*stage.stage.combiner, target->element));
    for (const Expr& guard : guards_of(stage))
      if (parts_threads(stage, guard) && deepest_loop(stage, guard) < first_reduce)
        body = ir::make_stmt<ir::If>(guard, body);
    if (const Expr first = first_threads(stage); first && meets_threads(stage))
      body = ir::make_stmt<ir::If>(first, body);
    for (size_t i = stage.loops.size(); i-- > static_cast<size_t>(first_reduce);) {
      if (!vars[i]) continue;
      for (const Expr& guard : guards_of(stage))
        if (deepest_loop(stage, guard) == static_cast<int>(i))
          body = ir::make_stmt<ir::If>(tensor::substitute(guard, fresh), body);
      const auto around = threads_of(stage, i) ? data_.thread_around(stage, annotations[i]) : std::nullopt;
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
  std::map<const BufferNode*, Storage> storage_;
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
