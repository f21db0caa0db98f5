#include "compiler/passes/loops/copies_ahead.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/analysis/access.h"
#include "compiler/passes/loops/bulk_copies.h"
#include "compiler/schedule/bulk_copy.h"

namespace tf::passes {

using ir::Expr;
using ir::Stmt;
using schedule::StageState;

namespace {

bool is_zero_value(const Expr& value) {
  const auto* number = ir::as<ir::FloatImm>(value);
  return number ? number->value == 0 && !std::signbit(number->value) : tensor::as_int(value) == 0;
}

}  // namespace

// How many iterations ahead a pipeline copies: all tiles but that which is read, or those which are.
int64_t CopiesAhead::distance_of(const StageState& stage) const {
  return stage.pipeline_stages - (matrices_.multiplies_on(stage) ? 2 : 1);
}

Stmt CopiesAhead::with_copies_ahead(const PipelinedLoop& pipeline, Stmt body) const {
  const auto& [stage, loop, copies, copies_of] = pipeline;
  const int64_t distance = distance_of(stage);
  const Expr ahead = stage.loop_vars[pipelined_loop(stage)] + distance;
  const bool by_threads =
      std::ranges::any_of(copies, [&](const StageState* copy) { return !is_in_bulk(*copy); });
  const Stmt begin =
      ir::seq({ir::make_stmt<ir::AsyncWait>(static_cast<int>(distance) - 1),
               by_threads ? matrices_.published(copies) : ir::seq({}), ir::make_stmt<ir::Barrier>()});
  const Stmt copied = ir::make_stmt<ir::If>(ahead < loop.extent.expr(), copies_of(ahead));
  // Copies between multiplications and their wait: elsewhere ptxas would have the multiplications wait for each other.
  return matrices_.multiplies_on(stage) ? ir::seq({begin, std::move(body), copied, matrices_.wait(stage, 1)})
                                        : ir::seq({begin, copied, std::move(body)});
}

Stmt CopiesAhead::with_rings(const PipelinedLoop& pipeline, Stmt iterations) const {
  const auto& [stage, loop, copies, copies_of] = pipeline;
  const int64_t distance = distance_of(stage);
  std::vector<Stmt> all = {ir::make_stmt<ir::Barrier>()};
  // What threads did before with that memory comes before what a copy engine does.
  if (std::ranges::any_of(copies, [&](const StageState* copy) { return is_in_bulk(*copy); }))
    all.insert(all.begin(), matrices_.published(copies));
  for (int64_t k = 0; k < distance; ++k) {
    if (k > 0) all.push_back(ir::make_stmt<ir::AsyncWait>(static_cast<int>(distance)));
    const Expr first = tensor::imm(k);
    all.push_back(ir::make_stmt<ir::If>(first < loop.extent.expr(), copies_of(first)));
  }
  all.push_back(std::move(iterations));
  if (matrices_.multiplies_on(stage)) all.push_back(matrices_.wait(stage, 0));
  Stmt body = ir::seq(std::move(all));
  for (const StageState* copy : copies) body = ir::make_stmt<ir::Allocate>(storage_.of(*copy).buffer, body);
  return body;
}

// The parameter that a copy in bulk is made from.
const ir::Buffer& CopiesAhead::source_of(const StageState& stage) const {
  return storage_.of(ir::as<ir::Load>(stage.stage.body)->buffer.get()).buffer;
}

bool CopiesAhead::is_in_bulk(const StageState& stage) const {
  const StageState* holder = shapes_.pipeline_of(stage);
  return holder && holder->bulk_copies == 1 && matrices_.reading_unit({&stage}) != nullptr &&
         schedule::is_bulk_copy(data_, stage) &&
         can_copy_in_bulk(source_of(stage), storage_.of(stage).buffer);
}

Stmt CopiesAhead::copied_in_bulk(const StageState& stage) const {
  const Storage& storage = storage_.of(stage);
  return bulk_copies(
      {.source = source_of(stage), .origin = stage.origin, .target = storage.buffer, .tile = storage.tile});
}

Stmt asynchronous_copy(const ir::Buffer& target, const std::vector<Expr>& indices, const Expr& value) {
  Expr predicate, element = value;
  while (const auto* choice = ir::as<ir::Select>(element)) {
    if (!is_zero_value(choice->if_false) || analysis::contains_load(choice->condition)) return nullptr;
    predicate = tensor::both(predicate, choice->condition);
    element = Expr(choice->if_true);
  }
  const auto* load = ir::as<ir::Load>(element);
  if (!load || load->buffer->scope != ir::Scope::kGlobal || load->buffer->element != target->element)
    return nullptr;
  predicate = tensor::both(predicate, load->predicate);
  return ir::make_stmt<ir::AsyncCopy>(target, indices, load->buffer, load->indices, 1, predicate);
}

}  // namespace tf::passes
