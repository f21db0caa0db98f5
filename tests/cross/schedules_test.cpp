// Every operator under random schedules, and kernels under random points of the spaces that a tuner searches,
// compiled for other processors, run under qemu-user and compared with the interpreter on the same loop IR.
// Skipped where there is no emulator or no cross compiler.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/backends/llvm/codegen.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/numerics.h"
#include "tests/support/foreign_code/foreign_code.h"
#include "tests/support/interpreter_oracle/interpreter_oracle.h"
#include "tests/support/schedule/random_schedule.h"
#include "tests/unit/compiler/passes/small_workloads.h"
#include "tuner/model/evaluator.h"
#include "tuner/space/sampling.h"
#include "tuner/space/space.h"

namespace tf {
namespace {

using test::SmallWorkload;

constexpr int kThreads = 2;

void check(const tensor::Workload& workload, const schedule::Schedule& schedule,
           const tensor::PortLayouts& ports, const std::string& target) {
  SCOPED_TRACE(schedule::to_string(schedule));
  const absl::StatusOr<passes::Lowered> lowered = passes::lower(workload, schedule, ports);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  // Both sum in the same order, but code may contract what the interpreter rounds twice; Winograd enlarges
  // that.
  const double tolerance = 1e-4 * schedule::tolerance_factor(schedule);
  backends::OracleOptions options = {
      .targets = {target}, .threads = kThreads, .tolerance = tolerance, .low = -1, .high = 1};
  backends::expect_agrees(lowered->function, options);
  options.edges = true;
  if (test::has_integers(workload)) backends::expect_agrees(lowered->function, options);
}

uint64_t number(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// TF_RANDOM_SCHEDULES=N runs N of each, from TF_RANDOM_SEED.
const uint64_t kFirstSeed = number("TF_RANDOM_SEED", 5000);
const uint64_t kSeeds = number("TF_RANDOM_SCHEDULES", 3);

#define TF_SKIP_WITHOUT_EMULATOR(target)                                                                 \
  if (const std::optional<std::string> missing = support::missing_emulator(target); missing.has_value()) \
  GTEST_SKIP() << *missing

class EveryOperator : public ::testing::TestWithParam<SmallWorkload> {};

TEST_P(EveryOperator, AArch64CodeAgreesWithTheInterpreter) {
  const std::string name = "aarch64:cpu=cortex-a72";
  const target::Target target = *target::parse_target(name);
  TF_SKIP_WITHOUT_EMULATOR(target);
  const tensor::Workload workload = test::build_small(GetParam());
  check(workload, recipes::default_schedule({.workload = workload, .target = target, .threads = kThreads}),
        {}, name);
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kSeeds && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    check(workload, test::random_schedule(workload, seed), test::random_ports(workload, seed), name);
  }
}

TEST_P(EveryOperator, RiscVVectorCodeCompiles) {
  const target::Target target = *target::parse_target("riscv64:+v");
  const tensor::Workload workload = test::build_small(GetParam());
  const absl::StatusOr<passes::Lowered> lowered = passes::lower(
      workload, recipes::default_schedule({.workload = workload, .target = target, .threads = kThreads}), {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const absl::StatusOr<backends::KernelCode> code = backends::compile(lowered->function, target);
  ASSERT_TRUE(code.ok()) << code.status();
}

TEST(RiscVVectorCode, AgreesWithTheInterpreterForEveryOperator) {
  const std::string name = "riscv64:+v";
  TF_SKIP_WITHOUT_EMULATOR(*target::parse_target(name));
  for (const SmallWorkload& small : test::small_workloads()) {
    SCOPED_TRACE(small.name);
    const tensor::Workload workload = test::build_small(small);
    check(workload, test::random_schedule(workload, kFirstSeed), test::random_ports(workload, kFirstSeed),
          name);
  }
}

// An older one, which neither divides nor has fused multiply-add, and one that does.
class ArmV7Code : public ::testing::TestWithParam<const char*> {};

TEST_P(ArmV7Code, AgreesWithTheInterpreterForEveryOperator) {
  const target::Target target = *target::parse_target(GetParam());
  TF_SKIP_WITHOUT_EMULATOR(target);
  for (const SmallWorkload& small : test::small_workloads()) {
    SCOPED_TRACE(small.name);
    const tensor::Workload workload = test::build_small(small);
    check(workload, recipes::default_schedule({.workload = workload, .target = target, .threads = kThreads}),
          {}, GetParam());
    check(workload, test::random_schedule(workload, kFirstSeed), test::random_ports(workload, kFirstSeed),
          GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, ArmV7Code,
                         ::testing::Values("armv7:cpu=cortex-a9", "armv7:cpu=cortex-a15"),
                         [](const auto& each) {
                           return absl::StrReplaceAll(target::parse_target(each.param)->cpu, {{"-", "_"}});
                         });

INSTANTIATE_TEST_SUITE_P(Small, EveryOperator, ::testing::ValuesIn(test::small_workloads()),
                         [](const auto& each) { return each.param.name; });

// Large enough that vectors, register tiles and their edges are in the code.
const std::vector<SmallWorkload>& tuned_workloads() {
  using ops::Builder;
  static const std::vector<SmallWorkload> all = {
      {"matmul",
       [](Builder& b) {
         return ops::matmul(b, test::f32_input(b, {13, 24}), test::f32_constant(b, {24, 31}));
       }},
      {"gemv",
       [](Builder& b) {
         return ops::matmul(b, test::f32_input(b, {1, 40}), test::f32_constant(b, {40, 37}));
       }},
      {"conv_3x3",
       [](Builder& b) {
         const tensor::Buffer y =
             ops::conv(b, test::f32_input(b, {1, 8, 9, 10}), test::f32_constant(b, {12, 8, 3, 3}),
                       {.pads_begin = {1, 1}, .pads_end = {1, 1}});
         return ops::relu(b, ops::bias_add(b, y, test::f32_constant(b, {12}), 1));
       }},
      {"conv_1x1",
       [](Builder& b) {
         return ops::conv(b, test::f32_input(b, {1, 16, 7, 7}), test::f32_constant(b, {20, 16, 1, 1}));
       }},
      {"depthwise",
       [](Builder& b) {
         return ops::conv(b, test::f32_input(b, {1, 8, 9, 9}), test::f32_constant(b, {8, 1, 3, 3}),
                          {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 8});
       }},
      {"max_pool",
       [](Builder& b) {
         return ops::max_pool(b, test::f32_input(b, {1, 8, 9, 9}), {.kernel = {3, 3}, .strides = {2, 2}});
       }},
      {"softmax",
       [](Builder& b) {
         return ops::softmax(b, test::f32_input(b, {5, 33}), 1);
       }},
      {"integer_matmul",
       [](Builder& b) {
         return ops::matmul(
             b, b.input("x", tensor::Element::kUInt8, {tensor::imm(13), tensor::imm(24)}, {0, 255}),
             b.constant("w", tensor::Element::kInt8, {tensor::imm(24), tensor::imm(31)}, {-128, 127}));
       }},
      {"conv_3x3_of_16_channels",  // wide enough for Winograd
       [](Builder& b) {
         return ops::conv(b, test::f32_input(b, {1, 16, 8, 9}), test::f32_constant(b, {16, 16, 3, 3}),
                          {.pads_begin = {1, 1}, .pads_end = {1, 1}});
       }},
      {"attention",
       [](Builder& b) {
         const tensor::Buffer scores =
             ops::matmul(b, test::f32_input(b, {2, 19, 8}), test::f32_input(b, {2, 8, 37}));
         return ops::matmul(b, ops::softmax(b, scores, 2), test::f32_input(b, {2, 37, 24}));
       }},
  };
  return all;
}

// Legal points drawn from the space with every numerics allowed; how many there were.
uint64_t check_space(const tensor::Workload& workload, const tensor::PortLayouts& ports,
                     const std::string& name) {
  const target::Target target = *target::parse_target(name);
  const space::DesignSpace space =
      space::generate_space({.workload = workload,
                             .ports = ports,
                             .target = target,
                             .threads = kThreads,
                             .allowed = {schedule::kBf16, schedule::kFp16, schedule::kWinograd}});
  const model::Evaluator evaluator(space, target, kThreads);
  space::Random random(kFirstSeed);
  uint64_t legal = 0;
  for (int draws = 0; draws < 2000 && legal < 2 * kSeeds && !::testing::Test::HasFatalFailure(); ++draws) {
    const space::Candidate candidate = space::sample(space, random);
    if (!evaluator.judge(candidate)) continue;
    ++legal;
    check(workload, space.schedule_of(candidate), ports, name);
  }
  return legal;
}

class EverySpace : public ::testing::TestWithParam<std::tuple<SmallWorkload, const char*>> {};

TEST_P(EverySpace, CodeOfRandomPointsAgreesWithTheInterpreter) {
  const auto& [small, name] = GetParam();
  const target::Target target = *target::parse_target(name);
  TF_SKIP_WITHOUT_EMULATOR(target);
  const tensor::Workload workload = test::build_small(small);
  EXPECT_GT(check_space(workload, {}, name), 0u);
  if (workload.outputs[0]->rank() != 4) return;
  // Feature maps as vectors of channels, as inside a network.
  const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, target.fp32_lanes()}}};
  EXPECT_GT(check_space(workload, {.inputs = {blocked}, .outputs = {blocked}}, name), 0u);
}

INSTANTIATE_TEST_SUITE_P(AArch64, EverySpace,
                         ::testing::Combine(::testing::ValuesIn(tuned_workloads()),
                                            ::testing::Values("aarch64:cpu=cortex-a72",
                                                              "aarch64:+bf16,+dotprod,+i8mm")),
                         [](const auto& each) {
                           const bool plain =
                               std::get<1>(each.param) == std::string("aarch64:cpu=cortex-a72");
                           return std::get<0>(each.param).name + (plain ? "_on_neon" : "_with_dot_products");
                         });

}  // namespace
}  // namespace tf
