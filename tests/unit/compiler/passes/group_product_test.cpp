// Products by matrix instructions of four warps, lowered and interpreted, against the workload's definition.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"
#include "compiler/recipes/gpu/tensor_product.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::test {
namespace {

using tensor::Element;
using tensor::Expr;
using ::testing::HasSubstr;
using ::testing::Not;

struct GroupCase {
  Element element = Element::kFloat16;
  int64_t m = 64, n = 64, k = 64;
  int64_t batch = 0;                                // 0: none
  bool a_transposed = false, b_transposed = false;  // a is [k, m], b is [n, k]
  bool epilogue = false;
};

tensor::Workload group_workload(const GroupCase& c) {
  ops::Builder b;
  const tensor::Type sum{tensor::is_float(c.element) ? Element::kFloat32 : Element::kInt32, 1};
  const auto extents = [&](int64_t rows, int64_t columns, bool transposed) {
    std::vector<Expr> all;
    if (c.batch > 0) all.push_back(tensor::imm(c.batch));
    for (const int64_t extent : {transposed ? columns : rows, transposed ? rows : columns})
      all.push_back(tensor::imm(extent));
    return all;
  };
  const tensor::Buffer x = b.input("x", c.element, extents(c.m, c.k, c.a_transposed)),
                       w = b.input("w", c.element, extents(c.k, c.n, c.b_transposed));
  tensor::Buffer y =
      b.reduce("product", sum.element, extents(c.m, c.n, false), {tensor::imm(c.k)}, tensor::Combiner::kSum,
               [&](ops::Indices i, ops::Indices r) {
                 const auto at = [&](const Expr& row, const Expr& column, bool transposed) {
                   std::vector<Expr> all;
                   if (c.batch > 0) all.push_back(i[0]);
                   all.push_back(transposed ? column : row);
                   all.push_back(transposed ? row : column);
                   return all;
                 };
                 const size_t first = c.batch > 0 ? 1 : 0;
                 return tensor::cast(sum, tensor::load(x, at(i[first], r[0], c.a_transposed))) *
                        tensor::cast(sum, tensor::load(w, at(r[0], i[first + 1], c.b_transposed)));
               });
  if (c.epilogue)
    y = ops::relu(b, ops::binary(b, ops::BinaryKind::kAdd, y,
                                 b.input("residual", sum.element, extents(c.m, c.n, false))));
  return *b.finish({y});
}

// That of the width.
schedule::Schedule group_schedule(const tensor::KernelSpec& kernel, int width,
                                  const recipes::TensorTile& tile) {
  for (const recipes::Sketch& sketch : recipes::tensor_product_on_gpu(kernel, tile))
    if (sketch.family.ends_with(absl::StrCat("wgmma n", width)))
      return recipes::instantiate(sketch, sketch.default_point());
  ADD_FAILURE() << "no sketch of width " << width;
  return {};
}

schedule::Schedule group_schedule(const tensor::Workload& workload, int width,
                                  const recipes::TensorTile& tile) {
  return group_schedule({.workload = workload, .target = *target::parse_target("cuda:arch=sm_90a")}, width,
                        tile);
}

void check_group(const GroupCase& c, int width, const recipes::TensorTile& tile, uint64_t seed) {
  const tensor::Workload workload = group_workload(c);
  check_schedule(workload, group_schedule(workload, width, tile), {}, seed,
                 absl::StrCat(c.m, "x", c.n, "x", c.k, " in ", tile.stages, " stages"),
                 passes::gpu_pipeline());
}

TEST(GroupProduct, ReadsSharedMemoryInSwizzledLines) {
  const tensor::Workload workload = group_workload({.m = 128, .n = 128, .k = 192});
  const auto lowered = passes::lower(workload, group_schedule(workload, 64, {2, 1, 1, 1, 4, 3}), {},
                                     {.pipeline = passes::gpu_pipeline(), .verify_each = true});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string text = ir::to_string(lowered->function);
  for (const char* part :
       {"t0.acc: f32[32] register", "p0.pack: f16[24576] shared layout \"^3:3:3\"",
        "matrix publish wgmma_m64n64k16_f16\n", "matrix fence wgmma_m64n64k16_f16 t0.acc[0]",
        "matrix wait wgmma_m64n64k16_f16 0 t0.acc[0]", "rows 64 columns 1"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("load_a")));
}

// Trips of the loop over shared memory: one, around the number of tiles in it, odd.
TEST(GroupProduct, IsFedByPipelinesOfAnyLength) {
  uint64_t seed = 1;
  for (const int64_t stages : {1, 2, 3, 4})
    for (const int64_t trips : {int64_t{1}, stages - 1, stages, stages + 1, int64_t{7}})
      if (trips > 0 && !HasFatalFailure())
        check_group({.m = 64, .n = 64, .k = trips * 64 - (trips % 2), .b_transposed = trips % 2 == 0}, 64,
                    {1, 1, 1, 1, 4, stages}, ++seed);
}

TEST(GroupProduct, OfEachLayoutAndType) {
  uint64_t seed = 40;
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      check_group({.m = 128, .n = 128, .k = 128, .a_transposed = a, .b_transposed = b}, 128,
                  {2, 1, 1, 1, 4, 2}, ++seed);
  check_group({.element = Element::kBFloat16, .m = 64, .n = 256, .k = 64}, 256, {1, 1, 1, 1, 4, 2}, ++seed);
  for (const bool b : {false, true})
    check_group({.element = Element::kInt8, .n = 64, .k = 256, .b_transposed = b}, 64, {1, 1, 1, 1, 4, 2},
                ++seed);
}

TEST(GroupProduct, OfAnySize) {
  std::mt19937 random(9);
  const auto any = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most)) + 1;
  };
  for (int i = 0; i < 8 && !HasFatalFailure(); ++i)
    check_group({.m = any(150),
                 .n = any(100),
                 .k = any(200),
                 .batch = i % 3 == 0 ? any(2) : 0,
                 .a_transposed = any(2) == 1,
                 .b_transposed = any(2) == 1,
                 .epilogue = any(2) == 1},
                64, {any(2), any(2), any(2), 1, 4 * any(2), any(3), any(3)}, static_cast<uint64_t>(i));
}

