// Schedules for GPUs, lowered and interpreted (the threads of a block side by side), against the workload's
// definition in double precision.

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"
#include "compiler/recipes/gpu/product.h"
#include "compiler/recipes/recipes.h"
#include "compiler/tensor/text.h"
#include "gmock/gmock.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::test {
namespace {

using ::testing::HasSubstr;

tensor::Workload matmul(int64_t m, int64_t n, int64_t k, bool epilogue = false) {
  ops::Builder b;
  tensor::Buffer y = ops::matmul(b, f32_input(b, {m, k}), f32_constant(b, {k, n}));
  if (epilogue) y = ops::relu(b, ops::bias_add(b, y, f32_constant(b, {n}), 1));
  return *b.finish({y});
}

const target::Target kGpu = *target::parse_target("cuda:arch=sm_90");

schedule::Schedule gpu_schedule(const tensor::Workload& workload) {
  return recipes::default_schedule({.workload = workload, .target = kGpu});
}

// The product with that tile, where it has threads.
schedule::Schedule tiled(const tensor::Workload& workload, const recipes::GpuTile& tile) {
  for (const recipes::Sketch& sketch : recipes::product_on_gpu({.workload = workload, .target = kGpu}, tile))
    if (const schedule::Schedule steps = recipes::instantiate(sketch, sketch.default_point());
        schedule::apply(workload, steps).ok())
      return steps;
  return gpu_schedule(workload);
}

void check_on_gpu(const tensor::Workload& workload, const schedule::Schedule& schedule, uint64_t seed,
                  const std::string& context) {
  check_schedule(workload, schedule, {}, seed, context, passes::gpu_pipeline());
}

std::string ir_of(const tensor::Workload& workload, const schedule::Schedule& schedule) {
  const auto lowered = passes::lower(workload, schedule, {}, {.pipeline = passes::gpu_pipeline()});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return lowered.ok() ? ir::to_string(lowered->function) : "";
}

TEST(GpuSchedule, TilesAProductOverBlocksThreadsAndSharedMemory) {
  const tensor::Workload workload = matmul(128, 64, 32);
  const std::string text = ir_of(workload, gpu_schedule(workload));
  for (const char* part : {"grid_y", "thread_x", "thread_y", "p0.pack: f32[3072] shared",
                           "p1.pack: f32[3072] shared", "t0.acc: f32[16] register", "barrier"})
    EXPECT_THAT(text, HasSubstr(part));
  check_on_gpu(workload, gpu_schedule(workload), 1, "128x64x32");
}

TEST(GpuSchedule, GivesProductsOfAnySizeAndTile) {
  const struct {
    int64_t m, n, k;
  } sizes[] = {{64, 64, 16}, {1, 1, 1}, {1, 70, 33}, {65, 3, 17}, {37, 41, 5}, {20, 66, 40}};
  std::mt19937_64 random(7);
  const auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  for (const auto& size : sizes) {
    for (int i = 0; i < 4 && !::testing::Test::HasFatalFailure(); ++i) {
      const recipes::GpuTile tile{.threads_m = pick({1, 2, 4, 8}),
                                  .threads_n = pick({1, 3, 8, 16}),
                                  .rows = pick({1, 2, 4}),
                                  .columns = pick({1, 3, 4}),
                                  .reduce = pick({1, 4, 7, 16})};
      const tensor::Workload workload = matmul(size.m, size.n, size.k, i % 2 == 1);
      check_on_gpu(workload, tiled(workload, tile), static_cast<uint64_t>(i),
                   absl::StrCat(size.m, "x", size.n, "x", size.k, ", ", i));
    }
  }
}

// Trip counts of 1, less than, as many as and more than there are tiles; rows that are no multiple of a vector.
TEST(GpuSchedule, GivesPipelinesOfAnyLength) {
  for (const int64_t stages : {2, 3, 4}) {
    for (const int64_t k : {1, 8, 15, 16, 17, 24, 32, 33, 40, 56}) {
      for (const recipes::GpuTile& tile :
           {recipes::GpuTile{.threads_m = 4, .threads_n = 8, .rows = 2, .reduce = 8, .stages = stages},
            recipes::GpuTile{.threads_m = 2,
            .threads_n = 8,
            .columns = 3,
            .reduce = 8,
            .stages = stages,
            .fetch = 4,
            .pad = 4,
            .group = 2}}) {
        const tensor::Workload workload = matmul(19, 24, k, k % 2 == 1);
        const schedule::Schedule steps = tiled(workload, tile);
        if (k > 8) {
          EXPECT_THAT(ir_of(workload, steps), HasSubstr("async_copy"));
        }
        check_on_gpu(workload, steps, static_cast<uint64_t>(k), absl::StrCat(k, " by ", stages));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Tiles that are computed, not copied, and a ring in a loop that runs again and again.
TEST(GpuSchedule, PipelinesWhatThreadsCompute) {
  for (const int64_t k : {4, 10, 16, 21}) {
    ops::Builder b;
    const tensor::Buffer x = ops::relu(b, f32_input(b, {6, k}));
    const tensor::Workload workload = *b.finish({ops::matmul(b, x, f32_constant(b, {k, 8}))});
    const schedule::Schedule steps = *schedule::parse_schedule(
        "schedule v1\nsplit t1 i0 3 guard\nreorder t1 i0.0,i1,i0.1,r0\nannotate t1 i0.0 grid_x\nannotate t1 "
        "i1 thread_x\n"
        "split t1 r0 4 guard\ncompute_at t0 t1 r0.0 shared\nannotate t0 i1 thread_x\npipeline t1 r0.0 3\n");
    if (k > 4) {
      EXPECT_THAT(ir_of(workload, steps), HasSubstr("t0: f32[12] shared"));
    }
    check_on_gpu(workload, steps, static_cast<uint64_t>(k), absl::StrCat(k, " terms"));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(GpuSchedule, CopiesWholeVectorsWhereRowsAreMadeOfThem) {
  const tensor::Workload workload = matmul(64, 64, 64);
  const std::string text =
      ir_of(workload, tiled(workload, {.threads_m = 8, .threads_n = 8, .stages = 3, .fetch = 4, .pad = 4}));
  for (const char* part :
       {"p1.pack: f32[1920] shared", "p0.pack: f32[1728] shared", "elements 4", "async_wait 1"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("elements 1\n")));
}

TEST(GpuSchedule, GivesBatchesOfProducts) {
  ops::Builder b;
  const tensor::Buffer y = ops::matmul(b, f32_input(b, {3, 20, 9}), f32_input(b, {3, 9, 33}));
  const tensor::Workload workload = *b.finish({y});
  EXPECT_THAT(ir_of(workload, gpu_schedule(workload)), HasSubstr("grid_z"));
  check_on_gpu(workload, gpu_schedule(workload), 1, "batch");
}

TEST(GpuSchedule, GivesEveryOperator) {
  for (const SmallWorkload& small : small_workloads()) {
    const tensor::Workload workload = build_small(small);
    check_on_gpu(workload, gpu_schedule(workload), 1, small.name);
  }
}

// A thread-bound copy must not be made for one thread's need and then be shared.
TEST(GpuSchedule, RefusesThreadsAfterRegionsWereFixed) {
  const auto apply = [](const char* text) {
    return schedule::apply(matmul(64, 64, 32), *schedule::parse_schedule(text)).status();
  };
  EXPECT_THAT(
      std::string(apply("schedule v1\ncache_read p0 t0 row_major global\n"
                        "compute_at p0.pack t0 i1 shared\nannotate t0 i1 thread_x\n")
                      .message()),
      HasSubstr("p0.pack is computed inside loop i1 of t0: the loops down to that one are fixed now"));
  EXPECT_THAT(std::string(apply("schedule v1\ncache_read p0 t0 row_major global\n"
                                "compute_at p0.pack t0 i1 shared\nannotate p0.pack i1 thread_x\n")
                              .message()),
              HasSubstr("loop i1 of t0, which no loop of the same thread axis surrounds"));
  EXPECT_THAT(std::string(apply("schedule v1\nannotate t0 i1 thread_x\ncache_read p0 t0 row_major global\n"
                                "compute_at p0.pack t0 i1 fragment\n")
                              .message()),
              HasSubstr("a fragment is held by the 32 lanes of a warp"));
}

// Of scope global inside a launch each thread has its own, so that no thread loops are inside of it.
TEST(GpuSchedule, RefusesArraysOfScopeGlobalAroundThreads) {
  ops::Builder b;
  const tensor::Buffer x = ops::relu(b, f32_input(b, {6, 8}));
  const tensor::Workload workload = *b.finish({ops::matmul(b, x, f32_constant(b, {8, 8}))});
  const auto at = [&](const char* loop) {
    return *schedule::parse_schedule(
        absl::StrCat("schedule v1\nsplit t1 i0 3 guard\nannotate t1 i0.0 grid_x\nannotate t1 i0.1 thread_x\n"
                     "compute_at t0 t1 ",
                     loop, " global\n"));
  };
  EXPECT_THAT(
      std::string(
          passes::lower(workload, at("i0.0"), {}, {.pipeline = passes::gpu_pipeline()}).status().message()),
      HasSubstr("buffer t0, of scope global, is made inside a launch, where each thread has its own"));
  EXPECT_THAT(ir_of(workload, at("i0.1")), HasSubstr("allocate t0: f32[8]\n"));
  check_on_gpu(workload, at("i0.1"), 1, "own arrays");
}

// Readers on other axes of threads: together, rows of a whole block are fewer than those of all threads that there are.
TEST(GpuSchedule, KeepsInRegistersNoMoreRowsThanReadersHave) {
  const tensor::Workload workload = *tensor::parse_workload(
      "workload v1\ninput p0: f32[10]\ninput p1: f32[10, 64]\nstage t0: f32[i0 < 10] = p0[i0] * 2f32\n"
      "stage t1: f32[i0 < 10, i1 < 64] = t0[i0] + p1[i0, i1]\n"
      "stage t2: f32[i0 < 10, i1 < 64] = t1[i0, 63 - i1] * 3f32 + t0[i0]\noutput t2\n");
  const schedule::Schedule steps = *schedule::parse_schedule(
      "schedule v1\nsplit t2 i0 4 guard\nsplit t2 i1 32 guard\nreorder t2 i0.0,i0.1,i1.1,i1.0\n"
      "annotate t2 i0.0 grid_x\nannotate t2 i0.1 thread_y\nannotate t2 i1.1 thread_x\ncompute_at t1 t2 i1.1 "
      "shared\n"
      "annotate t1 i0 thread_x\nsplit t1 i1 4 guard\nannotate t1 i1.1 thread_y\ncompute_at t0 t2 i1.1 "
      "register\n");
  EXPECT_THAT(ir_of(workload, steps), HasSubstr("for i0 = 0 extent 4 {"));
  check_on_gpu(workload, steps, 1, "rows in registers");
}

// The columns of a thread lie apart, one by one or in pairs: it computes those, not what lies between them.
TEST(GpuSchedule, ComputesWhatAThreadNeedsWhereThatLiesApart) {
  const auto steps = [](const std::string& columns, const std::string& thread, const std::string& own) {
    return *schedule::parse_schedule(absl::StrCat(
        "schedule v1\ncache_write t0\nsplit t0 i0 4,2 guard\nsplit t0 i1 ", columns,
        " guard\nreorder t0 i0.0,i1.0,i0.1,", thread, ",i0.2,", own,
        "\nannotate t0 i0.0 grid_y\nannotate t0 i1.0 grid_x\nannotate t0 i0.1 thread_y\nannotate t0 ", thread,
        " thread_x\ncompute_at t0.acc t0 ", thread,
        " register\nreorder t0.acc r0,i0,i1\ncache_read p1 t0.acc row_major global\ncompute_at p1.pack "
        "t0.acc r0 "
        "register\n"));
  };
  const struct { int64_t m, n, k; } sizes[] = {{16, 64, 9}, {5, 70, 3}, {8, 33, 4}, {1, 3, 2}};
  for (const auto& [m, n, k] : sizes) {
    const tensor::Workload workload = matmul(m, n, k);
    for (const schedule::Schedule& apart : {steps("4,8", "i1.2", "i1.1"), steps("2,8,2", "i1.2", "i1.1,i1.3"),
                                            steps("2,2,8", "i1.3", "i1.1,i1.2")}) {
      if (n >= 32) {
        const std::string text = ir_of(workload, apart);
        EXPECT_THAT(text, HasSubstr("for i1 = 0 extent 4 {"));
        EXPECT_THAT(text, HasSubstr("for i1_1 = 0 extent 4 {"));
      }
      check_on_gpu(workload, apart, 3, absl::StrCat(m, "x", n, "x", k, "\n", schedule::to_string(apart)));
    }
  }
}

TEST(GpuSchedule, FillsAWarpWhereAProductIsSmall) {
  for (const auto& [m, n] : {std::pair(5, 7), {2, 300}, {1, 16}, {40, 3}}) {
    const tensor::Workload workload = matmul(m, n, 1030);
    const schedule::Schedule steps = gpu_schedule(workload);
    int64_t threads = 1;
    const absl::StatusOr<schedule::State> state = schedule::apply(workload, steps);
    ASSERT_TRUE(state.ok()) << state.status();
    for (const schedule::StageState& stage : state->stages()) {
      int64_t own = 1;
      for (const schedule::Loop& loop : stage.loops)
        if (schedule::is_thread(loop.annotation)) own *= static_cast<int64_t>(loop.extent);
      threads = std::max(threads, own);
    }
    EXPECT_GE(threads, 32) << m << " by " << n;
    check_on_gpu(workload, steps, 1, absl::StrCat(m, " by ", n));
  }
}

}  // namespace
}  // namespace tf::test
