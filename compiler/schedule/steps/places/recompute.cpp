#include <algorithm>

#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Recompute& step) {
  StageState *stage = data.find_stage(step.stage), *reader = data.find_stage(step.reader);
  if (!reader || reader->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (const std::optional<Illegal> reason = check_untouched(data, stage)) return reason;
  const std::vector<const StageState*> readers = data.readers(stage->stage.output.get());
  if (std::ranges::count(readers, reader) == 0 || (readers.size() == 1 && !data.is_output(*stage)))
    return Illegal::kNoConsumer;

  StageState again;
  again.name = fresh_stage_name(data, stage->name + ".again");
  again.stage = with_fresh_axes(stage->stage);
  const tensor::Buffer& output = stage->stage.output;
  again.stage.output = tensor::buffer(again.name, output->element, output->extents);
  reset_loops(again);
  reader->stage.body =
      replace_loads(reader->stage.body, output.get(), [&](const tensor::Load& load) -> tensor::Expr {
        return tensor::load(again.stage.output, load.indices, load.predicate);
      });
  data.stages.insert(data.stages.begin() + (stage - data.stages.data()) + 1, std::move(again));
  return std::nullopt;
}

}  // namespace tf::schedule
