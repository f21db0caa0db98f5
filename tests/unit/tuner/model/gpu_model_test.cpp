// The analytic model of GPUs: the order in which published kernels of one product are, and what of a launch it counts.

#include "tuner/model/gpu/gpu_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "compiler/ops/matmul.h"
#include "compiler/recipes/recipes.h"
#include "compiler/recipes/shape/structure.h"
#include "tests/unit/compiler/passes/small_workloads.h"
#include "tuner/model/evaluator.h"
#include "tuner/model/gpu/gpu_rates.h"
#include "tuner/space/sampling.h"
#include "tuner/space/space.h"

namespace tf::model {
namespace {

using schedule::Annotate;
using schedule::Annotation;
using schedule::Split;
using schedule::Step;
using tensor::Scope;

target::Target target_of(const char* text) {
  return target::parse_target(text).value();
}

tensor::Workload product(int64_t m, int64_t n, int64_t k) {
  ops::Builder b;
  const tensor::Buffer left = test::f32_input(b, {m, k}), right = test::f32_constant(b, {k, n});
  return *b.finish({ops::matmul(b, left, right)});
}

tensor::Workload product_of_halves(int64_t m, int64_t n, int64_t k) {
  ops::Builder b;
  const auto halves = tensor::Element::kFloat16;
  const tensor::Buffer left = b.input("x", halves, {tensor::imm(m), tensor::imm(k)});
  return *b.finish({ops::matmul(b, left, b.constant("w", halves, {tensor::imm(k), tensor::imm(n)}))});
}

// A block of threads_m by threads_n, each with rows by columns elements in registers.
struct Rung {
  const char* name;
  int64_t threads_m, threads_n, rows = 1, columns = 1;
  int64_t reduce = 8;
  bool rows_along_x = false;  // neighbouring threads take neighbouring rows, not columns
  bool staged = true;
  bool turned = false;  // the left operand lies by columns in shared memory: rows of a thread are neighbours
  int64_t lanes_m = 0;  // of a warp, that then is a square of the tile; 0: a row of it
};

void append_staging(const std::string& operand, const Rung& rung, std::vector<Step>& steps) {
  const std::string copy = operand + ".pack", all = "i0*i1";
  schedule::OpenLayout layout;
  if (rung.turned && operand == "p0") layout.axes = {{1, 0}, {0, 0}};
  steps.push_back(schedule::CacheRead{operand, "t0.acc", layout, Scope::kGlobal});
  steps.push_back(schedule::ComputeAt{copy, "t0.acc", "r0.0", Scope::kShared});
  steps.push_back(schedule::Fuse{copy, {"i0", "i1"}});
  std::vector<schedule::Size> factors = {rung.threads_m, rung.threads_n};
  if (rung.lanes_m > 0) factors = {rung.threads_m * rung.threads_n};
  const std::string innermost = all + (rung.lanes_m > 0 ? ".1" : ".2");
  if (rung.turned) factors.push_back(4);  // neighbours, by one request
  steps.push_back(Split{copy, all, factors, schedule::Tail::kGuard});
  if (rung.lanes_m == 0) steps.push_back(Annotate{copy, all + ".1", Annotation::kThreadY});
  steps.push_back(Annotate{copy, innermost, Annotation::kThreadX});
  if (rung.turned)
    steps.push_back(Annotate{copy, all + (rung.lanes_m > 0 ? ".2" : ".3"), Annotation::kUnroll});
}

// Returns the innermost loop of threads.
std::string append_tile(const Rung& rung, std::vector<Step>& steps) {
  steps.push_back(schedule::CacheWrite{"t0"});
  std::string inner;
  if (rung.lanes_m > 0) {
    const int64_t lanes_n = 32 / rung.lanes_m;
    steps.push_back(Split{"t0", "i0", {rung.threads_m / rung.lanes_m, rung.lanes_m, rung.rows}});
    steps.push_back(Split{"t0", "i1", {rung.threads_n / lanes_n, lanes_n, rung.columns}});
    steps.push_back(
        schedule::Reorder{"t0", {"i0.0", "i1.0", "i0.1", "i1.1", "i0.2", "i1.2", "i0.3", "i1.3"}});
    steps.push_back(schedule::Fuse{"t0", {"i0.1", "i1.1", "i0.2", "i1.2"}});
    inner = "i0.1*i1.1*i0.2*i1.2";
    steps.push_back(Annotate{"t0", inner, Annotation::kThreadX});
  } else {
    steps.push_back(Split{"t0", "i0", {rung.threads_m, rung.rows}});
    steps.push_back(Split{"t0", "i1", {rung.threads_n, rung.columns}});
    steps.push_back(schedule::Reorder{"t0", {"i0.0", "i1.0", "i0.1", "i1.1", "i0.2", "i1.2"}});
    steps.push_back(Annotate{"t0", "i0.1", rung.rows_along_x ? Annotation::kThreadX : Annotation::kThreadY});
    inner = "i1.1";
    steps.push_back(Annotate{"t0", inner, rung.rows_along_x ? Annotation::kThreadY : Annotation::kThreadX});
  }
  steps.push_back(Annotate{"t0", "i0.0", Annotation::kGridY});
  steps.push_back(Annotate{"t0", "i1.0", Annotation::kGridX});
  return inner;
}

schedule::State state_of(const tensor::Workload& workload, const Rung& rung) {
  std::vector<Step> steps;
  const std::string thread = append_tile(rung, steps);
  steps.push_back(schedule::ComputeAt{"t0.acc", "t0", thread, Scope::kRegister});
  steps.push_back(Split{"t0.acc", "r0", {rung.reduce}});
  steps.push_back(schedule::Reorder{"t0.acc", {"r0.0", "r0.1", "i0", "i1"}});
  for (const char* loop : {"i0", "i1"}) steps.push_back(Annotate{"t0.acc", loop, Annotation::kUnroll});
  if (rung.staged)
    for (const char* operand : {"p0", "p1"}) append_staging(operand, rung, steps);
  schedule::State state(workload);
  for (const Step& step : steps)
    if (const auto error = state.apply(step))
      ADD_FAILURE() << rung.name << ": " << explain(*error, step, state);
  return state;
}

GpuPace usual_pace(const target::Target& target) {
  const GpuRates rates = gpu_rates(target, {});
  return {rates.units, rates.flops_per_s, rates.l2_bytes_per_s, rates.memory_bytes_per_s};
}

GpuCost cost(const tensor::Workload& workload, const Rung& rung, const target::Target& target) {
  return cost_of(launches_of(state_of(workload, rung), {}), target, usual_pace(target));
}

// Of a product of 4096 on an A6000, and what share of cuBLAS each reaches: 1.3, 8.5, 12.8, 36.5, 68.7, 78.4, 84.8,
// 93.7 % (siboehm/SGEMM_CUDA).
const Rung kLadder[] = {
    {.name = "naive", .threads_m = 32, .threads_n = 32, .rows_along_x = true, .staged = false},
    {.name = "neighbours together", .threads_m = 32, .threads_n = 32, .staged = false},
    {.name = "shared memory", .threads_m = 32, .threads_n = 32, .reduce = 32},
    {.name = "rows in registers", .threads_m = 8, .threads_n = 64, .rows = 8},
    {.name = "a tile in registers", .threads_m = 16, .threads_n = 16, .rows = 8, .columns = 8},
    {.name = "vectors", .threads_m = 16, .threads_n = 16, .rows = 8, .columns = 8, .turned = true},
    {.name = "tuned",
     .threads_m = 16,
     .threads_n = 16,
     .rows = 8,
     .columns = 8,
     .reduce = 16,
     .turned = true},
    {.name = "squares of warps",
     .threads_m = 16,
     .threads_n = 16,
     .rows = 8,
     .columns = 8,
     .reduce = 16,
     .turned = true,
     .lanes_m = 4},
};

TEST(GpuModel, RanksThePublishedLadderOfProducts) {
  const tensor::Workload workload = product(4096, 4096, 4096);
  for (const char* gpu : {"cuda:arch=sm_86", "cuda:arch=sm_80", "cuda:arch=sm_89"}) {
    double before = std::numeric_limits<double>::infinity();
    for (const Rung& rung : kLadder) {
      const GpuCost at = cost(workload, rung, target_of(gpu));
      const double seconds = at.seconds.constant();
      SCOPED_TRACE(testing::Message() << gpu << ": " << rung.name << " " << seconds * 1e3 << " ms");
      EXPECT_LT(seconds, before);
      EXPECT_EQ(at.legal.constant(), 1);
      before = seconds;
    }
  }
}

TEST(GpuModel, CountsWhatALaunchAsksFor) {
  const std::vector<GpuLaunch> launches = launches_of(
      state_of(product(512, 1024, 256),
               {.name = "tile", .threads_m = 16, .threads_n = 16, .rows = 4, .columns = 4, .reduce = 16}),
      {});
  ASSERT_EQ(launches.size(), 1u);
  const GpuLaunch& launch = launches[0];
  EXPECT_EQ(launch.grid[0].constant(), 16);  // 1024 / 64
  EXPECT_EQ(launch.grid[1].constant(), 8);   // 512 / 64
  EXPECT_EQ(launch.threads().constant(), 256);
  EXPECT_EQ(launch.shared_bytes.constant(), (64 * 16 + 16 * 64) * 4);
  const auto nest = std::ranges::find(launch.nests, std::string("t0.acc"), &GpuNest::stage);
  ASSERT_NE(nest, launch.nests.end());
  EXPECT_EQ(nest->turns.constant(), 256 * 16);
  EXPECT_EQ(nest->accumulators.constant(), 16);
  EXPECT_EQ(nest->operands.constant(), 8);
  ASSERT_EQ(nest->accesses.size(), 3u);
  // Four values of each operand a step of the sum, those of the right one by one request. The warp's two rows of the left
  // one, 256 bytes apart, are in one bank.
  EXPECT_EQ(nest->accesses[0].requests.constant(), 4 * 256);
  EXPECT_EQ(nest->accesses[0].passes.constant(), 2);
  EXPECT_EQ(nest->accesses[1].requests.constant(), 256);
  EXPECT_EQ(nest->accesses[1].passes.constant(), 2);
  const auto copy = std::ranges::find(launch.nests, std::string("p1.pack"), &GpuNest::stage);
  ASSERT_NE(copy, launch.nests.end());
  EXPECT_EQ(copy->runs.constant(), 16);
  EXPECT_EQ(copy->turns.constant(), 16 * 4);
  const GpuAccess& from = copy->accesses[0];
  EXPECT_EQ(from.scope, Scope::kGlobal);
  EXPECT_EQ(from.sectors.constant(), 4);  // 32 floats beside each other
  EXPECT_EQ(from.block_bytes.constant(), 256 * 64 * 4);
  EXPECT_EQ(from.along[0].constant(), 16);
  EXPECT_EQ(from.along[1].constant(), 1);
  EXPECT_EQ(from.all_bytes().constant(), 256 * 1024 * 4);
}

TEST(GpuModel, RefusesWhatNoDeviceRuns) {
  const target::Target target = target_of("cuda:arch=sm_86");
  const tensor::Workload workload = product(4096, 4096, 4096);
  const auto legal = [&](const Rung& rung) { return cost(workload, rung, target).legal.constant() == 1; };
  EXPECT_TRUE(legal({.name = "fits", .threads_m = 16, .threads_n = 16, .rows = 8, .columns = 8}));
  EXPECT_FALSE(legal({.name = "threads", .threads_m = 64, .threads_n = 64}));
  EXPECT_FALSE(legal({.name = "registers", .threads_m = 16, .threads_n = 16, .rows = 16, .columns = 16}));
  EXPECT_FALSE(
      legal({.name = "shared", .threads_m = 32, .threads_n = 32, .rows = 4, .columns = 4, .reduce = 128}));
}

TEST(GpuModel, RefusesMoreRowsOfBlocksOnlyWhereTheTargetDoes) {
  const tensor::Workload workload = product(int64_t{65536} * 16, 64, 64);
  const auto legal = [&](const char* target, int64_t rows) {
    const Rung rung{.name = "rows", .threads_m = 16, .threads_n = 16, .rows = rows, .columns = 1};
    return cost(workload, rung, target_of(target)).legal.constant() == 1;
  };
  EXPECT_FALSE(legal("cuda:arch=sm_86", 1));
  EXPECT_TRUE(legal("cuda:arch=sm_86", 2));
  EXPECT_TRUE(legal("opencl", 1));
}

TEST(GpuModel, CountsBlocksThatLeaveUnitsIdle) {
  const target::Target target = target_of("cuda:arch=sm_80");
  const tensor::Workload workload = product(256, 256, 4096);
  const double few =
      cost(workload, {.name = "few", .threads_m = 16, .threads_n = 16, .rows = 8, .columns = 8}, target)
          .seconds.constant();
  const double many =
      cost(workload, {.name = "many", .threads_m = 16, .threads_n = 16, .rows = 2, .columns = 2}, target)
          .seconds.constant();
  EXPECT_LT(many, few) << "4 blocks on 108 units, against 64";
}

// What a sketch's program says of a point is what its schedule's state says.
TEST(GpuModel, ProgramsAgreeWithStates) {
  for (const char* text : {"opencl", "cuda:arch=sm_86"}) {
    const target::Target target = target_of(text);
    for (const tensor::Workload& workload :
         {product(384, 1000, 512), product(1, 2048, 1000), product_of_halves(384, 1000, 500)}) {
      const tensor::KernelSpec kernel{.workload = workload, .target = target};
      const space::DesignSpace space = space::generate_space(kernel);
      const Evaluator evaluator(space, target, 1);
      space::Random random(7);
      int compared = 0;
      for (int i = 0; i < 40; ++i) {
        const space::Candidate candidate = space::sample(space, random);
        const std::optional<Judgement> judgement = evaluator.judge(candidate);
        const space::Sketch& sketch = space.sketches[static_cast<size_t>(candidate.sketch)];
        const auto state = schedule::apply(workload, recipes::instantiate(sketch, candidate.point));
        if (!state.ok()) {
          EXPECT_FALSE(judgement.has_value());
          continue;
        }
        const std::vector<GpuLaunch> launches = launches_of(*state, {});
        const GpuCost expected = cost_of(launches, target, usual_pace(target));
        EXPECT_EQ(judgement.has_value(), expected.legal.constant() == 1);
        if (!judgement) continue;
        ++compared;
        EXPECT_NEAR(judgement->roofline_seconds / expected.seconds.constant(), 1, 1e-6);
      }
      EXPECT_GT(compared, 3);
    }
  }
}

}  // namespace
}  // namespace tf::model
