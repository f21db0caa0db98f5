// Random schedules of every operator, against the workload's definition in double precision.

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "compiler/schedule/default_schedule.h"
#include "tests/support/schedule/random_schedule.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::testing {
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
      const schedule::PortLayouts ports = seed == 0 ? schedule::PortLayouts{} : random_ports(workload, seed);
      const schedule::Schedule schedule = schedule::default_schedule(workload, ports, target, 2);
      check_schedule(workload, schedule, ports, seed, absl::StrCat("default for ", text, ", seed ", seed));
    }
  }
}

TEST_P(EveryOperator, AgreesWithItsDefinitionUnderRandomSchedules) {
  const tensor::Workload workload = build_small(GetParam());
  // TF_RANDOM_SCHEDULES=N runs N an operator instead, from TF_RANDOM_SEED.
  const char* count = std::getenv("TF_RANDOM_SCHEDULES");
  const char* first = std::getenv("TF_RANDOM_SEED");
  const uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 0;
  const uint64_t end = begin + (count ? std::strtoull(count, nullptr, 10) : 50);
  for (uint64_t seed = begin; seed < end && !::testing::Test::HasFatalFailure(); ++seed)
    check_schedule(workload, random_schedule(workload, seed), random_ports(workload, seed), seed,
                   absl::StrCat("seed ", seed));
}

INSTANTIATE_TEST_SUITE_P(Small, EveryOperator, ::testing::ValuesIn(small_workloads()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tf::testing
