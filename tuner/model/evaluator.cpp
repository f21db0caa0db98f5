#include "tuner/model/evaluator.h"

#include "tuner/model/draft.h"

namespace tf::model {

struct Evaluator::Prefix {
  size_t steps = 0;  // how many leading steps it has taken
  schedule::State state;
};

namespace {

bool has_open_size(const schedule::Step& step) {
  if (const auto* split = std::get_if<schedule::Split>(&step)) {
    for (const schedule::Size& factor : split->factors) {
      if (factor.is_open()) return true;
    }
  }
  if (const auto* align = std::get_if<schedule::StorageAlign>(&step)) {
    return align->factor.is_open() || align->offset.is_open();
  }
  if (const auto* pragma = std::get_if<schedule::Pragma>(&step)) return pragma->value.is_open();
  return false;
}

}  // namespace

Evaluator::Evaluator(const space::DesignSpace& space, const target::Target& target, int threads)
    : space_(space), target_(target), threads_(threads) {
  for (const space::Sketch& sketch : space.sketches) {
    auto prefix = std::make_shared<Prefix>(Prefix{0, schedule::State(*sketch.workload)});
    for (const schedule::Step& step : sketch.steps.steps) {
      if (has_open_size(step) || prefix->state.apply(step)) break;
      ++prefix->steps;
    }
    prefixes_.push_back(std::move(prefix));
  }
}

std::optional<Judgement> Evaluator::judge(const space::Candidate& candidate) const {
  const schedule::Schedule schedule = space_.schedule_of(candidate);
  const Prefix& prefix = *prefixes_[static_cast<size_t>(candidate.sketch)];
  schedule::State state = prefix.state;
  for (size_t i = prefix.steps; i < schedule.steps.size(); ++i) {
    if (state.apply(schedule.steps[i])) return std::nullopt;
  }
  const std::vector<Nest> nests = summarize(state, target_.fp32_lanes());
  // Code that unrolls into tens of thousands of instructions takes seconds to compile and is never fast.
  constexpr int64_t kMaxUnrolledBody = 2048;
  for (const Nest& nest : nests) {
    // Accumulators beyond the register file spill in the innermost loop, and take the code generator seconds.
    if (nest.reduce_extent > 1 && nest.tile_vectors > target_.vector.registers) return std::nullopt;
    if (nest.unrolled_body * std::max<int64_t>(1, nest.lanes / target_.fp32_lanes()) > kMaxUnrolledBody)
      return std::nullopt;
  }
  return Judgement{features_of(nests, target_, threads_), draft_seconds(nests, target_, threads_)};
}

}  // namespace tf::model
