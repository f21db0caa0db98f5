// Random schedules of every operator, against the workload's definition in double precision.

#include <map>

#include "absl/strings/str_cat.h"
#include "compiler/recipes/emit/winograd.h"
#include "compiler/recipes/recipes.h"
#include "gtest/gtest.h"
#include "tests/support/schedule/random_gpu_schedule.h"
#include "tests/support/schedule/random_schedule.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::test {
namespace {

class EveryOperator : public ::testing::TestWithParam<SmallWorkload> {};

TEST_P(EveryOperator, AgreesWithItsDefinitionWithoutASchedule) {
  check_schedule(build_small(GetParam()), {}, {}, 1, "no schedule");
}

TEST_P(EveryOperator, AgreesWithItsDefinitionUnderTheDefaultSchedule) {
  const tensor::Workload workload = build_small(GetParam());
  for (const char* text : {"x86_64:cpu=znver4", "x86_64:cpu=haswell", "x86_64"}) {
    const target::Target target = target::parse_target(text).value();
    for (uint64_t seed : {0, 1, 2}) {
      const tensor::PortLayouts ports = seed == 0 ? tensor::PortLayouts{} : random_ports(workload, seed);
      const schedule::Schedule schedule =
          recipes::default_schedule({.workload = workload, .ports = ports, .target = target, .threads = 2});
      check_schedule(workload, schedule, ports, seed, absl::StrCat("default for ", text, ", seed ", seed));
    }
  }
}

TEST(Depthwise, AgreesWithItsDefinitionWithChannelsInnermost) {
  const target::Target target = target::parse_target("x86_64").value();
  const tensor::Layout layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 4}}};
  const tensor::PortLayouts ports{{layout}, {layout}};
  struct Shape {
    int64_t channels, height, width, kernel, stride, pad;
  };
  for (const Shape& s :
       {Shape{8, 9, 11, 3, 1, 1}, {6, 8, 9, 3, 2, 1}, {4, 1, 1, 3, 1, 1}, {5, 9, 5, 5, 2, 2}}) {
    const SmallWorkload small = {"depthwise", [&](ops::Builder& b) {
                                   return ops::conv(b, f32_input(b, {2, s.channels, s.height, s.width}),
                                                    f32_constant(b, {s.channels, 1, s.kernel, s.kernel}),
                                                    {.strides = {s.stride, s.stride},
                                                     .pads_begin = {s.pad, s.pad},
                                                     .pads_end = {s.pad, s.pad},
                                                     .groups = s.channels});
                                 }};
    const tensor::Workload workload = build_small(small);
    for (int threads : {1, 2})
      check_schedule(workload,
                     recipes::default_schedule(
                         {.workload = workload, .ports = ports, .target = target, .threads = threads}),
                     ports, 1, "default schedule");
  }
}

// 3x3 convolutions whose channels fill vectors of four lanes, and rows and columns that no tile divides.
TEST(Winograd, AgreesWithItsDefinition) {
  const target::Target target = target::parse_target("x86_64").value();
  const tensor::Layout layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 4}}};
  const tensor::PortLayouts ports{{layout}, {layout}};
  struct Shape {
    int64_t batch, in, height, width, out, groups, pad, kernel = 3;
  };
  for (const Shape& s : {Shape{1, 4, 8, 8, 4, 1, 1},
                         {2, 5, 7, 3, 6, 1, 1},
                         {1, 8, 5, 6, 8, 2, 0},
                         {1, 4, 1, 1, 9, 1, 1},
                         {1, 4, 7, 6, 4, 1, 2, 5}}) {
    const SmallWorkload small = {
        "winograd", [&](ops::Builder& b) {
          tensor::Buffer y =
              ops::conv(b, f32_input(b, {s.batch, s.in, s.height, s.width}),
                        f32_constant(b, {s.out, s.in / s.groups, s.kernel, s.kernel}),
                        {.pads_begin = {s.pad, s.pad}, .pads_end = {s.pad, s.pad}, .groups = s.groups});
          return ops::relu(b, ops::bias_add(b, y, f32_constant(b, {s.out}), 1));
        }};
    const tensor::Workload workload = build_small(small);
    for (int64_t tile : {2, 4, 6}) {
      const auto frame =
          recipes::winograd_frame({.workload = workload, .ports = ports, .target = target}, tile);
      EXPECT_EQ(frame.has_value(), tile + s.kernel <= 9);
      if (!frame) continue;
      for (int threads : {1, 2}) {
        recipes::WinogradTiling tiling = recipes::default_winograd_tiling(*frame, target, threads);
        for (bool whole_input : {false, true}) {
          tiling.whole_input = whole_input;
          schedule::Schedule schedule;
          recipes::append_winograd(*frame, tiling, schedule.steps);
          check_schedule(workload, schedule, ports, static_cast<uint64_t>(tile),
                         absl::StrCat("F(", tile, ",", s.kernel, ")"));
        }
      }
    }
  }
}

