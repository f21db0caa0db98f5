// Every operator as a kernel and as the reference that the kernel is checked with, for every processor of
// boards: compiled and linked. It needs neither an emulator nor an agent, and finds the code that would need
// a library.

#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "compiler/backends/llvm/codegen.h"
#include "compiler/backends/llvm/link.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/recipes.h"
#include "compiler/tensor/workload.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::backends {
namespace {

class Board : public ::testing::TestWithParam<const char*> {
 protected:
  void expect_links(const tensor::Workload& workload, const schedule::Schedule& schedule) const {
    const absl::StatusOr<passes::Lowered> lowered = passes::lower(workload, schedule, {});
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    const absl::StatusOr<KernelCode> code = compile(lowered->function, target_);
    ASSERT_TRUE(code.ok()) << code.status();
    const absl::StatusOr<std::string> shared = link_shared(code->object, target_);
    EXPECT_TRUE(shared.ok()) << shared.status();
  }

  const target::Target target_ = *target::parse_target(GetParam());
};

TEST_P(Board, LinksEveryOperatorAndItsReference) {
  for (const test::SmallWorkload& small : test::small_workloads()) {
    SCOPED_TRACE(small.name);
    const tensor::Workload workload = test::build_small(small);
    expect_links(workload,
                 recipes::default_schedule({.workload = workload, .target = target_, .threads = 2}));
    expect_links(tensor::with_magnitudes(workload), {});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Processors, Board,
    ::testing::Values("armv7", "armv7:cpu=cortex-a9", "armv7:cpu=cortex-a15", "armv7:-neon",
                      "aarch64:cpu=cortex-a72", "aarch64:cpu=cortex-a76", "riscv64"),
    [](const auto& each) {
      return absl::StrReplaceAll(each.param, {{":cpu=", "_"}, {":-", "_without_"}, {"-", "_"}});
    });

}  // namespace
}  // namespace tf::backends
