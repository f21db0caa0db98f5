// Products of bytes are exact, whatever their signs, shapes and threads, where one factor is moved to the
// other sign and where it is not.

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/recipes/recipes.h"
#include "compiler/tensor/evaluate.h"
#include "tests/support/ir/host_memory.h"
#include "tests/unit/compiler/driver/relative_error.h"

namespace tf::driver {
namespace {

using tensor::Element;
using tensor::imm;

struct Case {
  const char* name;
  Element a, b;
};
void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

class IntegerProducts : public ::testing::TestWithParam<Case> {
 protected:
  static void expect_exact(const tensor::Workload& workload, const tensor::PortLayouts& ports) {
    std::vector<std::vector<double>> inputs;
    for (size_t i = 0; i < workload.inputs.size(); ++i) {
      const tensor::Buffer& buffer = workload.inputs[i].buffer;
      const bool is_signed = buffer->element != Element::kUInt8;
      inputs.push_back(test::random_values(buffer->element, tensor::element_count(buffer), i + 1,
                                           is_signed ? -128 : 0, is_signed ? 127 : 255));
    }
    const auto want = tensor::evaluate(workload, inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    for (const char* name : {"host", "x86_64:cpu=haswell"}) {
      const target::Target target = *target::parse_target(name);
      if (target.arch != target::host_target().arch) continue;
      for (const int threads : {1, 2}) {
        const schedule::Schedule schedule = recipes::default_schedule(
            {.workload = workload, .ports = ports, .target = target, .threads = threads});
        EXPECT_EQ(test::answers(workload, schedule, ports, threads, target, inputs), (*want)[0])
            << name << ", " << threads << " threads\n"
            << schedule::to_string(schedule);
      }
    }
  }
};

TEST_P(IntegerProducts, OfMatricesAreExact) {
  struct Shape {
    int64_t m, k, n;
    bool constant, bias;
  };
  for (const Shape& s :
       {Shape{33, 68, 50, true, false}, Shape{33, 68, 50, true, true}, Shape{33, 68, 50, false, false},
        Shape{70, 132, 97, false, true}, Shape{1, 64, 80, true, true}, Shape{1, 64, 80, false, false},
        Shape{7, 13, 5, true, true}, Shape{60, 4096, 40, true, false}, Shape{2, 2048, 16, false, false}}) {
    SCOPED_TRACE(absl::StrCat(s.m, "x", s.k, "x", s.n, s.constant ? " constant" : "", s.bias ? " bias" : ""));
    ops::Builder b;
    const auto x = b.input("x", GetParam().a, {imm(s.m), imm(s.k)});
    const auto w = s.constant ? b.constant("w", GetParam().b, {imm(s.k), imm(s.n)})
                              : b.input("w", GetParam().b, {imm(s.k), imm(s.n)});
    tensor::Buffer y = ops::matmul(b, x, w);
    if (s.bias) y = ops::bias_add(b, y, b.constant("bias", Element::kInt32, {imm(s.n)}), 1);
    expect_exact(*b.finish({y}), {});
  }
}

TEST_P(IntegerProducts, OfATransposedMatrixAreExact) {
  for (const bool constant : {true, false}) {
    ops::Builder b;
    const auto x = b.input("x", GetParam().a, {imm(50), imm(64)});
    const auto w = constant ? b.constant("w", GetParam().b, {imm(40), imm(64)})
                            : b.input("w", GetParam().b, {imm(40), imm(64)});
    expect_exact(*b.finish({ops::matmul(b, x, w, {.transpose_b = true})}), {});
  }
}

TEST_P(IntegerProducts, InABatchAreExact) {
  ops::Builder b;
  const auto x = b.input("x", GetParam().a, {imm(3), imm(40), imm(32)});
  const auto w = b.input("w", GetParam().b, {imm(3), imm(32), imm(50)});
  expect_exact(*b.finish({ops::matmul(b, x, w)}), {});
}

TEST_P(IntegerProducts, OfConvolutionsAreExact) {
  for (const int64_t groups : {1, 2}) {
    for (const bool blocked : {true, false}) {
      SCOPED_TRACE(absl::StrCat(groups, " groups", blocked ? ", blocked" : ""));
      ops::Builder b;
      const auto x = b.input("x", GetParam().a, {imm(1), imm(32), imm(9), imm(7)});
      const auto w = b.constant("w", GetParam().b, {imm(32), imm(32 / groups), imm(3), imm(3)});
      const auto bias = b.constant("bias", Element::kInt32, {imm(32)});
      const auto y = ops::bias_add(
          b, ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = groups}), bias);
      const tensor::Layout layout =
          blocked ? tensor::Layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 16}}} : tensor::Layout{};
      expect_exact(*b.finish({y}), {{layout}, {layout}});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Signs, IntegerProducts,
                         ::testing::Values(Case{"i8_i8", Element::kInt8, Element::kInt8},
                                           Case{"u8_i8", Element::kUInt8, Element::kInt8},
                                           Case{"i8_u8", Element::kInt8, Element::kUInt8},
                                           Case{"u8_u8", Element::kUInt8, Element::kUInt8}),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace tf::driver
