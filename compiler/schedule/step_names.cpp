#include "compiler/schedule/step_names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tf::schedule {
namespace {

struct NamesIn {
  StepNames operator()(const Split& s) const { return {.stage = s.stage, .loops = {s.loop}}; }
  StepNames operator()(const Fuse& s) const { return {.stage = s.stage, .loops = s.loops}; }
  StepNames operator()(const Reorder& s) const { return {.stage = s.stage, .loops = s.loops}; }
  StepNames operator()(const Annotate& s) const { return {.stage = s.stage, .loops = {s.loop}}; }
  StepNames operator()(const ComputeAt& s) const {
    return {.stage = s.stage, .other = s.consumer, .loops = {s.loop}, .loops_of_other = true};
  }
  StepNames operator()(const Inline& s) const { return {.stage = s.stage}; }
  StepNames operator()(const Root& s) const { return {.stage = s.stage}; }
  StepNames operator()(const CacheRead& s) const {
    return {.stage = s.source, .other = s.reader, .stage_or_input = true};
  }
  StepNames operator()(const Recompute& s) const { return {.stage = s.stage, .other = s.reader}; }
  StepNames operator()(const CacheWrite& s) const { return {.stage = s.stage}; }
  StepNames operator()(const RFactor& s) const { return {.stage = s.stage, .loops = {s.loop}}; }
  StepNames operator()(const LayoutRewrite& s) const { return {.stage = s.buffer, .stage_or_input = true}; }
  StepNames operator()(const StorageAlign& s) const { return {.stage = s.buffer}; }
  StepNames operator()(const Pragma& s) const { return {.stage = s.stage}; }
  StepNames operator()(const Pipeline& s) const { return {.stage = s.stage, .loops = {s.loop}}; }
  StepNames operator()(const Raster& s) const { return {.stage = s.stage}; }
  StepNames operator()(const CrossThread& s) const { return {.stage = s.stage}; }
  StepNames operator()(const Winograd& s) const { return {.stage = s.stage}; }
  StepNames operator()(const Matrices& s) const { return {.stage = s.stage}; }
  StepNames operator()(const Rescale& s) const { return {.stage = s.result, .other = s.maximum}; }
  StepNames operator()(const Narrow& s) const { return {.stage = s.buffer, .stage_or_input = true}; }
  StepNames operator()(const Tensorize& s) const { return {.stage = s.stage, .loops = {s.loop}}; }
  StepNames operator()(const Offset& s) const {
    return {.stage = s.stage, .other = s.factor, .other_or_input = true};
  }
};

}  // namespace

StepNames names_in(const Step& step) {
  return std::visit(NamesIn{}, step);
}

std::string extent_text(const SymInt& extent) {
  return extent.is_open() ? "open" : absl::StrCat(static_cast<int64_t>(extent));
}

std::string loops_text(const StageState& stage) {
  return absl::StrJoin(stage.loops, ", ", [](std::string* out, const Loop& loop) {
    absl::StrAppend(out, loop.name, " (extent ", extent_text(loop.extent), ")");
  });
}

std::string stages_text(const StateData& data, bool inputs) {
  std::vector<std::string> names;
  for (size_t i = 0; inputs && i < data.workload.inputs.size(); ++i) names.push_back(absl::StrCat("p", i));
  for (const StageState& stage : data.stages)
    if (stage.place != StageState::Place::kInlined) names.push_back(stage.name);
  return absl::StrJoin(names, ", ");
}

std::string place_text(const StageState& stage) {
  return absl::StrCat(stage.name, " is computed inside loop ", stage.consumer_loop, " of ", stage.consumer);
}

}  // namespace tf::schedule