// Tiles in one piece, with zeros beyond the tensors; those of a factor whose rows do not begin at multiples of 16 bytes by threads.
TEST(GroupProduct, IsFedByTheCopyEngine) {
  const auto boxes = [](const GroupCase& c, const recipes::TensorTile& tile) {
    const tensor::Workload workload = group_workload(c);
    const auto lowered = passes::lower(workload, group_schedule(workload, 64, tile), {},
                                       {.pipeline = passes::gpu_pipeline(), .verify_each = true});
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    const std::string text = lowered.ok() ? ir::to_string(lowered->function) : "";
    std::vector<std::string> found;
    for (size_t at = 0, end = 0; (at = text.find("box ", end)) != std::string::npos;) {
      end = text.find('\n', at);
      found.push_back(text.substr(at, end - at));
    }
    return found;
  };
  using Boxes = std::vector<std::string>;
  const std::string a = "box 128 of 100 box 64 of 136", b = "box 64 of 136 box 64 of 72";
  EXPECT_EQ(boxes({.m = 100, .n = 72, .k = 136}, {2, 1, 1, 1, 4, 2, 1, 1}), (Boxes{a, b, a, b}));
  EXPECT_EQ(boxes({.m = 100, .n = 72, .k = 132}, {2, 1, 1, 1, 4, 2, 1, 1}).size(), 2u) << "b's only";
  EXPECT_EQ(boxes({.m = 64, .n = 64, .k = 256, .b_transposed = true}, {1, 1, 1, 1, 8, 2, 1, 1}).size(), 8u)
      << "two lines a row";
  uint64_t seed = 70;
  for (const int64_t stages : {2, 3, 4})
    for (const int64_t trips : {1, 2, 5})
      check_group({.m = 100, .n = 72, .k = 64 * trips - 8 * (trips % 2), .b_transposed = trips == 2}, 64,
                  {2, 1, 1, 1, 4, stages, 1, 1}, ++seed);
  check_group({.m = 64, .n = 200, .k = 72, .a_transposed = true}, 128, {1, 1, 1, 1, 4, 3, 1, 1}, ++seed);
  check_group({.m = 40, .n = 72, .k = 68}, 64, {1, 1, 1, 1, 4, 3, 1, 1}, ++seed);
  check_group({.m = 70, .n = 72, .k = 136, .batch = 2, .epilogue = true}, 64, {1, 1, 1, 1, 8, 3, 2, 1},
              ++seed);
  check_group({.element = Element::kInt8, .n = 64, .k = 272, .b_transposed = true}, 64,
              {1, 1, 1, 1, 4, 3, 1, 1}, ++seed);
}

TEST(GroupProduct, OfNarrowedFloats) {
  ops::Builder b;
  const tensor::Workload workload =
      *b.finish({ops::relu(b, ops::matmul(b, f32_input(b, {65, 70}), f32_constant(b, {70, 72})))});
  const tensor::KernelSpec kernel{
      .workload = workload, .target = *target::parse_target("cuda:arch=sm_90a"), .allowed = {"bf16", "tf32"}};
  for (const recipes::Sketch& sketch : recipes::tensor_product_on_gpu(kernel))
    check_schedule(workload, recipes::instantiate(sketch, sketch.default_point()), {}, 3, sketch.family,
                   passes::gpu_pipeline());
}

// All that its open sizes can be, under conditions that the default meets; the best guess first, one warp's always there.
TEST(GroupProduct, IsLegalWithOpenSizesAndOrdered) {
  const auto families = [](int64_t m, int64_t n) {
    const tensor::Workload workload = group_workload({.m = m, .n = n, .k = 512});
    const tensor::KernelSpec kernel{.workload = workload,
                                    .target = *target::parse_target("cuda:arch=sm_90a")};
    std::string all;
    for (const recipes::Sketch& sketch : recipes::tensor_product_on_gpu(kernel)) {
      absl::StrAppend(&all, sketch.family, "; ");
      schedule::State state(*sketch.workload, recipes::open_sizes(sketch));
      for (const schedule::Step& step : sketch.steps.steps) {
        const auto error = state.apply(step);
        EXPECT_FALSE(error) << to_string(step) << ": " << schedule::explain(*error, step, state);
      }
      EXPECT_TRUE(schedule::apply(workload, recipes::instantiate(sketch, sketch.default_point())).ok());
    }
    return all;
  };
  EXPECT_EQ(
      families(4096, 4096),
      "tensor product, wgmma n256; tensor product, wgmma n128; tensor product, wgmma n64; tensor product; ");
  EXPECT_EQ(
      families(512, 512),
      "tensor product, wgmma n64; tensor product, wgmma n128; tensor product, wgmma n256; tensor product; ");
  EXPECT_EQ(families(8, 60), "tensor product; tensor product, wgmma n64; ");
}

}  // namespace
}  // namespace tf::test
