// Every operator under random schedules, and kernels under random points of the spaces that a tuner searches,
// compiled for other processors, run under qemu-user and compared with the interpreter on the same loop IR.
// Skipped where there is no emulator or no cross compiler.
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/llvm/codegen.h"
#include "compiler/passes/lower.h"
#include "compiler/schedule/default_schedule.h"
#include "tests/support/foreign_code/foreign_code.h"
#include "tests/support/interpreter_oracle/interpreter_oracle.h"
#include "tests/support/schedule/random_schedule.h"
#include "tests/unit/compiler/passes/small_workloads.h"
#include "tuner/model/evaluator.h"
#include "tuner/space/generate.h"
#include "tuner/space/sampling.h"

namespace tf {
namespace {

using testing::SmallWorkload;

constexpr int kThreads = 2;

void check(const tensor::Workload& workload, const schedule::Schedule& schedule,
           const schedule::PortLayouts& ports, const std::string& target) {
  SCOPED_TRACE(schedule::to_string(schedule));
  const absl::StatusOr<passes::Lowered> lowered = passes::lower(workload, schedule, ports);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  codegen::expect_agrees(lowered->function,
                         {.targets = {target}, .threads = kThreads, .tolerance = 1e-4, .low = -1, .high = 1});
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
  const tensor::Workload workload = testing::build_small(GetParam());
  check(workload, schedule::default_schedule(workload, {}, target, kThreads), {}, name);
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kSeeds && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    check(workload, testing::random_schedule(workload, seed), testing::random_ports(workload, seed), name);
  }
}

TEST_P(EveryOperator, RiscVVectorCodeCompiles) {
  const target::Target target = *target::parse_target("riscv64:+v");
  const tensor::Workload workload = testing::build_small(GetParam());
  const absl::StatusOr<passes::Lowered> lowered =
      passes::lower(workload, schedule::default_schedule(workload, {}, target, kThreads), {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const absl::StatusOr<codegen::KernelCode> code = codegen::compile(lowered->function, target);
  ASSERT_TRUE(code.ok()) << code.status();
}

TEST(RiscVVectorCode, AgreesWithTheInterpreterForEveryOperator) {
  const std::string name = "riscv64:+v";
  TF_SKIP_WITHOUT_EMULATOR(*target::parse_target(name));
  for (const SmallWorkload& small : testing::small_workloads()) {
    SCOPED_TRACE(small.name);
    const tensor::Workload workload = testing::build_small(small);
    check(workload, testing::random_schedule(workload, kFirstSeed),
          testing::random_ports(workload, kFirstSeed), name);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, EveryOperator, ::testing::ValuesIn(testing::small_workloads()),
                         [](const auto& each) { return each.param.name; });

// Large enough that vectors, register tiles and their edges are in the code.
const std::vector<SmallWorkload>& tuned_workloads() {
  using ops::Builder;
  static const std::vector<SmallWorkload> all = {
      {"matmul",
       [](Builder& b) {
         return ops::matmul(b, testing::f32_input(b, {13, 24}), testing::f32_constant(b, {24, 31}));
       }},
      {"gemv",
       [](Builder& b) {
         return ops::matmul(b, testing::f32_input(b, {1, 40}), testing::f32_constant(b, {40, 37}));
       }},
      {"conv_3x3",
       [](Builder& b) {
         const tensor::Buffer y =
             ops::conv(b, testing::f32_input(b, {1, 8, 9, 10}), testing::f32_constant(b, {12, 8, 3, 3}),
                       {.pads_begin = {1, 1}, .pads_end = {1, 1}});
         return ops::relu(b, ops::bias_add(b, y, testing::f32_constant(b, {12}), 1));
       }},
      {"conv_1x1",
       [](Builder& b) {
         return ops::conv(b, testing::f32_input(b, {1, 16, 7, 7}), testing::f32_constant(b, {20, 16, 1, 1}));
       }},
      {"depthwise",
       [](Builder& b) {
         return ops::conv(b, testing::f32_input(b, {1, 8, 9, 9}), testing::f32_constant(b, {8, 1, 3, 3}),
                          {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 8});
       }},
      {"max_pool",
       [](Builder& b) {
         return ops::max_pool(b, testing::f32_input(b, {1, 8, 9, 9}), {.kernel = {3, 3}, .strides = {2, 2}});
       }},
      {"softmax",
       [](Builder& b) {
         return ops::softmax(b, testing::f32_input(b, {5, 33}), 1);
       }},
  };
  return all;
}

class EverySpace : public ::testing::TestWithParam<SmallWorkload> {};

TEST_P(EverySpace, AArch64CodeOfRandomPointsAgreesWithTheInterpreter) {
  const std::string name = "aarch64:cpu=cortex-a72";
  const target::Target target = *target::parse_target(name);
  TF_SKIP_WITHOUT_EMULATOR(target);
  const tensor::Workload workload = testing::build_small(GetParam());
  // Feature maps as vectors of channels, as inside a network, and row-major.
  const bool is_map = workload.outputs[0]->rank() == 4;
  const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, target.fp32_lanes()}}};
  for (const bool by_channels : {false, true}) {
    if (by_channels && !is_map) continue;
    schedule::PortLayouts ports;
    if (by_channels) ports = {.inputs = {blocked}, .outputs = {blocked}};
    const space::DesignSpace space =
        space::generate_space({workload, ports.inputs, ports.outputs}, target, kThreads);
    const model::Evaluator evaluator(space, target, kThreads);
    space::Random random(kFirstSeed);
    uint64_t legal = 0;
    for (int draws = 0; draws < 2000 && legal < 2 * kSeeds && !HasFatalFailure(); ++draws) {
      const space::Candidate candidate = space::sample(space, random);
      if (!evaluator.judge(candidate)) continue;
      ++legal;
      check(workload, space.schedule_of(candidate), ports, name);
    }
    EXPECT_GT(legal, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Tuned, EverySpace, ::testing::ValuesIn(tuned_workloads()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tf
