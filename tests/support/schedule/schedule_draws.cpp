#include "tests/support/schedule/schedule_draws.h"

#include <utility>

namespace tf::test {

using tensor::Scope;

tensor::Layout random_layout(int rank, Draws& draws) {
  tensor::Layout layout;
  if (rank == 0 || draws.one_in(3)) return layout;
  for (int d = 0; d < rank; ++d) layout.axes.push_back({d, 0});
  if (draws.one_in(2)) draws.shuffle(layout.axes);
  for (int64_t blocks = draws.below(3); blocks > 0; --blocks)
    layout.axes.push_back({static_cast<int>(draws.below(rank)), 2 + draws.below(4)});
  return layout;
}

std::optional<schedule::Step> ScheduleDraws::step() {
  const StageState& stage = draws_.of(state_.stages());
  if (stage.loops.empty()) return schedule::Inline{stage.name};
  const std::string loop = draws_.of(stage.loops).name;
  const std::vector<Scope> scopes = {Scope::kGlobal, Scope::kRegister};
  switch (draws_.below(21)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return split(stage.name, loop, draws_.one_in(3) ? schedule::Tail::kShift : schedule::Tail::kGuard);
    case 4:
      return fuse(stage);
    case 5:
    case 6:
      return reorder(stage);
    case 7:
      return schedule::Annotate{stage.name, loop,
                                draws_.one_in(2) ? Annotation::kUnroll : Annotation::kParallel};
    case 8:
    case 9:
      return schedule::Annotate{stage.name, stage.loops.back().name, Annotation::kVectorize};
    case 10:
    case 11:
    case 12:
      return compute_at(stage.name, scopes);
    case 13:
      return schedule::Inline{stage.name};
    case 14:
      return draws_.one_in(3) ? Step(schedule::Root{stage.name}) : compute_at(stage.name, scopes);
    case 15:
      return cache_read(stage.name);
    case 16:
      return schedule::CacheWrite{stage.name};
    case 17:
      return schedule::RFactor{stage.name, loop};
    case 18:
      return layout();
    case 19:
      return narrow();
    default:
      return pragma_or_align(stage);
  }
}

// No tails that shift: two threads then store one element.
std::optional<schedule::Step> ScheduleDraws::gpu_step() {
  const StageState& stage = draws_.of(state_.stages());
  if (stage.loops.empty()) return schedule::Inline{stage.name};
  const std::string loop = draws_.of(stage.loops).name;
  const auto axis = [&](Annotation first) {
    return static_cast<Annotation>(static_cast<int>(first) + static_cast<int>(draws_.below(3)));
  };
  switch (draws_.below(22)) {
    case 0:
    case 1:
      return split(stage.name, loop, schedule::Tail::kGuard);
    case 2:
      return fuse(stage);
    case 3:
      return reorder(stage);
    case 4:
      return schedule::Annotate{stage.name, loop,
                                draws_.one_in(2) ? Annotation::kUnroll : Annotation::kSerial};
    case 5:
      return schedule::Annotate{stage.name, stage.loops.back().name, Annotation::kVectorize};
    case 6:
    case 7:
      return schedule::Annotate{stage.name, loop, axis(Annotation::kGridX)};
    case 8:
    case 9:
      return schedule::Annotate{stage.name, loop, axis(Annotation::kThreadX)};
    case 10:
    case 11:
    case 12:
      return compute_at(stage.name, {Scope::kRegister, Scope::kShared, Scope::kShared, Scope::kGlobal});
    case 13:
      return schedule::Inline{stage.name};
    case 14:
      return cache_read(stage.name);
    case 15:
      return schedule::CacheWrite{stage.name};
    case 16:
      return schedule::RFactor{stage.name, loop};
    case 17:
      return schedule::CrossThread{stage.name, axis(Annotation::kThreadX), 1 + draws_.below(8)};
    case 18:
      return layout();
    case 19:
      return pipeline();
    case 20:
      return raster();
    default:
      return pragma_or_align(stage);
  }
}

schedule::Step ScheduleDraws::split(const std::string& stage, const std::string& loop, schedule::Tail tail) {
  schedule::Split step{stage, loop, {1 + draws_.below(6)}, tail};
  if (draws_.one_in(3)) step.factors.push_back(1 + draws_.below(4));
  return step;
}

schedule::Step ScheduleDraws::fuse(const StageState& stage) {
  schedule::Fuse step{stage.name, {}};
  const auto count = static_cast<int64_t>(stage.loops.size());
  const int64_t first = draws_.below(count), last = std::min(count - 1, first + 1 + draws_.below(2));
  for (int64_t i = first; i <= last; ++i) step.loops.push_back(stage.loops[static_cast<size_t>(i)].name);
  return step;
}

schedule::Step ScheduleDraws::reorder(const StageState& stage) {
  schedule::Reorder step{stage.name, {}};
  for (const schedule::Loop& loop : stage.loops) step.loops.push_back(loop.name);
  const int held = state_.data().deepest_held_loop(stage);
  draws_.shuffle(step.loops, static_cast<size_t>(held + 1));
  return step;
}

schedule::Step ScheduleDraws::compute_at(const std::string& stage, const std::vector<Scope>& scopes) {
  const StageState& consumer = draws_.of(state_.stages());
  const std::string loop = consumer.loops.empty() ? "" : draws_.of(consumer.loops).name;
  return schedule::ComputeAt{stage, consumer.name, loop, draws_.of(scopes)};
}

schedule::Step ScheduleDraws::cache_read(const std::string& reader) {
  std::vector<std::string> names;
  for (size_t i = 0; i < state_.workload().inputs.size(); ++i) names.push_back(absl::StrCat("p", i));
  for (const StageState& stage : state_.stages()) names.push_back(stage.name);
  const std::string source = draws_.of(names);
  const tensor::Layout layout = random_layout(state_.data().find_buffer(source)->rank(), draws_);
  return schedule::CacheRead{source, reader, layout, Scope::kGlobal};
}

std::vector<std::string> ScheduleDraws::own_buffers() {
  std::vector<std::string> names;
  for (size_t i = 0; i < state_.workload().inputs.size(); ++i)
    if (state_.workload().inputs[i].constant) names.push_back(absl::StrCat("p", i));
  for (const StageState& stage : state_.stages()) names.push_back(stage.name);
  return names;
}

schedule::Step ScheduleDraws::layout() {
  const std::string buffer = draws_.of(own_buffers());
  return schedule::LayoutRewrite{buffer, random_layout(state_.data().find_buffer(buffer)->rank(), draws_)};
}

schedule::Step ScheduleDraws::pragma_or_align(const StageState& stage) {
  if (draws_.one_in(2))
    return schedule::Pragma{stage.name, schedule::PragmaKind::kUnrollLimit, 1 + draws_.below(16)};
  return schedule::StorageAlign{stage.name, stage.stage.output->rank() - 2, 1 + draws_.below(8),
                                draws_.below(3)};
}

// Of what holds given values: a computed one may be rounded either way, depending on its last bit.
std::optional<schedule::Step> ScheduleDraws::narrow() {
  std::vector<std::string> names = own_buffers();
  std::erase_if(names, [](const std::string& name) { return name.front() != 'p'; });
  if (names.empty()) return std::nullopt;
  const bool bfloat = draws_.one_in(2);
  return schedule::Narrow{draws_.of(names), bfloat ? tensor::Element::kBFloat16 : tensor::Element::kFloat16};
}

// Of stages that have a grid, so that most are legal.
std::optional<schedule::Step> ScheduleDraws::raster() {
  std::vector<std::string> names;
  for (const StageState& stage : state_.stages())
    if (std::ranges::count(stage.loops, Annotation::kGridX, &schedule::Loop::annotation) == 1 &&
        std::ranges::count(stage.loops, Annotation::kGridY, &schedule::Loop::annotation) == 1)
      names.push_back(stage.name);
  if (names.empty()) return std::nullopt;
  return schedule::Raster{draws_.of(names), 2 + draws_.below(4)};
}

// Of loops in which something is copied into shared memory, so that most are legal.
std::optional<schedule::Step> ScheduleDraws::pipeline() {
  std::vector<std::pair<std::string, std::string>> loops;
  for (const StageState& stage : state_.stages())
    for (const schedule::Loop& loop : stage.loops)
      if (!state_.data().copied_in(stage, loop.name).empty()) loops.emplace_back(stage.name, loop.name);
  if (loops.empty()) return std::nullopt;
  const auto& [stage, loop] = draws_.of(loops);
  return schedule::Pipeline{stage, loop, 2 + draws_.below(4)};
}

}  // namespace tf::test