TEST_P(EveryOperator, AgreesWithItsDefinitionUnderRandomSchedules) {
  const tensor::Workload workload = build_small(GetParam());
  // TF_RANDOM_SCHEDULES=N runs N an operator instead, from TF_RANDOM_SEED.
  const uint64_t begin = number_of("TF_RANDOM_SEED", 0);
  const uint64_t end = begin + number_of("TF_RANDOM_SCHEDULES", 50);
  for (uint64_t seed = begin; seed < end && !::testing::Test::HasFatalFailure(); ++seed)
    check_schedule(workload, random_schedule(workload, seed), random_ports(workload, seed), seed,
                   absl::StrCat("seed ", seed));
}

void check_gpu_schedules(const tensor::Workload& workload, const char* target, uint64_t count,
                         std::map<std::string, int>* having) {
  const uint64_t begin = number_of("TF_RANDOM_SEED", 0),
                 end = begin + number_of("TF_RANDOM_SCHEDULES", count);
  for (uint64_t seed = begin; seed < end && !::testing::Test::HasFatalFailure(); ++seed) {
    const schedule::Schedule schedule = random_gpu_schedule(workload, *target::parse_target(target), seed);
    // Loops of the grid inside those of blocks and the like are refused.
    const absl::Status lowered =
        passes::lower(workload, schedule, {}, {.pipeline = passes::gpu_pipeline()}).status();
    if (absl::IsFailedPrecondition(lowered)) continue;
    for (const std::string& word : words_of(schedule)) ++(*having)[word];
    check_schedule(workload, schedule, {}, seed, absl::StrCat(target, ", seed ", seed),
                   passes::gpu_pipeline());
  }
}

TEST_P(EveryOperator, AgreesWithItsDefinitionUnderRandomSchedulesOfGpus) {
  std::map<std::string, int> having;
  check_gpu_schedules(build_small(GetParam()), "opencl", 25, &having);
}

// By instructions that take f16, and f32 as f16, bf16 and tf32.
TEST(RandomGpuSchedules, OfMatrixInstructionsAgreeWithTheDefinition) {
  std::map<std::string, int> having;
  const tensor::Type sum{tensor::Element::kFloat32, 1};
  for (const tensor::Element element : {tensor::Element::kFloat16, tensor::Element::kFloat32}) {
    ops::Builder b;
    const tensor::Expr m = tensor::imm(37), n = tensor::imm(24), k = tensor::imm(40);
    const tensor::Buffer x = b.input("x", element, {m, k}), w = b.input("w", element, {k, n});
    const tensor::Buffer y = b.reduce("product", sum.element, {m, n}, {k}, tensor::Combiner::kSum,
                                      [&](ops::Indices i, ops::Indices r) {
                                        return tensor::cast(sum, tensor::load(x, {i[0], r[0]})) *
                                               tensor::cast(sum, tensor::load(w, {r[0], i[1]}));
                                      });
    const tensor::Workload workload = *b.finish({ops::relu(b, y)});
    for (const char* target : {"cuda:arch=sm_75", "cuda:arch=sm_80"})
      check_gpu_schedules(workload, target, 25, &having);
  }
  for (const char* word : {"tensorize", "pipeline", "raster"}) EXPECT_GE(having[word], 10) << word;
}

INSTANTIATE_TEST_SUITE_P(Small, EveryOperator, ::testing::ValuesIn(small_workloads()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tf::test
