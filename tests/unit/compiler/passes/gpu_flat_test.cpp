// Kernels without sums on GPUs: lowered and interpreted, against the workload's definition.

#include <gmock/gmock.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"
#include "compiler/recipes/gpu/flat.h"
#include "compiler/recipes/gpu/transposes.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/compiler/passes/flat_workloads.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/transposes.h"

namespace tf::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const target::Target kFlatGpu = *target::parse_target("cuda:arch=sm_90");

// Of threads, items and lanes.
schedule::Schedule flat_schedule(const tensor::Workload& workload, int64_t items, int64_t lanes) {
  const recipes::Sketch sketch = recipes::flat_on_gpu({.workload = workload, .target = kFlatGpu}).at(0);
  recipes::Point point = sketch.default_point();
  for (size_t p = 0; p < point.size(); ++p) {
    const recipes::Parameter& parameter = sketch.parameters[p];
    const int64_t wanted = parameter.name.starts_with("items")   ? items
                           : parameter.name.starts_with("lanes") ? lanes
                                                                 : 32;
    for (uint32_t choice = 0; choice < parameter.choices.size(); ++choice)
      if (parameter.choices[choice][0] <= wanted) point[p] = choice;
  }
  return recipes::instantiate(sketch, point);
}

std::string flat_ir(const tensor::Workload& workload, const schedule::Schedule& schedule) {
  const auto lowered = passes::lower(workload, schedule, {}, {.pipeline = passes::gpu_pipeline()});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return lowered.ok() ? ir::to_string(lowered->function) : "";
}

TEST(GpuFlat, GivesWhatWorkloadsDefine) {
  std::vector<SmallWorkload> all = flat_workloads();
  for (const SmallWorkload& small : small_workloads())
    if (!recipes::flat_on_gpu({.workload = build_small(small), .target = kFlatGpu}).empty())
      all.push_back(small);
  EXPECT_GT(all.size(), 35u);
  for (const SmallWorkload& small : all) {
    const tensor::Workload workload = build_small(small);
    if (workload.outputs[0]->element == tensor::Element::kFloat16) continue;  // definitions do not round
    for (const auto& [items, lanes] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 4}, {4, 2}, {2, 16}})
      check_schedule(workload, flat_schedule(workload, items, lanes), {}, 5,
                     absl::StrCat(small.name, " of ", items, " items of ", lanes), passes::gpu_pipeline());
  }
}

// What follows from the guard of the last threads is not asked again.
TEST(GpuFlat, AsksOnceWhetherAnElementIsInside) {
  for (const SmallWorkload& small : flat_workloads()) {
    if (small.name != "sum of 3x37x11" && small.name != "by channels of 12" &&
        small.name != "rows of 12 by number")
      continue;
    const tensor::Workload workload = build_small(small);
    const std::string text = flat_ir(workload, flat_schedule(workload, 1, 4));
    EXPECT_THAT(text, HasSubstr("ramp")) << small.name;
    EXPECT_THAT(text, Not(HasSubstr(" where "))) << small.name;
    EXPECT_EQ(text.find("] if "), std::string::npos) << small.name << "\n" << text;
  }
}

TEST(GpuFlat, TakesNoVectorsAcrossRuns) {
  for (const SmallWorkload& small : flat_workloads()) {
    const recipes::Sketch sketch =
        recipes::flat_on_gpu({.workload = build_small(small), .target = kFlatGpu}).at(0);
    int64_t longest = 0;
    for (const recipes::Choice& choice : sketch.parameters.back().choices)
      longest = std::max(longest, choice[0]);
    if (small.name == "one beside the other, 9 long" || small.name == "every other from the end" ||
        small.name == "columns by number" || small.name == "by channels of 49") {
      EXPECT_EQ(longest, 1) << small.name;
    } else if (small.name == "rows of 12 by number" || small.name == "sum of 3x37x11" ||
               small.name == "one beside the other, 12 long") {
      EXPECT_EQ(longest, 4) << small.name;
    } else if (small.name == "bytes") {
      EXPECT_EQ(longest, 1) << small.name;
    }
  }
}

// Of maps whose channels are innermost: runs of neighbours are channels, also of what each channel has once.
TEST(GpuFlat, FollowsMemoryWhereChannelsAreLast) {
  const tensor::Layout last{{{0, 0}, {2, 0}, {3, 0}, {1, 0}}};
  ops::Builder b;
  const tensor::Buffer x = f32_input(b, {2, 12, 3, 5}), z = f32_input(b, {2, 12, 3, 5});
  const tensor::Workload workload = *b.finish({ops::relu(
      b, ops::bias_add(b, ops::binary(b, ops::BinaryKind::kAdd, x, z), f32_constant(b, {12}), 1))});
  for (const auto& [inputs, lanes] : {std::pair(std::vector{last, last}, 4), {{last, tensor::Layout{}}, 1}}) {
    const tensor::KernelSpec kernel{.workload = workload, .ports = {inputs, {last}}, .target = kFlatGpu};
    const recipes::Sketch sketch = recipes::flat_on_gpu(kernel).at(0);
    EXPECT_EQ(sketch.parameters.back().choices.back()[0], lanes);
    recipes::Point point = sketch.default_point();
    point.back() = static_cast<uint32_t>(sketch.parameters.back().choices.size() - 1);
    const schedule::Schedule schedule = recipes::instantiate(sketch, point);
    EXPECT_THAT(to_string(schedule), HasSubstr("reorder t2 i0,i2,i3,i1"));
    check_schedule(workload, schedule, kernel.ports, 5, absl::StrCat(lanes, " lanes"),
                   passes::gpu_pipeline());
  }
}

// A tile that all threads fill row by row; nothing else is kept.
TEST(GpuTransposes, GiveWhatWorkloadsDefine) {
  std::mt19937_64 random(7);
  for (const SmallWorkload& small : transposes()) {
    const tensor::Workload workload = build_small(small);
    const std::vector<recipes::Sketch> sketches =
        recipes::transposes_on_gpu({.workload = workload, .target = kFlatGpu});
    ASSERT_EQ(sketches.size(), 1u) << small.name;
    const schedule::Schedule first = recipes::instantiate(sketches[0], sketches[0].default_point());
    EXPECT_EQ(recipes::default_schedule({.workload = workload, .target = kFlatGpu}), first) << small.name;
    EXPECT_THAT(flat_ir(workload, first), HasSubstr("p0.pack: ")) << small.name;
    EXPECT_THAT(flat_ir(workload, first), Not(HasSubstr("p1.pack: "))) << small.name;
    check_schedule(workload, first, {}, 3, small.name, passes::gpu_pipeline());
    for (int i = 0; i < 4; ++i) {
      const auto tile = static_cast<uint32_t>(random() % sketches[0].parameters[0].choices.size());
      check_schedule(workload, recipes::instantiate(sketches[0], {tile}), {}, 3,
                     absl::StrCat(small.name, ", tile ", tile), passes::gpu_pipeline());
    }
  }
}

}  // namespace
}  // namespace tf::test
