#include "tests/support/schedule/random_schedule.h"

#include <algorithm>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tf::test {
namespace {

using schedule::Annotation;
using schedule::StageState;
using schedule::Step;

// The standard's distributions differ between libraries; this does not.
class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}
  int64_t below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  bool one_in(int64_t count) { return below(count) == 0; }
  template <typename T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
  }
  template <typename T>
  void shuffle(std::vector<T>& all, size_t from = 0) {
    for (size_t i = all.size(); i > from + 1; --i)
      std::swap(all[i - 1], all[from + static_cast<size_t>(below(static_cast<int64_t>(i - from)))]);
  }

 private:
  std::mt19937_64 random_;
};

tensor::Layout random_layout(int rank, Draws& draws) {
  tensor::Layout layout;
  if (rank == 0 || draws.one_in(3)) return layout;
  for (int d = 0; d < rank; ++d) layout.axes.push_back({d, 0});
  if (draws.one_in(2)) draws.shuffle(layout.axes);
  for (int64_t blocks = draws.below(3); blocks > 0; --blocks)
    layout.axes.push_back({static_cast<int>(draws.below(rank)), 2 + draws.below(4)});
  return layout;
}

class ScheduleDraws {
 public:
  ScheduleDraws(const schedule::State& state, Draws& draws) : state_(state), draws_(draws) {}

  std::optional<Step> step() {
    const StageState& stage = draws_.of(state_.stages());
    if (stage.loops.empty()) return schedule::Inline{stage.name};
    const std::string loop = draws_.of(stage.loops).name;
    switch (draws_.below(23)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return split(stage.name, loop);
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
        return compute_at(stage.name);
      case 13:
        return schedule::Inline{stage.name};
      case 14:
        return draws_.one_in(3) ? Step(schedule::Root{stage.name}) : compute_at(stage.name);
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
      case 20:  // legal on fragments alone, which a recipe makes
        return schedule::Tensorize{stage.name, loop, "mma_m16n8k16_f16"};
      case 21:
        return schedule::CrossThread{
            stage.name, draws_.one_in(2) ? Annotation::kThreadX : Annotation::kThreadY, 1 + draws_.below(4)};
      default:
        return draws_.one_in(2) ? Step(schedule::Pragma{stage.name, schedule::PragmaKind::kUnrollLimit,
                                                        1 + draws_.below(16)})
                                : Step(schedule::StorageAlign{stage.name, stage.stage.output->rank() - 2,
                                                              1 + draws_.below(8), draws_.below(3)});
    }
  }

 private:
  Step split(const std::string& stage, const std::string& loop) {
    schedule::Split step{stage, loop, {1 + draws_.below(6)}, schedule::Tail::kGuard};
    if (draws_.one_in(3)) step.factors.push_back(1 + draws_.below(4));
    if (draws_.one_in(3)) step.tail = schedule::Tail::kShift;
    return step;
  }

  Step fuse(const StageState& stage) {
    schedule::Fuse step{stage.name, {}};
    const auto count = static_cast<int64_t>(stage.loops.size());
    const int64_t first = draws_.below(count), last = std::min(count - 1, first + 1 + draws_.below(2));
    for (int64_t i = first; i <= last; ++i) step.loops.push_back(stage.loops[static_cast<size_t>(i)].name);
    return step;
  }

  Step reorder(const StageState& stage) {
    schedule::Reorder step{stage.name, {}};
    for (const schedule::Loop& loop : stage.loops) step.loops.push_back(loop.name);
    const int held = state_.data().deepest_held_loop(stage);
    draws_.shuffle(step.loops, static_cast<size_t>(held + 1));
    return step;
  }

  Step compute_at(const std::string& stage) {
    const StageState& consumer = draws_.of(state_.stages());
    const std::string loop = consumer.loops.empty() ? "" : draws_.of(consumer.loops).name;
    return schedule::ComputeAt{stage, consumer.name, loop,
                               draws_.one_in(2) ? tensor::Scope::kGlobal : tensor::Scope::kRegister};
  }

