// Every element-wise function on other processors, within the bounds that it has here.
#include <gtest/gtest.h>

#include <tuple>

#include "absl/strings/str_replace.h"
#include "tests/numerics/expect_right.h"
#include "tests/support/foreign_code/foreign_code.h"

namespace tf::test {
namespace {

class ElementFunctionsOf : public ::testing::TestWithParam<const char*> {};

TEST_P(ElementFunctionsOf, AreWithinTheirBounds) {
  const target::Target target = *target::parse_target(GetParam());
  if (const auto missing = support::missing_emulator(target); missing.has_value()) GTEST_SKIP() << *missing;
  for (const ElementFunction& function : element_functions()) {
    SCOPED_TRACE(function.name);
    for (const Element element : {Element::kFloat32, Element::kFloat64})
      expect_right(function, element, GetParam(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Processors, ElementFunctionsOf, ::testing::Values("aarch64:cpu=cortex-a72"), [](const auto& test) {
      return absl::StrReplaceAll(test.param, {{":cpu=", "_"}, {"-", "_"}, {":+", "_with_"}});
    });

}  // namespace
}  // namespace tf::test
