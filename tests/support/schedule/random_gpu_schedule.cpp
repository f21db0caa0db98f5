#include "tests/support/schedule/random_gpu_schedule.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/recipes/recipes.h"
#include "tests/support/schedule/schedule_draws.h"

namespace tf::test {
namespace {

using schedule::Step;

schedule::Schedule random_point(const std::vector<recipes::Sketch>& sketches, Draws& draws) {
  const recipes::Sketch& sketch = draws.of(sketches);
  recipes::Point point = sketch.default_point();
  for (size_t i = 0; i < point.size(); ++i)  // a few: most combinations are not legal
    if (draws.one_in(2))
      point[i] =
          static_cast<uint32_t>(draws.below(static_cast<int64_t>(sketch.parameters[i].choices.size())));
  return recipes::instantiate(sketch, point);
}

// With a tile's two inner loops along an axis in each other's place, so that what a thread has lies apart. Splits stay.
schedule::Schedule with_loops_exchanged(const schedule::Schedule& schedule, int64_t axis) {
  const std::string one = absl::StrCat("i", axis, ".1"), other = absl::StrCat("i", axis, ".2");
  schedule::Schedule exchanged;
  for (const Step& step : schedule.steps) {
    const std::string text = absl::StrReplaceAll(schedule::to_string(step), {{one, other}, {other, one}});
    const auto parsed = schedule::parse_schedule(absl::StrCat("schedule v1\n", text, "\n"));
    const bool is_kept = std::holds_alternative<schedule::Split>(step) || !parsed.ok();
    exchanged.steps.push_back(is_kept ? step : parsed->steps[0]);
  }
  return exchanged;
}

// The step with other numbers.
Step varied(const Step& step, Draws& draws) {
  Step changed = step;
  if (auto* split = std::get_if<schedule::Split>(&changed)) draws.of(split->factors) = 1 + draws.below(9);
  if (auto* at = std::get_if<schedule::ComputeAt>(&changed))
    at->scope = draws.one_in(2) ? tensor::Scope::kShared : tensor::Scope::kRegister;
  if (auto* raster = std::get_if<schedule::Raster>(&changed)) raster->group = 1 + draws.below(5);
  if (auto* pipeline = std::get_if<schedule::Pipeline>(&changed)) {
    pipeline->stages = 1 + draws.below(5);
    pipeline->bulk = draws.below(2);
  }
  if (auto* cross = std::get_if<schedule::CrossThread>(&changed)) cross->threads = 1 + draws.below(40);
  return changed;
}

}  // namespace

schedule::Schedule random_gpu_schedule(const tensor::Workload& workload, const target::Target& target,
                                       uint64_t seed) {
  Draws draws(seed);
  schedule::Schedule point =
      random_point(recipes::sketches_of({.workload = workload, .target = target}), draws);
  if (seed % 4 == 3 && !words_of(point).contains("tensorize"))
    point = with_loops_exchanged(point, static_cast<int64_t>(seed / 4 % 4));
  schedule::State state(workload);
  schedule::Schedule schedule;
  const auto add = [&](const std::optional<Step>& step) {
    if (step && !state.apply(*step)) schedule.steps.push_back(*step);
  };
  const int64_t rarely = 8 + draws.below(120);  // some schedules differ in much, some in little
  for (const Step& step : point.steps) {
    while (draws.one_in(rarely)) add(ScheduleDraws(state, draws).gpu_step());
    if (!draws.one_in(2 * rarely)) add(draws.one_in(rarely) ? varied(step, draws) : step);
  }
  for (int64_t more = draws.below(8); more > 0; --more) add(ScheduleDraws(state, draws).gpu_step());
  return schedule;
}

std::set<std::string> words_of(const schedule::Schedule& schedule) {
  std::set<std::string> words;
  for (const Step& step : schedule.steps) {
    const auto* raster = std::get_if<schedule::Raster>(&step);
    const auto* pipeline = std::get_if<schedule::Pipeline>(&step);
    if ((raster && raster->group == 1) || (pipeline && pipeline->stages == 1)) continue;
    const std::string text = schedule::to_string(step);
    words.insert(text.substr(0, text.find(' ')));
  }
  return words;
}

}  // namespace tf::test
