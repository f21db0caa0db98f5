#include <algorithm>

#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const CacheRead& step) {
  const tensor::Buffer source = data.find_buffer(step.source);
  StageState* reader = data.find_stage(step.reader);
  if (!source || !reader || reader->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (const StageState* stage = data.find_stage(step.source))
    if (stage->place != StageState::Place::kRoot) return Illegal::kAlreadyPlaced;
  if (std::ranges::count(data.readers(source.get()), reader) == 0) return Illegal::kNoConsumer;
  if (auto reason = check_layout(data, step.layout, source->rank())) return reason;
  if (step.scope != tensor::Scope::kGlobal) return Illegal::kBadScope;

  StageState pack;
  pack.name = fresh_stage_name(data, step.source + ".pack");
  pack.stage.output = tensor::buffer(pack.name, source->element, source->extents);
  std::vector<tensor::Expr> indices;
  for (int d = 0; d < source->rank(); ++d) {
    tensor::Var var = tensor::var("i" + std::to_string(d));
    pack.stage.axes.push_back({var, source->extents[static_cast<size_t>(d)]});
    indices.push_back(var);
  }
  pack.stage.body = tensor::load(source, std::move(indices));
  reset_loops(pack);
  reader->stage.body =
      replace_loads(reader->stage.body, source.get(), [&](const tensor::Load& load) -> tensor::Expr {
        return tensor::load(pack.stage.output, load.indices, load.predicate);
      });
  if (step.layout != OpenLayout()) data.layouts[pack.name] = step.layout;
  data.stages.insert(data.stages.begin() + (reader - data.stages.data()), std::move(pack));
  return std::nullopt;
}

}  // namespace tf::schedule
