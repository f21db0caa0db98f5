// NaN and infinity through whole kernels that multiply bf16: where exact arithmetic has one, they have the
// same, and nowhere else.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/ops/convolution.h"
#include "compiler/ops/matmul.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/numerics.h"
#include "compiler/tensor/evaluate.h"
#include "tests/support/ir/host_memory.h"
#include "tests/unit/compiler/driver/narrow_schedule.h"
#include "tests/unit/compiler/driver/relative_error.h"

namespace tf::driver {
namespace {

using tensor::Element;
using tensor::imm;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct SpecialKernel {
  tensor::Workload workload;
  tensor::PortLayouts ports;
};

SpecialKernel special_product(Element element) {
  ops::Builder b;
  const auto x = b.input("x", element, {imm(13), imm(64)});
  const auto w = b.constant("w", element, {imm(64), imm(37)});
  return {*b.finish({ops::matmul(b, x, w)}), {}};
}

SpecialKernel special_convolution(Element element) {
  ops::Builder b;
  const auto x = b.input("x", element, {imm(1), imm(32), imm(7), imm(6)});
  const auto w = b.constant("w", element, {imm(20), imm(32), imm(3), imm(3)});
  const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 16}}};
  return {*b.finish({ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}})}),
          {{blocked}, {blocked}}};
}

// Five special elements, far apart.
std::vector<std::vector<double>> special_inputs(const tensor::Workload& workload) {
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    const tensor::Buffer& buffer = workload.inputs[i].buffer;
    inputs.push_back(test::random_values(buffer->element, tensor::element_count(buffer), i + 1));
  }
  std::vector<double>& x = inputs[0];
  const double special[] = {std::nan(""), kInfinity, -kInfinity, -0.0, 3e38};
  for (size_t i = 0; i < std::size(special); ++i) x[(2 * i + 1) * x.size() / 10] = special[i];
  // What an infinity meets: a zero, which makes a NaN of it.
  for (size_t i = 0; i < inputs[1].size(); i += 11) inputs[1][i] = 0;
  return inputs;
}

void expect_same_kinds(const SpecialKernel& kernel, const schedule::Schedule& schedule, int threads,
                       const target::Target& target) {
  const std::vector<std::vector<double>> inputs = special_inputs(kernel.workload);
  const std::vector<double> got =
      test::answers(kernel.workload, schedule, kernel.ports, threads, target, inputs);
  const auto exact = tensor::evaluate(tensor::with_magnitudes(kernel.workload), inputs);
  ASSERT_TRUE(exact.ok()) << exact.status();
  const std::vector<double>&want = (*exact)[0], &magnitudes = (*exact)[1];
  ASSERT_EQ(got.size(), want.size());
  int nans = 0, infinities = 0, finite = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
      ++nans;
    } else if (std::isinf(want[i])) {
      EXPECT_EQ(got[i], want[i]) << i;
      ++infinities;
    } else {
      EXPECT_LE(std::fabs(got[i] - want[i]), 3 * 0x1p-8 * magnitudes[i]) << i;
      ++finite;
    }
  }
  EXPECT_GT(nans, 0);
  EXPECT_GT(infinities, 0);
  EXPECT_GT(finite, 0);
}

class SpecialValues : public ::testing::TestWithParam<SpecialKernel (*)(Element)> {};

TEST_P(SpecialValues, PassThroughProductsOfBFloats) {
  const SpecialKernel kernel = GetParam()(Element::kBFloat16);
  for (const char* name : {"host", "x86_64:cpu=haswell", "x86_64:cpu=nehalem"}) {
    const target::Target target = *target::parse_target(name);
    if (target.arch != target::host_target().arch) continue;
    SCOPED_TRACE(name);
    for (const int threads : {1, 2})
      expect_same_kinds(
          kernel,
          recipes::default_schedule(
              {.workload = kernel.workload, .ports = kernel.ports, .target = target, .threads = threads}),
          threads, target);
  }
}

TEST_P(SpecialValues, PassThroughFactorsThatAreStoredAsBFloats) {
  const SpecialKernel kernel = GetParam()(Element::kFloat32);
  for (const char* name : {"host", "x86_64:cpu=haswell", "x86_64:cpu=nehalem"}) {
    const target::Target target = *target::parse_target(name);
    if (target.arch != target::host_target().arch) continue;
    SCOPED_TRACE(name);
    const schedule::Schedule schedule = test::narrow_schedule(
        {.workload = kernel.workload, .ports = kernel.ports, .target = target}, schedule::kBf16);
    EXPECT_EQ(schedule::numerics_of(schedule), schedule::Numerics{schedule::kBf16});
    expect_same_kinds(kernel, schedule, 1, target);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SpecialValues, ::testing::Values(special_product, special_convolution),
                         [](const auto& param) { return param.index == 0 ? "product" : "convolution"; });

}  // namespace
}  // namespace tf::driver
