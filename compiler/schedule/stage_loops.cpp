#include "compiler/schedule/stage_loops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

using tensor::Expr;

bool is_between_grid_loops(const StageState& stage, int loop) {
  const auto position = [&](Annotation annotation) {
    return std::ranges::find(stage.loops, annotation, &Loop::annotation) - stage.loops.begin();
  };
  const auto x = position(Annotation::kGridX), y = position(Annotation::kGridY);
  return std::min(x, y) <= loop && loop < std::max(x, y);
}

SymInt region_bytes(const std::vector<SymInt>& region, tensor::Element element) {
  SymInt bytes = tensor::element_bytes(element);
  for (const SymInt& extent : region) bytes *= extent;
  return bytes;
}

SymInt copied_bytes(const StateData& data, const StageState& holder, std::string_view loop) {
  SymInt bytes = 0;  // compute_at saw to it that these are few
  for (const StageState* copy : data.copied_in(holder, loop))
    bytes = bytes + region_bytes(copy->region, copy->stage.output->element);
  return bytes;
}

SymInt extent_of_axis(const tensor::Axis& axis) {
  return SymInt(axis.extent);
}

int64_t greatest_part(const StateData& data, const tensor::Stage& reduction) {
  SymInt terms = 1;
  for (const tensor::Axis& axis : reduction.reduce_axes) terms *= extent_of_axis(axis);
  return std::clamp(data.iterations(terms).max + 1, kMaxPaddedPart, kMaxSplitFactor);
}

int64_t constant_extent(const tensor::Axis& axis) {
  const std::optional<int64_t> extent = tensor::as_int(axis.extent);
  TF_CHECK(extent) << "axis " << axis.var->name << " is not bound";
  return *extent;
}

void reset_loops(StageState& stage, std::vector<Expr> origin, std::vector<SymInt> region) {
  const tensor::Stage& s = stage.stage;
  if (region.empty()) {
    origin.assign(s.axes.size(), tensor::imm(0));
    for (const tensor::Axis& axis : s.axes) region.push_back(extent_of_axis(axis));
  }
  stage.loops.clear();
  stage.loop_vars.clear();
  stage.axis_values.clear();
  stage.guards.clear();
  auto add = [&](std::string name, const SymInt& extent, bool reduce) {
    stage.loop_vars.push_back(tensor::var(name));
    stage.axis_values.push_back(stage.loop_vars.back());
    stage.loops.push_back({std::move(name), extent, reduce, Annotation::kSerial});
  };
  for (size_t i = 0; i < s.axes.size(); ++i) add(absl::StrCat("i", i), region[i], false);
  for (size_t i = 0; i < s.reduce_axes.size(); ++i)
    add(absl::StrCat("r", i), extent_of_axis(s.reduce_axes[i]), true);
  stage.origin = std::move(origin);
  stage.region = std::move(region);
  stage.reshaped = false;
}

void replace_loops(StageState& stage, int first, int count, const std::vector<Loop>& loops,
                   const std::vector<tensor::Var>& vars, const std::vector<Expr>& values) {
  tensor::Substitution map;
  for (int i = 0; i < count; ++i)
    map[stage.loop_vars[static_cast<size_t>(first + i)].get()] = values[static_cast<size_t>(i)];
  for (Expr& value : stage.axis_values) value = tensor::substitute(value, map);
  for (Expr& guard : stage.guards) guard = tensor::substitute(guard, map);
  stage.loops.erase(stage.loops.begin() + first, stage.loops.begin() + first + count);
  stage.loop_vars.erase(stage.loop_vars.begin() + first, stage.loop_vars.begin() + first + count);
  stage.loops.insert(stage.loops.begin() + first, loops.begin(), loops.end());
  stage.loop_vars.insert(stage.loop_vars.begin() + first, vars.begin(), vars.end());
  stage.reshaped = true;
}

tensor::Stage with_fresh_axes(const tensor::Stage& stage) {
  tensor::Stage copy = stage;
  tensor::Substitution map;
  auto renew = [&](std::vector<tensor::Axis>& axes) {
    for (tensor::Axis& axis : axes) {
      tensor::Var fresh = tensor::var(axis.var->name, axis.var->type());
      map[axis.var.get()] = fresh;
      axis.var = fresh;
    }
  };
  renew(copy.axes);
  renew(copy.reduce_axes);
  copy.body = tensor::substitute(copy.body, map);
  return copy;
}

std::string fresh_stage_name(const StateData& data, const std::string& base) {
  std::string name = base;
  for (int i = 1; data.find_stage(name); ++i) name = absl::StrCat(base, ".", i);
  return name;
}

std::optional<Illegal> check_untouched(const StateData& data, const StageState* stage) {
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (stage->place != StageState::Place::kRoot) return Illegal::kAlreadyPlaced;
  if (stage->reshaped) return Illegal::kAlreadySplit;
  if (data.deepest_held_loop(*stage) >= 0 || data.reads_placed(*stage)) return Illegal::kHoldsStages;
  return std::nullopt;
}

}  // namespace tf::schedule
