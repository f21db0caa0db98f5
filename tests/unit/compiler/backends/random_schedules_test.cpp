// Every operator, lowered without a schedule, under the default one and under random ones, compiled and
// compared with the interpreter on the same loop IR. (That lowering itself is right is checked in
// tests/unit/compiler/passes.)

#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/recipes.h"
#include "tests/support/interpreter_oracle/interpreter_oracle.h"
#include "tests/support/schedule/random_schedule.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::backends {
namespace {

using tf::test::SmallWorkload;

void check(const tensor::Workload& workload, const schedule::Schedule& schedule,
           const tensor::PortLayouts& ports, const std::string& target) {
  SCOPED_TRACE(schedule::to_string(schedule));
  absl::StatusOr<passes::Lowered> lowered = passes::lower(workload, schedule, ports);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  // Reductions cancel, so errors are measured against operands of about one.
  OracleOptions options = {.targets = {target}, .threads = 2, .tolerance = 1e-4, .low = -1, .high = 1};
  expect_agrees(lowered->function, options);
  options.edges = true;
  if (tf::test::has_integers(workload)) expect_agrees(lowered->function, options);
}

class EveryOperator : public ::testing::TestWithParam<SmallWorkload> {};

TEST_P(EveryOperator, CompiledCodeAgreesWithTheInterpreter) {
  tensor::Workload workload = tf::test::build_small(GetParam());
  std::vector<std::string> targets = runnable_targets();
  for (const std::string& target : targets) {
    check(workload, {}, {}, target);
    check(workload,
          recipes::default_schedule(
              {.workload = workload, .target = *target::parse_target(target), .threads = 2}),
          {}, target);
  }
  // TF_RANDOM_SCHEDULES=N runs N an operator instead, from TF_RANDOM_SEED.
  const char* count = std::getenv("TF_RANDOM_SCHEDULES");
  const char* first = std::getenv("TF_RANDOM_SEED");
  uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 1000;
  uint64_t end = begin + (count ? std::strtoull(count, nullptr, 10) : 10);
  for (uint64_t seed = begin; seed < end && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    check(workload, tf::test::random_schedule(workload, seed), tf::test::random_ports(workload, seed),
          targets[seed % targets.size()]);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, EveryOperator, ::testing::ValuesIn(tf::test::small_workloads()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tf::backends
