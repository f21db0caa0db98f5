// A build that was configured without cross compilers has no runners. Tests of emulated code are then
// skipped, even where the emulator is installed.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files/temporary_folder.h"
#include "tests/support/foreign_code/foreign_code.h"
#include "tests/support/interpreter_oracle/interpreter_oracle.h"

namespace tf {
namespace {

class WithoutRunners : public ::testing::Test {
 protected:
  void SetUp() override { setenv("TF_FOREIGN_PROGRAMS", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("TF_FOREIGN_PROGRAMS"); }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(WithoutRunners, EveryRunnerIsReportedAsMissingWithTheWayToGetIt) {
  const target::Target target = *target::parse_target("aarch64:cpu=cortex-a72");
  for (const auto runner :
       {support::Runner::kKernel, support::Runner::kModel, support::Runner::kArithmetic}) {
    const auto missing = support::missing_emulator(target, runner);
    ASSERT_TRUE(missing.has_value());
    EXPECT_THAT(*missing, testing::HasSubstr("deploy/install_packages.sh --cross"));
  }
}

TEST_F(WithoutRunners, TheOracleSkipsForeignTargetsAndStillChecksThisProcessor) {
  const char* kernel =
      "function kernel(c: f32[8], a: f32[8]) {\n  for i = 0 extent 8 {\n    c[i] = a[i]\n  }\n}\n";
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(&results);
    backends::expect_agrees(kernel, {.targets = {"aarch64:cpu=cortex-a72", "host"}});
  }
  ASSERT_EQ(results.size(), 1);
  EXPECT_TRUE(results.GetTestPartResult(0).skipped()) << results.GetTestPartResult(0).message();
}

}  // namespace
}  // namespace tf
