// Dot products of narrow elements: each pair of elements that there is, by instructions and by parts, against
// the interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/matmul.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/recipes.h"
#include "compiler/runtime/layout.h"
#include "tests/support/interpreter_oracle/interpreter_oracle.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::backends {
namespace {

using tensor::Element;
using tensor::imm;

struct Elements {
  const char *sum, *a, *b;
};

// Eight sums of `lanes` lanes: half of them with one group of a for all lanes, half with a group for each.
std::string function_text(const Elements& e, int lanes, int group) {
  const int wide = lanes * group;
  const std::string at = absl::StrCat("ramp(i * ", lanes, ", 1, ", lanes, ")"),
                    of_all = absl::StrCat("ramp(i * ", wide, ", 1, ", wide, ")"),
                    shared = absl::StrCat("ramp(i * ", group, ", 1, ", group, ")");
  return absl::StrCat("function kernel(c: ", e.sum, "[", 8 * lanes, "], d: ", e.sum, "[", 8 * lanes,
                      "], a: ", e.a, "[", 8 * wide, "], b: ", e.b, "[", 8 * wide,
                      "]) {\n  for i = 0 extent 8 {\n    c[", at, "] = dot(c[", at, "], a[", of_all, "], b[",
                      of_all, "])\n    d[", at, "] = dot(d[", at, "], a[", shared, "], b[", of_all,
                      "])\n  }\n}\n");
}

// Instructions of aarch64 have four lanes.
std::vector<std::string> targets(int lanes) {
  std::vector<std::string> all = runnable_targets();
  if (lanes != 4) return all;
  for (const char* arm :
       {"aarch64:cpu=cortex-a72", "aarch64:cpu=neoverse-n1", "aarch64:+bf16,+dotprod,+i8mm"})
    all.push_back(arm);
  return all;
}

TEST(Dot, OfBytesAgrees) {
  for (const char* a : {"i8", "u8"})
    for (const char* b : {"i8", "u8"})
      for (int lanes : {4, 8, 16, 32})
        expect_agrees(function_text({"i32", a, b}, lanes, 4), {.targets = targets(lanes)});
  expect_agrees(function_text({"i32", "u8", "i8"}, 8, 2));
}

TEST(Dot, OfBytesAtTheEndsOfTheirRangeDoesNotSaturate) {
  for (const char* a : {"i8", "u8"})
    for (const char* b : {"i8", "u8"})
      expect_agrees(function_text({"i32", a, b}, 16, 4), {.special_values = true});
}

TEST(Dot, OfHalfPrecisionAgrees) {
  for (const char* element : {"bf16", "f16"})
    for (int lanes : {4, 8, 16, 32})
      expect_agrees(function_text({"f32", element, element}, lanes, 2),
                    {.targets = targets(lanes), .tolerance = 1e-4, .low = -4, .high = 4});
}

// Both as the default schedule makes them.
struct Case {
  const char* name;
  Element activations, weights;
  bool convolution;
};
void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

passes::Lowered lowered(const Case& c, const target::Target& target) {
  ops::Builder b;
  tensor::PortLayouts ports;
  tensor::Buffer y;
  if (c.convolution) {
    const auto x = b.input("x", c.activations, {imm(1), imm(32), imm(5), imm(6)});
    const auto w = b.constant("w", c.weights, {imm(20), imm(32), imm(3), imm(3)});
    y = ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
    const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 16}}};
    ports = {{blocked}, {blocked}};
  } else {
    const auto x = b.input("x", c.activations, {imm(5), imm(24)});
    y = ops::matmul(b, x, b.constant("w", c.weights, {imm(24), imm(19)}));
  }
  const tensor::Workload workload = *b.finish({y});
  return *passes::lower(
      workload,
      recipes::default_schedule({.workload = workload, .ports = ports, .target = target, .threads = 2}),
      ports);
}

class DotsOfSchedules : public ::testing::TestWithParam<Case> {};

TEST_P(DotsOfSchedules, AreFormedAndAgree) {
  for (const char* text : {"x86_64:cpu=znver4", "aarch64:+bf16,+dotprod,+i8mm"}) {
    const passes::Lowered kernel = lowered(GetParam(), *target::parse_target(text));
    EXPECT_THAT(ir::to_string(kernel.function), ::testing::HasSubstr("dot(")) << text;
    std::vector<std::string> targets = runnable_targets();
    if (text[0] == 'a') targets = {text};
    expect_agrees(kernel.function,
                  {.targets = targets, .threads = 2, .tolerance = 1e-3, .low = -4, .high = 4});
  }
}

