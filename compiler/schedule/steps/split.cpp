#include "compiler/schedule/steps/split.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "compiler/schedule/stage_loops.h"

namespace tf::schedule {
namespace {

using tensor::Expr;

// Far more than any loop has, and products of two still fit.
constexpr int64_t kMaxFactor = int64_t{1} << 30;

// The start of tile `outer`: min(outer * tile, last), with the common divisor outside so that alignment
// shows.
Expr shifted_start(const Expr& outer, int64_t tile, int64_t last) {
  const int64_t common = std::gcd(tile, last);
  return tensor::min(outer * (tile / common), tensor::imm(last / common)) * common;
}

}  // namespace

std::optional<Illegal> apply_step(StateData& data, const Split& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const int index = stage->find_loop(step.loop);
  if (index < 0) return Illegal::kUnknownLoop;
  if (data.deepest_held_loop(*stage) >= index) return Illegal::kHoldsStages;
  if (step.factors.empty()) return Illegal::kNoFactors;
  const Loop old = stage->loops[static_cast<size_t>(index)];
  int64_t tile = 1;
  for (const Size& factor : step.factors) {
    if (factor.is_open()) return Illegal::kOpenSize;
    if (factor.value < 1 || factor.value > kMaxFactor || tile > kMaxFactor / factor.value)
      return Illegal::kBadFactor;
    tile *= factor.value;
  }
  const bool divides = old.extent % tile == 0;
  if (step.tail == Tail::kShift && (stage->is_reduction() || old.reduce || old.extent < tile))
    return Illegal::kShiftTail;

  const int64_t outer = (old.extent + tile - 1) / tile;
  std::vector<Loop> loops;
  std::vector<tensor::Var> vars;
  Expr value;
  int64_t unit = tile;
  for (size_t i = 0; i <= step.factors.size(); ++i) {
    const int64_t extent = i == 0 ? outer : step.factors[i - 1].value;
    if (i > 0) unit /= extent;
    loops.push_back({absl::StrCat(old.name, ".", i), extent, old.reduce, Annotation::kSerial});
    vars.push_back(tensor::var(loops.back().name));
    Expr part = vars.back() * unit;
    if (i == 0 && step.tail == Tail::kShift && !divides)
      part = shifted_start(vars.back(), tile, old.extent - tile);
    value = i == 0 ? part : value + part;
  }
  replace_loops(*stage, index, 1, loops, vars, {value});
  if (!divides && step.tail == Tail::kGuard) stage->guards.push_back(value < tensor::imm(old.extent));
  return std::nullopt;
}

}  // namespace tf::schedule
