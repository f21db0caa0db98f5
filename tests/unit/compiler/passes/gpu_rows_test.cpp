// Rows on GPUs: the threads of a block share a row. Lowered and interpreted, against the workload's definition.

#include <gmock/gmock.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"
#include "compiler/recipes/gpu/rows.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const target::Target kRowsGpu = *target::parse_target("cuda:arch=sm_90");

struct RowCase {
  std::string name;
  tensor::Workload workload;
};

std::vector<RowCase> row_cases() {
  std::vector<RowCase> all;
  const auto add = [&](const std::string& name, auto&& make) {
    ops::Builder b;
    all.push_back({name, *b.finish({make(b)})});
  };
  for (const std::pair<int64_t, int64_t>& size :
       std::vector<std::pair<int64_t, int64_t>>{{1, 70}, {5, 33}, {3, 130}, {9, 4}}) {
    const int64_t rows = size.first, length = size.second;
    add(absl::StrCat("softmax ", rows, "x", length), [&](ops::Builder& b) {
      return ops::softmax(b, f32_input(b, {rows, length}), 1);
    });
    add(absl::StrCat("softmax of columns ", rows, "x", length), [&](ops::Builder& b) {
      return ops::softmax(b, f32_input(b, {length, rows}), 0);
    });
    add(absl::StrCat("mean ", rows, "x", length), [&](ops::Builder& b) {
      return ops::reduce(b, ops::ReduceKind::kMean, f32_input(b, {rows, length}), {1}, false);
    });
  }
  add("softmax in the middle", [](ops::Builder& b) { return ops::softmax(b, f32_input(b, {3, 17, 6}), 1); });
  add("rows of two axes", [](ops::Builder& b) { return ops::softmax(b, f32_input(b, {3, 5, 21}), 2); });
  add("sum of all", [](ops::Builder& b) {
    return ops::reduce(b, ops::ReduceKind::kSum, f32_input(b, {13, 29}), {0, 1}, false);
  });
  add("matrix by a vector", [](ops::Builder& b) {
    return ops::matmul(b, f32_constant(b, {19, 45}), f32_input(b, {45, 1}));
  });
  add("vector by a matrix", [](ops::Builder& b) {
    return ops::matmul(b, f32_input(b, {1, 70}), f32_constant(b, {70, 41}));
  });
  add("vector by a matrix, and more", [](ops::Builder& b) {
    const tensor::Buffer y = ops::matmul(b, f32_input(b, {1, 66}), f32_constant(b, {66, 9}));
    return ops::relu(b, ops::bias_add(b, y, f32_constant(b, {9}), 1));
  });
  add("sums of columns", [](ops::Builder& b) {
    return ops::reduce(b, ops::ReduceKind::kSum, f32_input(b, {75, 23}), {0}, false);
  });
  for (const SmallWorkload& small : small_workloads())
    if (small.name == "layer_norm" || small.name.starts_with("attention"))
      all.push_back({small.name, build_small(small)});
  return all;
}

std::string rows_ir(const tensor::Workload& workload, const schedule::Schedule& schedule) {
  const auto lowered = passes::lower(workload, schedule, {}, {.pipeline = passes::gpu_pipeline()});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return lowered.ok() ? ir::to_string(lowered->function) : "";
}

