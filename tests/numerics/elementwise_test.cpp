// Every element-wise function, of every float, at a few arguments of each exponent and next to every place where
// its formula changes: within its bound, with C's special values, by every way to compute it.
#include <gtest/gtest.h>

#include "compiler/backends/llvm/codegen.h"
#include "compiler/target/target.h"
#include "tests/numerics/engines.h"
#include "tests/numerics/expect_right.h"

namespace tf::test {
namespace {

constexpr int kMantissas = 3;

class ElementFunctions : public ::testing::TestWithParam<ElementFunction> {};

TEST_P(ElementFunctions, AreWithinTheirBoundsInterpreted) {
  for (const Element element : {Element::kFloat32, Element::kFloat64})
    expect_right(GetParam(), element, "interpreted", kMantissas);
}

TEST_P(ElementFunctions, AreWithinTheirBoundsInTheReference) {
  for (const Element element : {Element::kFloat32, Element::kFloat64})
    expect_right(GetParam(), element, "reference", kMantissas);
}

TEST_P(ElementFunctions, AreWithinTheirBoundsFolded) {
  for (const Element element : {Element::kFloat32, Element::kFloat64})
    expect_right(GetParam(), element, "folded", kMantissas);
}

TEST_P(ElementFunctions, AreWithinTheirBoundsAsMachineCode) {
  const target::Target host = target::host_target();
  if (host.arch != target::Arch::kX86_64) GTEST_SKIP() << "the targets are x86-64's";
  // Without instructions for rounding, without fused multiply-add, with both, and with AVX-512.
  for (const char* name :
       {"x86_64:cpu=x86-64", "x86_64:cpu=x86-64-v2", "x86_64:cpu=x86-64-v3", "x86_64:cpu=x86-64-v4"}) {
    const target::Target target = *target::parse_target(name);
    if (target.vector.bits > host.vector.bits || (target.vector.fma && !host.vector.fma)) continue;
    for (const Element element : {Element::kFloat32, Element::kFloat64})
      expect_right(GetParam(), element, name, kMantissas);
  }
}

TEST_P(ElementFunctions, OfHalvesAreWithinTheirBoundsForEveryValue) {
  expect_right(GetParam(), Element::kFloat16, "host", kMantissas);
  // The instructions of AVX512-BF16 take denormals for zero.
  const bool flushes = target::host_target().has("avx512bf16");
  expect_right(GetParam(), Element::kBFloat16, "host", kMantissas, {.flushes = flushes});
}

TEST_P(ElementFunctions, CompileForEveryProcessor) {
  for (const char* name : {"x86_64:cpu=x86-64-v4", "aarch64", "armv7", "riscv64", "wasm32"})
    for (const Element element : {Element::kFloat32, Element::kFloat64}) {
      const absl::Status status = compile_function(GetParam(), element, name);
      EXPECT_TRUE(status.ok()) << name << ": " << status;
    }
}

INSTANTIATE_TEST_SUITE_P(All, ElementFunctions, ::testing::ValuesIn(element_functions()),
                         [](const auto& test) { return case_name(test.param); });

const ElementFunction& function_called(const std::string& name) {
  for (const ElementFunction& f : element_functions())
    if (f.name == name) return f;
  ADD_FAILURE() << name;
  return element_functions()[0];
}

std::vector<double> numbers_between(double low, double high) {
  std::vector<double> all;
  for (int i = 0; i <= 100000; ++i) all.push_back(static_cast<float>(low + (high - low) * i / 100000));
  return all;
}

TEST(ElementFunctionRanges, ErfNeverLeavesMinusOneToOne) {
  const std::vector<double> x = numbers_between(3, 5);
  for (const char* engine : {"interpreted", "x86_64:cpu=x86-64-v2"}) {
    if (target::host_target().arch != target::Arch::kX86_64) continue;
    const auto results = results_of(function_called("Erf"), Element::kFloat32, {x, x}, engine);
    ASSERT_TRUE(results.ok()) << results.status();
    for (size_t i = 0; i < x.size(); ++i) ASSERT_LE((*results)[i], 1) << x[i];
    EXPECT_EQ(results->back(), 1);
  }
}

TEST(ElementFunctionRanges, GeluOfNegativeNumbersIsNeverPositive) {
  const std::vector<double> x = numbers_between(-8, -1e-6);
  const auto results = results_of(function_called("Gelu"), Element::kFloat32, {x, x}, "interpreted");
  ASSERT_TRUE(results.ok()) << results.status();
  for (size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(std::signbit((*results)[i])) << x[i];
}

}  // namespace
}  // namespace tf::test
