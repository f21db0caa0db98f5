// The default schedules of matrix products, on targets with caches so small that small products are packed,
// blocked and summed in parts as large ones are, against the workload's definition in double precision.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/compiler/passes/lowered_run.h"

namespace tf::test {
namespace {

using tensor::imm;
using ::testing::HasSubstr;

constexpr auto kF32 = tensor::Element::kFloat32;

struct Product {
  const char* name;
  int64_t batch, m, n, k;  // batch 0: plain matrices
  bool transposed = false, constant = false, bias = false;
  bool packs = false, sums_parts = false;
};
void PrintTo(const Product& each, std::ostream* out) {
  *out << each.name;
}

tensor::Workload workload_of(const Product& p) {
  ops::Builder b;
  std::vector<tensor::Expr> x = {imm(p.m), imm(p.k)}, y = {imm(p.k), imm(p.n)};
  if (p.transposed) std::swap(y[0], y[1]);
  if (p.batch > 0) {
    x.insert(x.begin(), imm(p.batch));
    y.insert(y.begin(), imm(p.batch));
  }
  const auto a = b.input("a", kF32, x);
  const auto columns = p.constant ? b.constant("b", kF32, y) : b.input("b", kF32, y);
  auto result = ops::matmul(b, a, columns, {.transpose_b = p.transposed});
  if (p.bias) result = ops::relu(b, ops::bias_add(b, result, b.constant("c", kF32, {imm(p.n)})));
  return *b.finish({result});
}

class MatrixProduct : public ::testing::TestWithParam<Product> {};

TEST_P(MatrixProduct, AgreesWithItsDefinitionUnderTheDefaultSchedule) {
  const Product& product = GetParam();
  const tensor::Workload workload = workload_of(product);
  for (const char* text : {"x86_64:cpu=znver4,l2=1K", "x86_64:cpu=haswell,l2=1K"}) {
    const target::Target target = target::parse_target(text).value();
    for (int threads : {1, 2}) {
      const schedule::Schedule schedule =
          recipes::default_schedule({.workload = workload, .target = target, .threads = threads});
      const std::string steps = schedule::to_string(schedule);
      EXPECT_EQ(absl::StrContains(steps, "cache_read p1 "), product.packs) << steps;
      EXPECT_EQ(absl::StrContains(steps, "rfactor"), product.sums_parts) << steps;
      check_schedule(workload, schedule, {}, 1, absl::StrCat(text, ", ", threads, " threads"));
    }
  }
}

TEST(ParallelSplitK, AgreeWithTheirDefinition) {
  // Fewer tiles of results than threads: each thread sums a part, the last one a shorter one.
  for (const bool bias : {false, true}) {
    const tensor::Workload workload =
        workload_of({.name = "", .batch = 0, .m = 6, .n = 63, .k = 1400, .constant = true, .bias = bias});
    const schedule::Schedule schedule = recipes::default_schedule(
        {.workload = workload, .target = target::parse_target("x86_64:cpu=znver4").value(), .threads = 16});
    const std::string steps = schedule::to_string(schedule);
    EXPECT_TRUE(absl::StrContains(steps, "cache_write t0.rf")) << steps;
    EXPECT_TRUE(absl::StrContains(steps, "parallel")) << steps;
    check_schedule(workload, schedule, {}, 1, "shared sums");
  }
}

// The last block is shorter, its last panel narrower, and the last tile there lower.
TEST(EdgesOfBlocks, HaveTilesWithoutConditions) {
  const tensor::Workload workload = workload_of({.name = "", .batch = 0, .m = 67, .n = 80, .k = 5});
  const schedule::Schedule schedule = schedule::parse_schedule(R"(schedule v1
cache_write t0
split t0 i0 7,6 guard
split t0 i1 2,4,16 guard
reorder t0 i0.0,i1.0,i1.1,i0.1,i0.2,i1.2,i1.3
annotate t0 i0.2 unroll
annotate t0 i1.2 unroll
annotate t0 i1.3 vectorize
compute_at t0.acc t0 i0.1 register
split t0.acc i1 16 guard
reorder t0.acc r0,i0,i1.0,i1.1
annotate t0.acc i0 unroll
annotate t0.acc i1.0 unroll
annotate t0.acc i1.1 vectorize
)")
                                          .value();
  check_schedule(workload, schedule, {}, 1, "blocks");
  const std::string loops = ir::to_string(passes::lower(workload, schedule, {}).value().function);
  // Whether a block has a tile may be asked; not for each of its rows.
  EXPECT_THAT(loops, ::testing::Not(HasSubstr("] if ")));
}

TEST(RowMajorConvolution, IsAProductOfFiltersByPixels) {
  struct Shape {
    int64_t channels, filters, height, width, kernel;
  };
  // The last is over L2: its filters stay outside of the pixels.
  for (const Shape& c : {Shape{9, 21, 3, 37, 1}, Shape{5, 13, 5, 7, 3}, Shape{1, 1, 1, 1, 1},
                         Shape{4, 3, 1, 19, 1}, Shape{16, 23, 4, 7, 1}}) {
    ops::Builder b;
    const auto x = b.input("x", kF32, {imm(1), imm(c.channels), imm(c.height), imm(c.width)});
    const auto w = b.constant("w", kF32, {imm(c.filters), imm(c.channels), imm(c.kernel), imm(c.kernel)});
    const std::vector<int64_t> pads(2, c.kernel / 2);
    const tensor::Workload workload =
        *b.finish({ops::relu(b, ops::conv(b, x, w, {.pads_begin = pads, .pads_end = pads}))});
    for (const char* text : {"x86_64:cpu=znver4,l2=1K", "x86_64:cpu=haswell", "aarch64:cpu=cortex-a72"}) {
      for (int threads : {1, 2}) {
        const schedule::Schedule schedule = recipes::default_schedule(
            {.workload = workload, .target = target::parse_target(text).value(), .threads = threads});
        const std::string steps = schedule::to_string(schedule);
        if (c.filters > 20) {  // several filters a tile, one row of pixels
          EXPECT_THAT(steps, ::testing::ContainsRegex("i1 [0-9]+,([2-9]|[1-9][0-9])+ guard")) << text;
          EXPECT_THAT(steps, ::testing::ContainsRegex("i2 [0-9]+,1 guard")) << text;
        }
        check_schedule(workload, schedule, {}, 1, absl::StrCat(text, ", ", threads, " threads"));
      }
    }
  }
}

struct NarrowProduct {
  const char* name;
  tensor::Element a, b, sum;
  bool constant;
};
void PrintTo(const NarrowProduct& each, std::ostream* out) {
  *out << each.name;
}

class NarrowMatrixProduct : public ::testing::TestWithParam<NarrowProduct> {};

// Not rounded to narrow elements at the end, so that sums can be compared.
TEST_P(NarrowMatrixProduct, IsPackedAndSummedInPartsLikeAnyOther) {
  const NarrowProduct& product = GetParam();
  for (const int64_t k : {int64_t{36}, int64_t{2052}}) {
    const int64_t m = k < 100 ? 131 : 20, n = 35;
    ops::Builder builder;
    // Small enough that a long sum in single precision is one within the tolerance.
    const ops::Domain domain = product.sum == kF32 ? ops::Domain{-0.5, 0.5} : ops::Domain{0, 100};
    const auto a = builder.input("a", product.a, {imm(m), imm(k)}, domain);
    const auto b = product.constant ? builder.constant("b", product.b, {imm(k), imm(n)}, domain)
                                    : builder.input("b", product.b, {imm(k), imm(n)}, domain);
    const auto sum = builder.reduce("product", product.sum, {imm(m), imm(n)}, {imm(k)},
                                    tensor::Combiner::kSum, [&](auto i, auto r) {
                                      const tensor::Type type{product.sum, 1};
                                      return tensor::cast(type, tensor::load(a, {i[0], r[0]})) *
                                             tensor::cast(type, tensor::load(b, {r[0], i[1]}));
                                    });
    const tensor::Workload workload = *builder.finish({sum});
    for (const char* text : {"x86_64:cpu=znver4,l2=1K", "x86_64:cpu=haswell,l2=1K"}) {
      const schedule::Schedule schedule =
          recipes::default_schedule({.workload = workload, .target = target::parse_target(text).value()});
      const std::string steps = schedule::to_string(schedule);
      // For dot products, which these elements have on the first of them, a copy always pays.
      const bool dots = absl::StrContains(text, "znver4") && product.a != tensor::Element::kFloat16;
      EXPECT_EQ(absl::StrContains(steps, "cache_read p1 "), !product.constant && (m > 100 || dots)) << steps;
      EXPECT_EQ(absl::StrContains(steps, "rfactor"), k > 2000) << steps;
      check_schedule(workload, schedule, {}, 1, text);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Elements, NarrowMatrixProduct,
    ::testing::Values(
        NarrowProduct{"bf16", tensor::Element::kBFloat16, tensor::Element::kBFloat16, kF32, false},
        NarrowProduct{"bf16_constant", tensor::Element::kBFloat16, tensor::Element::kBFloat16, kF32, true},
        NarrowProduct{"f16", tensor::Element::kFloat16, tensor::Element::kFloat16, kF32, false},
        NarrowProduct{"f32_by_f16_constant", kF32, tensor::Element::kFloat16, kF32, true},
        NarrowProduct{"u8_i8", tensor::Element::kUInt8, tensor::Element::kInt8, tensor::Element::kInt32,
                      false},
        NarrowProduct{"i8_constant", tensor::Element::kInt8, tensor::Element::kInt8, tensor::Element::kInt32,
                      true}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Small, MatrixProduct,
    ::testing::Values(
        Product{.name = "packed", .batch = 0, .m = 131, .n = 67, .k = 9, .packs = true},
        Product{
            .name = "packed_with_bias", .batch = 0, .m = 128, .n = 33, .k = 8, .bias = true, .packs = true},
        Product{.name = "batch_packed", .batch = 2, .m = 127, .n = 65, .k = 5, .packs = true},
        Product{
            .name = "transposed", .batch = 0, .m = 40, .n = 35, .k = 7, .transposed = true, .packs = true},
        Product{.name = "batch_transposed",
                .batch = 3,
                .m = 40,
                .n = 17,
                .k = 6,
                .transposed = true,
                .bias = false,
                .packs = true},
        Product{.name = "constant", .batch = 0, .m = 61, .n = 150, .k = 10, .constant = true},
        Product{.name = "long_sum",
                .batch = 0,
                .m = 40,
                .n = 20,
                .k = 2050,
                .constant = true,
                .sums_parts = true},
        Product{.name = "long_sum_with_bias",
                .batch = 0,
                .m = 40,
                .n = 20,
                .k = 2049,
                .constant = true,
                .bias = true,
                .sums_parts = true},
        Product{.name = "one_row", .batch = 0, .m = 1, .n = 135, .k = 67, .sums_parts = true},
        Product{.name = "few_rows_with_bias",
                .batch = 0,
                .m = 5,
                .n = 135,
                .k = 67,
                .bias = true,
                .sums_parts = true},
        Product{.name = "one_column", .batch = 0, .m = 37, .n = 1, .k = 65, .sums_parts = true},
        Product{.name = "one_row_transposed",
                .batch = 0,
                .m = 1,
                .n = 37,
                .k = 65,
                .transposed = true,
                .sums_parts = true},
        Product{.name = "one_row_constant", .batch = 0, .m = 1, .n = 135, .k = 67, .constant = true},
        Product{.name = "rows_in_blocks", .batch = 0, .m = 37, .n = 1, .k = 530, .sums_parts = true},
        Product{.name = "rows_in_blocks_with_bias",
                .batch = 0,
                .m = 33,
                .n = 1,
                .k = 512,
                .bias = true,
                .sums_parts = true},
        Product{.name = "rows_a_page_apart", .batch = 0, .m = 41, .n = 8, .k = 1024, .sums_parts = true},
        Product{.name = "parts_of_panels_with_bias",
                .batch = 0,
                .m = 41,
                .n = 72,
                .k = 1000,
                .bias = true,
                .sums_parts = true},
        Product{.name = "one_element", .batch = 0, .m = 1, .n = 1, .k = 1},
        Product{.name = "one_term", .batch = 0, .m = 9, .n = 18, .k = 1},
        Product{.name = "no_terms", .batch = 0, .m = 9, .n = 18, .k = 0},
        Product{.name = "no_terms_with_bias", .batch = 0, .m = 9, .n = 18, .k = 0, .bias = true},
        Product{.name = "no_rows", .batch = 0, .m = 0, .n = 18, .k = 5, .bias = true},
        Product{.name = "no_columns", .batch = 0, .m = 9, .n = 0, .k = 5, .constant = true}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tf::test