TEST(GpuRows, GiveSoftmaxInOneLaunch) {
  ops::Builder b;
  const tensor::Workload workload = *b.finish({ops::softmax(b, f32_input(b, {8, 200}), 1)});
  const std::string text =
      rows_ir(workload, recipes::default_schedule({.workload = workload, .target = kRowsGpu}));
  for (const char* part : {"grid_x", "thread_x", "thread_y", "t0.rf: f32[", "barrier"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_EQ(text.find("grid_x"), text.rfind("grid_x"));
  EXPECT_THAT(text, Not(HasSubstr("global")));
}

TEST(GpuRows, GiveAttentionInOneLaunchWithoutScoresInMemory) {
  for (const SmallWorkload& small : small_workloads()) {
    if (!small.name.starts_with("attention")) continue;
    const tensor::Workload workload = build_small(small);
    const std::vector<recipes::Sketch> sketches =
        recipes::attention_on_gpu({.workload = workload, .target = kRowsGpu});
    ASSERT_FALSE(sketches.empty());
    const std::string text =
        rows_ir(workload, recipes::instantiate(sketches[0], sketches[0].default_point()));
    EXPECT_EQ(text.find("grid_x"), text.rfind("grid_x")) << text;
    EXPECT_THAT(text, HasSubstr("grid_x"));
    for (size_t at = 0; (at = text.find("allocate ", at)) != std::string::npos; ++at)
      EXPECT_TRUE(text.substr(at, text.find('\n', at) - at).find("shared") != std::string::npos ||
                  text.substr(at, text.find('\n', at) - at).find("register") != std::string::npos)
          << text;
  }
}

// An array that a thread has for itself, and indexes by more than numbers, would lie in memory.
TEST(GpuRows, KeepOneElementOfAThreadInRegisters) {
  for (const SmallWorkload& small : small_workloads()) {
    if (small.name != "layer_norm" && small.name != "softmax" && small.name != "attention") continue;
    const tensor::Workload workload = build_small(small);
    const tensor::KernelSpec kernel{.workload = workload, .target = kRowsGpu};
    const std::vector<recipes::Sketch> attention = recipes::attention_on_gpu(kernel);
    const schedule::Schedule schedule =
        attention.empty() ? recipes::default_schedule(kernel)
                          : recipes::instantiate(attention[0], attention[0].default_point());
    const std::string text = rows_ir(workload, schedule);
    EXPECT_THAT(schedule::to_string(schedule), HasSubstr("thread_y"));
    size_t arrays = 0;
    for (size_t at = 0; (at = text.find("] register", at)) != std::string::npos; ++at, ++arrays)
      EXPECT_EQ(text.substr(text.rfind('[', at), at - text.rfind('[', at)), "[1") << small.name << "\n"
                                                                                  << text;
    EXPECT_GT(arrays, 2u);
  }
}

TEST(GpuRows, CountOnTheThreadsOfTheirParts) {
  ops::Builder b;
  const tensor::Workload workload = *b.finish({ops::softmax(b, f32_input(b, {8, 64}), 1)});
  const std::vector<recipes::Sketch> sketches =
      recipes::rows_on_gpu({.workload = workload, .target = *target::parse_target("opencl")});
  const schedule::Schedule schedule = recipes::instantiate(sketches.at(0), sketches.at(0).default_point());
  for (const char* step : {"annotate t1 i0 serial", "split t1 i0 2 guard"}) {
    schedule::Schedule more = *schedule::parse_schedule(schedule::to_string(schedule) + step + "\n");
    EXPECT_THAT(std::string(schedule::apply(workload, more).status().message()),
                HasSubstr("i0 runs over threads, and what t1 reads was placed for one of them"));
  }
}

TEST(GpuRows, AddUpByShufflesWithoutBarriers) {
  ops::Builder b;
  const tensor::Workload workload =
      *b.finish({ops::reduce(b, ops::ReduceKind::kMean, f32_input(b, {64, 200}), {1}, false)});
  const std::string text =
      rows_ir(workload, recipes::default_schedule({.workload = workload, .target = kRowsGpu}));
  EXPECT_THAT(text, HasSubstr("fold sum "));
  EXPECT_THAT(text, Not(HasSubstr("barrier")));
  EXPECT_THAT(text, Not(HasSubstr("shared")));
}

TEST(GpuRows, FoldLanesOnlyWhereAllOfAWarpAre) {
  ops::Builder b;
  const tensor::Workload workload =
      *b.finish({ops::reduce(b, ops::ReduceKind::kSum, f32_input(b, {8, 64}), {1}, false)});
  const auto why = [&](int rows, int lanes, int threads) {
    const std::string steps = absl::StrCat(
        "schedule v1\ncache_write t0\nsplit t0.acc r0 ", lanes, " guard\nrfactor t0.acc r0.1\nsplit t0 i0 ",
        rows, " guard\nannotate t0 i0.0 grid_x\nannotate t0 i0.1 thread_y\ncross_thread t0 thread_x ",
        threads, "\ncompute_at t0.acc t0 x register\nannotate t0.acc r0 thread_x\n");
    return std::string(schedule::apply(workload, *schedule::parse_schedule(steps)).status().message());
  };
  EXPECT_EQ(why(4, 8, 8), "");
  EXPECT_NE(why(3, 8, 8), "");
  EXPECT_NE(why(4, 8, 16), "");
  EXPECT_NE(why(1, 64, 64), "");
}

TEST(GpuRows, GiveFewLongRowsInParts) {
  for (const int64_t rows : {1, 3}) {
    for (const bool keeps_axis : {true, false}) {
      ops::Builder b;
      const std::vector<int64_t> axes = rows == 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{1};
      const auto kind = keeps_axis ? ops::ReduceKind::kMean : ops::ReduceKind::kMax;
      const tensor::Workload workload =
          *b.finish({ops::reduce(b, kind, f32_input(b, {rows, 20000}), axes, keeps_axis)});
      const schedule::Schedule schedule =
          recipes::default_schedule({.workload = workload, .target = kRowsGpu});
      EXPECT_THAT(rows_ir(workload, schedule), HasSubstr(absl::StrCat("extent ", 5 * rows, " grid_x")));
      check_schedule(workload, schedule, {}, 1, absl::StrCat(rows, " long rows"), passes::gpu_pipeline());
    }
  }
}

TEST(GpuRows, GiveEveryPointOfTheirSketches) {
  std::mt19937_64 random(11);
  for (const RowCase& each : row_cases()) {
    const tensor::KernelSpec kernel{.workload = each.workload, .target = kRowsGpu};
    std::vector<recipes::Sketch> sketches = recipes::rows_on_gpu(kernel);
    if (sketches.empty()) sketches = recipes::attention_on_gpu(kernel);
    EXPECT_FALSE(sketches.empty()) << each.name;
    for (const recipes::Sketch& sketch : sketches) {
      int legal = 0;
      for (int i = 0; i < 6; ++i) {
        recipes::Point point = sketch.default_point();
        for (size_t p = 0; i > 0 && p < point.size(); ++p)
          point[p] = static_cast<uint32_t>(random() % sketch.parameters[p].choices.size());
        const schedule::Schedule schedule = recipes::instantiate(sketch, point);
        const absl::Status status = schedule::apply(each.workload, schedule).status();
        if (i == 0) {
          EXPECT_TRUE(status.ok()) << each.name << ", " << sketch.family << ": " << status;
        }
        if (!status.ok()) continue;
        ++legal;
        check_schedule(each.workload, schedule, {}, static_cast<uint64_t>(i),
                       absl::StrCat(each.name, ", ", sketch.family, " ", recipes::to_string(point)),
                       passes::gpu_pipeline());
        if (::testing::Test::HasFatalFailure()) return;
      }
      EXPECT_GT(legal, 1) << each.name;
    }
  }
}

TEST(GpuRows, ThreadsThatShareAnElementAreRefusedWhereTheyCannotStand) {
  ops::Builder b;
  const tensor::Workload workload =
      *b.finish({ops::reduce(b, ops::ReduceKind::kSum, f32_input(b, {8, 64}), {1}, false)});
  const auto why = [&](const char* steps) {
    return std::string(
        schedule::apply(workload, *schedule::parse_schedule(absl::StrCat("schedule v1\n", steps)))
            .status()
            .message());
  };
  EXPECT_EQ(why("cross_thread t0 thread_x 32\n"), "");
  EXPECT_THAT(why("cross_thread t0 thread_x 2000\n"),
              HasSubstr("threads 2000 is out of range; 1 to 1024 is legal"));
  EXPECT_THAT(why("cross_thread t0 grid_x 32\n"),
              HasSubstr("threads that share the work on an element stand in"));
  EXPECT_THAT(why("annotate t0 i0 thread_x\ncross_thread t0 thread_x 32\n"),
              HasSubstr("t0 has: i0 (extent 8)"));
  EXPECT_THAT(why("cross_thread t0 thread_x 32\nreorder t0 i0,r0,x\nannotate t0 x vectorize\n"),
              HasSubstr("they cannot be lanes of a vector"));
}

}  // namespace
}  // namespace tf::test
