#include <algorithm>

#include "compiler/analysis/access.h"
#include "compiler/schedule/needed_region.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

// A loop of cross_thread.
bool is_of_one_element(const StageState& stage, size_t loop) {
  return std::ranges::none_of(stage.axis_values, [&](const tensor::Expr& value) {
    return analysis::uses(value, stage.loop_vars[loop].get());
  });
}

std::optional<Illegal> check_parallel(const StageState& stage, const Loop& loop) {
  if (loop.reduce) return Illegal::kReductionParallel;
  if (stage.place != StageState::Place::kRoot) return Illegal::kNestedParallel;
  const bool taken = std::ranges::any_of(stage.loops, [&](const Loop& other) {
    return &other != &loop && other.annotation == Annotation::kParallel;
  });
  return taken ? std::optional(Illegal::kNestedParallel) : std::nullopt;
}

// Lanes of a warp have a term each, which shuffles combine: as many as the loop around has threads, all of which take part.
std::optional<Illegal> check_fold(StateData& data, const StageState& stage, int index,
                                  Annotation annotation) {
  const auto around = data.thread_around(stage, Annotation::kThreadX);
  const bool is_one = std::ranges::count(stage.loops, true, &Loop::reduce) == 1;
  if (annotation != Annotation::kThreadX || !around || !is_one ||
      index + 1 != static_cast<int>(stage.loops.size()) || stage.tensor ||
      stage.stage.combiner == tensor::Combiner::kProd ||
      stage.stage.output->element == tensor::Element::kBool || data.deepest_held_loop(stage) >= 0)
    return Illegal::kReductionParallel;
  const SymInt lanes = stage.loops.back().extent;
  SymInt threads = 1;
  for (const Annotation axis : {Annotation::kThreadX, Annotation::kThreadY, Annotation::kThreadZ})
    if (const auto holder = data.thread_around(stage, axis))
      threads *= holder->stage->loops[static_cast<size_t>(holder->loop)].extent;
  bool legal = data.require(tensor::less_equal(2, lanes)) &&
               data.require(tensor::divides(lanes, tensor_units::kLanes)) &&
               data.require(tensor::divides(tensor_units::kLanes, threads)) &&
               data.require(tensor::equal(
                   lanes.expr(), around->stage->loops[static_cast<size_t>(around->loop)].extent.expr()));
  // Of what stands around the fold, too, no thread may stay away.
  for (const StageState* at = &stage; legal && at->place == StageState::Place::kAt;
       at = data.find_stage(at->consumer))
    for (const Loop& each : at->loops)
      if (const auto holder =
              is_thread(each.annotation) ? data.thread_around(*at, each.annotation) : std::nullopt)
        legal = legal && data.require(tensor::equal(
                             each.extent.expr(),
                             holder->stage->loops[static_cast<size_t>(holder->loop)].extent.expr()));
  return legal ? std::nullopt : std::optional(Illegal::kBadFactor);
}

// A stage that is computed inside another shares its threads: the loop runs over those around it, as many as
// it has iterations.
std::optional<Illegal> check_thread(StateData& data, const StageState& stage, int index,
                                    Annotation annotation) {
  const Loop& loop = stage.loops[static_cast<size_t>(index)];
  // A block has as many threads at all sizes.
  if (data.has_dims(loop.extent) &&
      !data.require(tensor::equal(loop.extent.expr(), tensor::imm(data.iterations(loop.extent).max + 1))))
    return Illegal::kBadFactor;
  if (loop.reduce) return check_fold(data, stage, index, annotation);
  if (data.deepest_held_loop(stage) >= index) return Illegal::kHoldsStages;  // of regions for one thread
  if (stage.place != StageState::Place::kAt) return std::nullopt;
  const auto around = data.thread_around(stage, annotation);
  if (!around) return Illegal::kNestedParallel;
  if (stage.scope != tensor::Scope::kShared) return Illegal::kOwnCopies;
  if (loop.annotation != annotation && std::ranges::count(stage.loops, annotation, &Loop::annotation) != 0)
    return Illegal::kNestedParallel;
  const SymInt threads = around->stage->loops[static_cast<size_t>(around->loop)].extent;
  return data.require(tensor::less_equal(loop.extent, threads)) ? std::nullopt
                                                                : std::optional(Illegal::kBadFactor);
}

}  // namespace

std::optional<Illegal> apply_step(StateData& data, const Annotate& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const int index = stage->find_loop(step.loop);
  if (index < 0) return Illegal::kUnknownLoop;
  Loop& loop = stage->loops[static_cast<size_t>(index)];
  if (is_thread(loop.annotation) && data.deepest_held_loop(*stage) >= index) return Illegal::kHoldsStages;
  if (fixes_threads(data, *stage, index)) return Illegal::kFixedThreads;
  if (stage->pipelined_loop == step.loop && step.annotation != Annotation::kSerial)
    return Illegal::kNotPipeline;
  if (folds_lanes(*stage) && !loop.reduce) return Illegal::kFixedThreads;
  switch (step.annotation) {
    case Annotation::kSerial:
      break;
    case Annotation::kParallel:
      if (auto reason = check_parallel(*stage, loop)) return reason;
      break;
    case Annotation::kVectorize:
      // Folding lanes is for combiners that the loop IR has a fold for.
      if (loop.reduce && stage->stage.combiner == tensor::Combiner::kProd) return Illegal::kReductionParallel;
      if (index + 1 != static_cast<int>(stage->loops.size())) return Illegal::kNotInnermost;
      if (data.deepest_held_loop(*stage) >= index) return Illegal::kHoldsStages;
      if (is_of_one_element(*stage, static_cast<size_t>(index))) return Illegal::kOneStores;
      if (!data.require(tensor::less_equal(loop.extent, kMaxVectorLanes))) return Illegal::kVectorExtent;
      break;
    case Annotation::kUnroll:
      if (!data.require(tensor::less_equal(loop.extent, kMaxUnrollExtent))) return Illegal::kBadFactor;
      break;
    case Annotation::kGridX:
    case Annotation::kGridY:
    case Annotation::kGridZ:
      if (loop.reduce) return Illegal::kReductionParallel;
      if (stage->place != StageState::Place::kRoot) return Illegal::kNestedParallel;
      break;
    case Annotation::kThreadX:
    case Annotation::kThreadY:
    case Annotation::kThreadZ:
      if (auto reason = check_thread(data, *stage, index, step.annotation)) return reason;
      break;
  }
  loop.annotation = step.annotation;
  return std::nullopt;
}

}  // namespace tf::schedule