  Step cache_read(const std::string& reader) {
    std::vector<std::string> names;
    for (size_t i = 0; i < state_.workload().inputs.size(); ++i) names.push_back(absl::StrCat("p", i));
    for (const StageState& stage : state_.stages()) names.push_back(stage.name);
    const std::string source = draws_.of(names);
    const tensor::Layout layout = random_layout(state_.data().find_buffer(source)->rank(), draws_);
    return schedule::CacheRead{source, reader, layout, tensor::Scope::kGlobal};
  }

  // Constants and temporaries.
  std::vector<std::string> own_buffers() {
    std::vector<std::string> names;
    for (size_t i = 0; i < state_.workload().inputs.size(); ++i)
      if (state_.workload().inputs[i].constant) names.push_back(absl::StrCat("p", i));
    for (const StageState& stage : state_.stages()) names.push_back(stage.name);
    return names;
  }

  Step layout() {
    const std::string buffer = draws_.of(own_buffers());
    return schedule::LayoutRewrite{buffer, random_layout(state_.data().find_buffer(buffer)->rank(), draws_)};
  }

  // Of what holds given values: a computed one may be rounded either way, depending on its last bit.
  std::optional<Step> narrow() {
    std::vector<std::string> names = own_buffers();
    std::erase_if(names, [](const std::string& name) { return name.front() != 'p'; });
    if (names.empty()) return std::nullopt;
    const bool bfloat = draws_.one_in(2);
    return schedule::Narrow{draws_.of(names),
                            bfloat ? tensor::Element::kBFloat16 : tensor::Element::kFloat16};
  }

  const schedule::State& state_;
  Draws& draws_;
};

// A product of gathered matrices, at once or in parts.
Step random_matrices(const StageState& stage, Draws& draws) {
  schedule::Matrices step{stage.name, {}, {}, draws.one_in(2), draws.one_in(2) ? 0 : 1 + draws.below(6)};
  for (const schedule::Loop& loop : stage.loops)
    if (loop.reduce || draws.one_in(2)) (loop.reduce ? step.terms : step.rows).push_back(loop.name);
  draws.shuffle(step.terms);
  return step;
}

}  // namespace

schedule::Schedule random_schedule(const tensor::Workload& workload, uint64_t seed, int steps) {
  Draws draws(seed);
  schedule::State state(workload);
  schedule::Schedule schedule;
  const int64_t wanted = draws.below(steps + 1);
  // The steps that change what is computed come first if at all: later they are seldom legal.
  if (draws.one_in(3)) {
    const std::string stage = draws.of(state.stages()).name;
    Step first = schedule::Winograd{stage, 2 + 2 * draws.below(3)};
    if (draws.one_in(2)) first = schedule::Offset{stage, draws.one_in(2) ? "p0" : "p1", 128};
    if (!state.apply(first)) schedule.steps.push_back(first);
  }
  Draws others(seed ^ 0x2545f4914f6cdd1du);  // which leave those below as they are
  if (others.one_in(4)) {
    const Step gathered = random_matrices(others.of(state.stages()), others);
    if (!state.apply(gathered)) schedule.steps.push_back(gathered);
  }
  for (int tries = 0; tries < 10 * steps && static_cast<int64_t>(schedule.steps.size()) < wanted; ++tries) {
    const std::optional<Step> step = ScheduleDraws(state, draws).step();
    if (!step || state.apply(*step)) continue;
    schedule.steps.push_back(*step);
    // CPUs have no threads of a block: one after the other.
    if (const auto* cross = std::get_if<schedule::CrossThread>(&*step)) {
      schedule.steps.push_back(schedule::Annotate{
          cross->stage, cross->axis == Annotation::kThreadX ? "x" : "y", Annotation::kSerial});
      TF_CHECK(!state.apply(schedule.steps.back()));
    }
  }
  return schedule;
}

tensor::PortLayouts random_ports(const tensor::Workload& workload, uint64_t seed) {
  Draws draws(seed ^ 0x9e3779b97f4a7c15u);
  tensor::PortLayouts ports;
  if (draws.one_in(3)) return ports;
  for (const tensor::Input& input : workload.inputs)
    if (!input.constant) ports.inputs.push_back(random_layout(input.buffer->rank(), draws));
  for (const tensor::Buffer& output : workload.outputs)
    ports.outputs.push_back(random_layout(output->rank(), draws));
  return ports;
}

}  // namespace tf::test