INSTANTIATE_TEST_SUITE_P(All, DotsOfSchedules,
                         ::testing::Values(Case{"matmul_bf16", Element::kBFloat16, Element::kBFloat16, false},
                                           Case{"matmul_u8_i8", Element::kUInt8, Element::kInt8, false},
                                           Case{"matmul_i8", Element::kInt8, Element::kInt8, false},
                                           Case{"matmul_u8", Element::kUInt8, Element::kUInt8, false},
                                           Case{"conv_i8", Element::kInt8, Element::kInt8, true},
                                           Case{"conv_bf16", Element::kBFloat16, Element::kBFloat16, true},
                                           Case{"conv_u8_i8", Element::kUInt8, Element::kInt8, true}),
                         [](const auto& param) { return param.param.name; });

// The documented bound (docs/explanation/precisions.md): the result is rounded to bf16 once, before that each
// product is exact and each of the sums rounds once in f32.
TEST(DotsOfSchedules, OfBFloat16StayWithinTheirErrorBound) {
  constexpr int64_t kM = 5, kK = 512, kN = 19;
  ops::Builder b;
  const auto x = b.input("x", Element::kBFloat16, {imm(kM), imm(kK)});
  const auto w = b.constant("w", Element::kBFloat16, {imm(kK), imm(kN)});
  const tensor::Workload workload = *b.finish({ops::matmul(b, x, w)});
  const target::Target target = target::host_target();
  const passes::Lowered kernel =
      *passes::lower(workload, recipes::default_schedule({.workload = workload, .target = target}), {});
  auto compiled = support::compile_for(kernel.function, target);
  ASSERT_TRUE(compiled.ok()) << compiled.status();

  std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  auto random = [&](int64_t count) {
    std::vector<uint16_t> bits(static_cast<size_t>(count));
    for (uint16_t& v : bits) v = static_cast<uint16_t>(std::bit_cast<uint32_t>(uniform(generator)) >> 16);
    return bits;
  };
  auto real = [](uint16_t bits) { return double{std::bit_cast<float>(uint32_t{bits} << 16)}; };
  const std::vector<uint16_t> a = random(kM * kK), c = random(kK * kN);
  std::vector<std::unique_ptr<support::AlignedBytes>> buffers;
  std::vector<support::AlignedBytes*> pointers;
  for (int64_t elements : kernel.param_elements) {
    buffers.push_back(std::make_unique<support::AlignedBytes>(static_cast<uint64_t>(elements) * 2));
    pointers.push_back(buffers.back().get());
  }
  std::memcpy(buffers[0]->data(), a.data(), a.size() * 2);
  tf_layout layout;
  ASSERT_EQ(tf_layout_parse(kernel.param_layouts[1].text().c_str(), 2, &layout), 0);
  const int64_t extents[] = {kK, kN};
  tf_layout_pack(&layout, extents, 2, 2, c.data(), buffers[1]->data());
  ASSERT_EQ(support::call_kernel(*compiled, pointers), 0);

  const auto y = buffers[2]->as<uint16_t>();
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t n = 0; n < kN; ++n) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < kK; ++k) {
        const double product =
            real(a[static_cast<size_t>(m * kK + k)]) * real(c[static_cast<size_t>(k * kN + n)]);
        sum += product;
        magnitude += std::fabs(product);
      }
      const double bound = std::ldexp(std::fabs(sum), -8) + kK * std::ldexp(magnitude, -24);
      EXPECT_LE(std::fabs(real(y[static_cast<size_t>(m * kN + n)]) - sum), bound) << m << ", " << n;
    }
}

TEST(DotsOfSchedules, AreNotFormedWhereTheTargetHasNoInstruction) {
  const Case c{"matmul_bf16", Element::kBFloat16, Element::kBFloat16, false};
  const passes::Lowered kernel = lowered(c, *target::parse_target("x86_64:cpu=haswell"));
  EXPECT_THAT(ir::to_string(kernel.function), ::testing::Not(::testing::HasSubstr("dot(")));
}

}  // namespace
}  // namespace tf::backends
