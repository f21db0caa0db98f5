#include <algorithm>

#include "compiler/schedule/needed_region.h"
#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

bool has_workers(const StageState& stage) {
  return std::ranges::any_of(stage.loops, [](const Loop& loop) {
    return loop.annotation == Annotation::kParallel || is_grid(loop.annotation) || is_thread(loop.annotation);
  });
}

bool fits(StateData& data, const Region& region, tensor::Element element, tensor::Scope scope,
          int64_t lanes) {
  if (scope == tensor::Scope::kGlobal) return true;
  // A fragment lies in the registers of its lanes.
  const int64_t most = scope == tensor::Scope::kRegister   ? kMaxRegisterBytes
                       : scope == tensor::Scope::kFragment ? lanes * kMaxFragmentBytes
                                                           : kMaxSharedBytes;
  SymInt bytes = tensor::element_bytes(element);
  for (const SymInt& extent : region.extents) {
    bytes *= extent;
    if (!bytes.is_open() && bytes > most) return false;  // before it can overflow
  }
  return data.require(tensor::less_equal(bytes, most));
}

// Of a loop, or one around it, over the lanes of a warp or of four: how many there are; 0: it is none.
int64_t lanes_around(StateData& data, const StageState& consumer, int loop) {
  std::optional<SymInt> lanes;
  for (int i = 0; i <= loop; ++i)
    if (const Loop& at = consumer.loops[static_cast<size_t>(i)]; at.annotation == Annotation::kThreadX)
      lanes = at.extent;
  if (const auto around = data.thread_around(consumer, Annotation::kThreadX); !lanes && around)
    lanes = around->stage->loops[static_cast<size_t>(around->loop)].extent;
  for (const int64_t count : {1, 4})
    if (lanes && (count == 1 || !lanes->is_open()) &&
        (lanes->is_open() || *lanes == count * tensor_units::kLanes) &&
        data.require(tensor::equal(lanes->expr(), tensor::imm(count * tensor_units::kLanes))))
      return count * tensor_units::kLanes;
  return 0;
}

}  // namespace

std::optional<Illegal> apply_step(StateData& data, const ComputeAt& step) {
  StageState* stage = data.find_stage(step.stage);
  const StageState* consumer = data.find_stage(step.consumer);
  if (!stage || !consumer || consumer->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (stage->place != StageState::Place::kRoot) return Illegal::kAlreadyPlaced;
  if (data.is_output(*stage)) return Illegal::kIsOutput;
  if (stage->reshaped) return Illegal::kAlreadySplit;
  if (consumer <= stage) return Illegal::kCyclicConsumer;  // stages stand in topological order
  const int loop = consumer->find_loop(step.loop);
  if (loop < 0) return Illegal::kUnknownLoop;
  if (consumer->loops[static_cast<size_t>(loop)].annotation == Annotation::kVectorize)
    return Illegal::kNotInnermost;
  const bool has_raster = consumer->raster_group.is_open() || consumer->raster_group != 1;
  if (has_raster && is_between_grid_loops(*consumer, loop)) return Illegal::kInRaster;
  if (data.deepest_held_loop(*stage) >= 0) return Illegal::kHoldsStages;
  if (has_workers(*stage)) return Illegal::kNestedParallel;

  const std::vector<const StageState*> readers = data.readers(stage->stage.output.get());
  if (readers.empty()) return Illegal::kNoConsumer;
  for (const StageState* reader : readers)
    if (reader != consumer && !data.is_inside(*reader, *consumer, loop)) return Illegal::kNoConsumer;

  const int64_t lanes = step.scope == tensor::Scope::kFragment ? lanes_around(data, *consumer, loop) : 0;
  if (step.scope == tensor::Scope::kFragment && lanes == 0) return Illegal::kBadScope;
  Region region = needed_region(data, *stage, *consumer, loop, step.scope);
  if (!fits(data, region, stage->stage.output->element, step.scope, lanes)) return Illegal::kBadScope;
  // It joins a pipeline that is there.
  const bool is_copied_ahead = consumer->pipelined_loop == step.loop &&
                               step.scope == tensor::Scope::kShared && !stage->is_reduction() &&
                               !data.reads_placed(*stage);
  if (is_copied_ahead) {
    const SymInt bytes = region_bytes(region.extents, stage->stage.output->element);
    if (!data.require(tensor::less_equal(
            (copied_bytes(data, *consumer, step.loop) + bytes) * consumer->pipeline_stages, kMaxSharedBytes)))
      return Illegal::kSharedBytes;
  }
  stage->place = StageState::Place::kAt;
  stage->consumer = step.consumer;
  stage->consumer_loop = step.loop;
  stage->scope = step.scope;
  const std::vector<Loop> old = stage->loops;
  reset_loops(*stage, std::move(region.origin), std::move(region.extents));
  for (size_t d = 0; d < region.runs.size(); ++d) {
    const Runs& runs = region.runs[d];
    if (runs.count == 0 || old[d].annotation == Annotation::kVectorize) continue;
    stage->loops[d].extent = runs.length * runs.count;
    stage->axis_values[d] = runs.place(stage->loop_vars[d]);
  }
  for (size_t i = 0; i < old.size(); ++i) {
    const bool too_long = old[i].annotation == Annotation::kVectorize &&
                          !data.require(tensor::less_equal(stage->loops[i].extent, old[i].extent));
    stage->loops[i].annotation = too_long ? Annotation::kSerial : old[i].annotation;
  }
  return std::nullopt;
}

}  // namespace tf::schedule
