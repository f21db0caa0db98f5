// Passes and code of this machine keep the meaning of integers at the ends of their types.

#include "tests/unit/compiler/backends/integer_kernels.h"

namespace tf::test {
namespace {

class IntegerKernels : public ::testing::TestWithParam<IntegerKernel> {};

TEST_P(IntegerKernels, MeanAfterPassesAndInCodeWhatTheyMeantBefore) {
  expect_meaning_is_kept(GetParam(), backends::runnable_targets());
}

INSTANTIATE_TEST_SUITE_P(All, IntegerKernels, ::testing::ValuesIn(integer_kernels()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tf::test
