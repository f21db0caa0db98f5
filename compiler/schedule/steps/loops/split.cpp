#include <numeric>

#include "absl/strings/str_cat.h"
#include "compiler/schedule/needed_region.h"
#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

using tensor::Expr;

// The start of tile `outer`: min(outer * tile, last), with the common divisor outside so that alignment
// shows.
Expr shifted_start(const Expr& outer, const SymInt& tile, const SymInt& last) {
  if (tile.is_open() || last.is_open()) return tensor::min(outer * tile.expr(), last.expr());
  const int64_t length = tile, end = last, common = std::gcd(length, end);
  return tensor::min(outer * (length / common), tensor::imm(end / common)) * common;
}

// The factors and, last, their product.
std::optional<Illegal> read_factors(StateData& data, const Split& step, std::vector<SymInt>& factors,
                                    SymInt& tile) {
  for (const Size& size : step.factors) {
    const std::optional<SymInt> factor = data.value_of(size);
    if (!factor) return Illegal::kOpenSize;
    if (!data.require(tensor::less_equal(1, *factor)) ||
        !data.require(tensor::less_equal(*factor, kMaxSplitFactor)) ||
        !data.require(tensor::less_equal(tile * *factor, kMaxSplitFactor)))
      return Illegal::kBadFactor;
    tile *= *factor;
    factors.push_back(*factor);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Illegal> apply_step(StateData& data, const Split& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const int index = stage->find_loop(step.loop);
  if (index < 0) return Illegal::kUnknownLoop;
  if (data.deepest_held_loop(*stage) >= index) return Illegal::kHoldsStages;
  if (fixes_threads(data, *stage, index)) return Illegal::kFixedThreads;
  if (step.factors.empty()) return Illegal::kNoFactors;
  const Loop old = stage->loops[static_cast<size_t>(index)];
  std::vector<SymInt> factors;
  SymInt tile = 1;
  if (auto reason = read_factors(data, step, factors, tile)) return reason;
  const Expr divides = tensor::divides(tile, old.extent);
  // Where named dimensions say how far the loop goes, it may be shorter than a tile.
  const Tail tail = data.has_dims(old.extent) ? Tail::kGuard : step.tail;
  if (tail == Tail::kShift &&
      (stage->is_reduction() || old.reduce || !data.require(tensor::less_equal(tile, old.extent))))
    return Illegal::kShiftTail;

  const size_t pieces = factors.size() + 1;
  std::vector<SymInt> units(pieces, 1);  // how far one turn of each loop goes
  for (size_t i = pieces - 1; i > 0; --i) units[i - 1] = units[i] * factors[i - 1];
  std::vector<Loop> loops;
  std::vector<tensor::Var> vars;
  Expr value;
  for (size_t i = 0; i < pieces; ++i) {
    const SymInt extent = i == 0 ? ceil_div(old.extent, tile) : factors[i - 1];
    loops.push_back({absl::StrCat(old.name, ".", i), extent, old.reduce, Annotation::kSerial});
    vars.push_back(tensor::var(loops.back().name));
    Expr part = vars.back() * units[i].expr();
    if (i == 0 && tail == Tail::kShift && tensor::as_int(divides) != 1)
      part = shifted_start(vars.back(), tile, old.extent - tile);
    value = i == 0 ? part : value + part;
  }
  replace_loops(*stage, index, 1, loops, vars, {value});
  if (tail == Tail::kGuard && tensor::as_int(divides) != 1) {
    const Expr inside = value < old.extent.expr();
    stage->guards.push_back(data.has_dims(old.extent) ? inside : tensor::logical_or(divides, inside));
  }
  return std::nullopt;
}

}  // namespace tf::schedule
