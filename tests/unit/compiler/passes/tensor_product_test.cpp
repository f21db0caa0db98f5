// Products by matrix instructions, lowered and interpreted, against the workload's definition.

#include "compiler/recipes/gpu/tensor_product.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/numerics.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::test {
namespace {

using tensor::Element;
using tensor::Expr;
using ::testing::HasSubstr;
using ::testing::Not;

struct TensorCase {
  Element a = Element::kFloat16, b = Element::kFloat16;
  int64_t m = 16, n = 8, k = 16;
  int64_t batch = 0;        // 0: none
  bool transposed = false;  // b is [n, k]
  bool epilogue = false;
};

Element sum_of(Element element) {
  return tensor::is_float(element) ? Element::kFloat32 : Element::kInt32;
}

// The sums as they are, not rounded to the factors' type.
tensor::Workload product(const TensorCase& c) {
  ops::Builder b;
  const tensor::Type sum{sum_of(c.a), 1};
  const auto extents = [&](int64_t rows, int64_t columns) {
    std::vector<Expr> all;
    if (c.batch > 0) all.push_back(tensor::imm(c.batch));
    all.push_back(tensor::imm(rows));
    all.push_back(tensor::imm(columns));
    return all;
  };
  const tensor::Buffer x = b.input("x", c.a, extents(c.m, c.k)),
                       w = b.input("w", c.b, c.transposed ? extents(c.n, c.k) : extents(c.k, c.n));
  tensor::Buffer y = b.reduce(
      "product", sum.element, extents(c.m, c.n), {tensor::imm(c.k)}, tensor::Combiner::kSum,
      [&](ops::Indices i, ops::Indices r) {
        const size_t first = c.batch > 0 ? 1 : 0;
        std::vector<Expr> left(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(first)), right = left;
        left.insert(left.end(), {i[first], r[0]});
        const Expr column = i[first + 1];
        right.insert(right.end(), {c.transposed ? column : Expr(r[0]), c.transposed ? Expr(r[0]) : column});
        return tensor::cast(sum, tensor::load(x, left)) * tensor::cast(sum, tensor::load(w, right));
      });
  if (c.epilogue)
    y = ops::relu(
        b, ops::binary(b, ops::BinaryKind::kAdd, y, b.input("residual", sum.element, extents(c.m, c.n))));
  return *b.finish({y});
}

schedule::Schedule tensor_schedule(const tensor::Workload& workload, const char* arch,
                                   const recipes::TensorTile& tile = {}) {
  const auto sketches = recipes::tensor_product_on_gpu(
      {.workload = workload, .target = *target::parse_target(absl::StrCat("cuda:arch=", arch))}, tile);
  EXPECT_EQ(sketches.size(), 1u);
  return sketches.empty() ? schedule::Schedule{}
                          : recipes::instantiate(sketches[0], sketches[0].default_point());
}

void check_product(const TensorCase& c, const char* arch, const recipes::TensorTile& tile, uint64_t seed) {
  const tensor::Workload workload = product(c);
  check_schedule(workload, tensor_schedule(workload, arch, tile), {}, seed,
                 absl::StrCat(c.m, "x", c.n, "x", c.k, " for ", arch), passes::gpu_pipeline());
}

TEST(TensorProduct, IsMatrixInstructionsOnFragments) {
  const tensor::Workload workload = product({.m = 64, .n = 32, .k = 64});
  const schedule::Schedule schedule = tensor_schedule(workload, "sm_80", {2, 2, 2, 2, 2});
  const auto lowered =
      passes::lower(workload, schedule, {}, {.pipeline = passes::gpu_pipeline(), .verify_each = true});
  ASSERT_TRUE(lowered.ok()) << lowered.status() << to_string(schedule);
  const std::string text = ir::to_string(lowered->function);
  for (const char* part : {"matrix zero mma_m16n8k16_f16 t0.acc[0]", "matrix load_a", "matrix load_b",
                           "matrix multiply mma_m16n8k16_f16", "barrier", "t0.acc: f32[16] register",
                           "p0.pack.pack: f16[16] register"})
    EXPECT_THAT(text, HasSubstr(part));
  check_schedule(workload, schedule, {}, 1, "64x32x64", passes::gpu_pipeline());
}

// The steps with a pipeline over the loop that the copies into shared memory are made in.
schedule::Schedule pipelined(const tensor::Workload& workload, schedule::Schedule steps, int64_t stages) {
  const absl::StatusOr<schedule::State> state = schedule::apply(workload, steps);
  EXPECT_TRUE(state.ok()) << state.status();
  const auto shared =
      std::ranges::find(state->stages(), tensor::Scope::kShared, &schedule::StageState::scope);
  steps.steps.push_back(schedule::Pipeline{shared->consumer, shared->consumer_loop, stages});
  return steps;
}

TEST(TensorProduct, IsFedByPipelinesOfAnyLength) {
  for (const int64_t stages : {2, 3, 4}) {
    for (const int64_t k : {9, 16, 32, 40, 48, 64, 90, 128}) {
      const tensor::Workload workload = product({.m = 40, .n = 24, .k = k, .epilogue = k == 40});
      const schedule::Schedule steps =
          pipelined(workload, tensor_schedule(workload, "sm_80", {1, 2, 2, 1, 1}), stages);
      const auto lowered = passes::lower(workload, steps, {}, {.pipeline = passes::gpu_pipeline()});
      ASSERT_TRUE(lowered.ok()) << lowered.status();
      EXPECT_THAT(ir::to_string(lowered->function), HasSubstr("async_copy"));
      check_schedule(workload, steps, {}, static_cast<uint64_t>(k), absl::StrCat(k, " by ", stages),
                     passes::gpu_pipeline());
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(TensorProduct, OfEachTypeAndArchitecture) {
  uint64_t seed = 10;
  for (const char* arch : {"sm_75", "sm_80", "sm_120"}) {
    check_product({.m = 32, .n = 16, .k = 64}, arch, {1, 2, 2, 1, 2}, ++seed);
    check_product({.a = Element::kInt8, .b = Element::kInt8, .m = 32, .n = 16, .k = 64}, arch,
                  {2, 1, 1, 2, 2}, ++seed);
    check_product({.a = Element::kUInt8, .b = Element::kInt8, .m = 16, .n = 16, .k = 64, .transposed = true},
                  arch, {1, 1, 1, 2, 1}, ++seed);
  }
  check_product({.a = Element::kBFloat16, .b = Element::kBFloat16, .m = 32, .n = 16, .k = 32}, "sm_86",
                {1, 1, 2, 2, 1}, ++seed);
}

// All that its open sizes can be: the steps are legal before any is chosen, under conditions that the default meets.
TEST(TensorProduct, IsLegalWithOpenSizes) {
  for (const TensorCase& c :
       {TensorCase{.m = 384, .n = 1000, .k = 500},
        {.m = 7, .n = 9, .k = 5},
        {.a = Element::kInt8, .b = Element::kInt8, .m = 384, .n = 1000, .k = 500, .transposed = true}}) {
    const tensor::Workload workload = product(c);
    const auto sketches = recipes::tensor_product_on_gpu(
        {.workload = workload, .target = *target::parse_target("cuda:arch=sm_86")});
    ASSERT_EQ(sketches.size(), 1u);
    schedule::State state(*sketches[0].workload, recipes::open_sizes(sketches[0]));
    for (const schedule::Step& step : sketches[0].steps.steps) {
      const auto error = state.apply(step);
      ASSERT_FALSE(error) << to_string(step) << ": " << schedule::explain(*error, step, state);
    }
  }
}

// Factors of f32 are stored in 16 bits where that is allowed: a constant in memory, anything else on its way.
TEST(TensorProduct, OfNarrowedFloats) {
  for (const bool constant : {false, true}) {
    ops::Builder b;
    const tensor::Buffer x = f32_input(b, {33, 40});
    const tensor::Buffer w = constant ? f32_constant(b, {40, 24}) : f32_input(b, {40, 24});
    const tensor::Workload workload = *b.finish({ops::relu(b, ops::matmul(b, x, w))});
    tensor::KernelSpec kernel{.workload = workload, .target = *target::parse_target("cuda:arch=sm_86")};
    EXPECT_TRUE(recipes::tensor_product_on_gpu(kernel).empty());
    kernel.allowed = {"bf16", "fp16", "tf32"};
    const auto sketches = recipes::tensor_product_on_gpu(kernel, {1, 1, 2, 2, 2});
    ASSERT_EQ(sketches.size(), 3u);
    for (const recipes::Sketch& sketch : sketches) {
      const schedule::Schedule schedule = recipes::instantiate(sketch, sketch.default_point());
      const schedule::Numerics used = schedule::numerics_of(schedule);
      ASSERT_EQ(used.size(), 1u);
      const bool narrows = used[0] != "tf32";
      const std::string step = constant ? "narrow p1 " : "narrow p1.pack ";
      EXPECT_EQ(to_string(schedule).find(step) != std::string::npos, narrows) << to_string(schedule);
      check_schedule(workload, schedule, {}, 3, sketch.family, passes::gpu_pipeline());
    }
  }
}

TEST(TensorProduct, OfAnySize) {
  std::mt19937 random(5);
  const auto any = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most)) + 1;
  };
  // Trips of the loop over shared memory: one, around a whole number, odd.
  for (const int64_t k : {1, 15, 16, 17, 31, 32, 33, 95, 96, 97})
    for (const int64_t stages : {1, 2, 3, 4})
      check_product({.m = any(40), .n = any(40), .k = k, .transposed = k % 2 == 0, .epilogue = k % 3 == 0},
                    "sm_80", {any(2), any(2), any(2), any(2), any(2), stages, any(3)},
                    static_cast<uint64_t>(k));
  for (int i = 0; i < 6; ++i)
    check_product({.m = any(40), .n = any(40), .k = any(70), .batch = any(3), .transposed = i % 2 == 0},
                  "sm_75", {any(2), any(2), any(2), any(2), any(2)}, static_cast<uint64_t>(i));
  for (int i = 0; i < 4; ++i)
    check_product({.a = Element::kInt8,
                   .b = Element::kInt8,
                   .m = any(40),
                   .n = any(40),
                   .k = any(140),
                   .transposed = i % 2 == 0},
                  "sm_87", {any(2), any(2), any(2), any(2), any(2)}, static_cast<uint64_t>(i));
}

TEST(TensorProduct, OfWhateverIsChosen) {
  std::mt19937 random(11);
  for (const TensorCase& c : {TensorCase{.m = 70, .n = 45, .k = 90, .transposed = true},
                              {.m = 64, .n = 96, .k = 64, .epilogue = true},
                              {.a = Element::kInt8, .b = Element::kInt8, .m = 40, .n = 33, .k = 150}}) {
    const tensor::Workload workload = product(c);
    const auto sketches = recipes::tensor_product_on_gpu(
        {.workload = workload, .target = *target::parse_target("cuda:arch=sm_89")});
    ASSERT_EQ(sketches.size(), 1u);
    for (int i = 0; i < 2; ++i) {
      recipes::Point point;
      for (const recipes::Parameter& parameter : sketches[0].parameters)
        point.push_back(static_cast<uint32_t>(random() % parameter.choices.size()));
      const schedule::Schedule schedule = recipes::instantiate(sketches[0], point);
      if (schedule::apply(workload, schedule).ok())  // shared memory may be too small
        check_schedule(workload, schedule, {}, 7, recipes::to_string(point), passes::gpu_pipeline());
    }
  }
}

// Rows or terms whose number is known at run time: by the schedule of one size.
TEST(TensorProduct, OfOpenSizes) {
  for (const bool terms : {false, true}) {
    ops::Builder b;
    const tensor::Var n = tensor::var("n");
    b.dimension({n, 1, 64});
    const std::vector<Expr> left = {terms ? tensor::imm(33) : Expr(n), terms ? Expr(n) : tensor::imm(40)};
    const tensor::Buffer x = b.input("x", Element::kFloat32, left);
    const tensor::Buffer w = b.input("w", Element::kFloat32, {left[1], tensor::imm(24)});
    const tensor::Workload workload = *b.finish({ops::relu(b, ops::matmul(b, x, w))});
    const tensor::Workload bound = tensor::bind(workload, {{"n", 37}}).value();
    const auto sketches = recipes::tensor_product_on_gpu(
        {.workload = bound, .target = *target::parse_target("cuda:arch=sm_86"), .allowed = {"bf16"}},
        {1, 2, 2, 1, 2});
    ASSERT_EQ(sketches.size(), 1u);
    const schedule::Schedule schedule = recipes::instantiate(sketches[0], sketches[0].default_point());
    const auto lowered =
        passes::lower(workload, schedule, {}, {.pipeline = passes::gpu_pipeline(), .verify_each = true});
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    for (const int64_t size : {1, 7, 32, 37, 64})
      if (!HasFailure()) check_run(workload, *lowered, schedule, {{"n", size}}, 5);
  }
}

}  // namespace
}  // namespace tf::test
