// Windows that slide over images on GPUs (convolutions, pooling), lowered and interpreted, against the workload's definition in
// double precision.

#include <random>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"
#include "compiler/recipes/gpu/conv2d.h"
#include "compiler/recipes/gpu/grid.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::test {
namespace {

using ::testing::HasSubstr;

const tensor::Layout kChannelsLast{{{0, 0}, {2, 0}, {3, 0}, {1, 0}}};
const target::Target kWindowTarget = *target::parse_target("cuda:arch=sm_90");

struct Window {
  const char* name;
  int64_t batch, in, height, width, out, kernel;
  int64_t stride = 1, dilation = 1, pad = 0, groups = 1;
};

tensor::Workload convolution(const Window& w) {
  ops::Builder b;
  tensor::Buffer y = ops::conv(b, f32_input(b, {w.batch, w.in, w.height, w.width}),
                               f32_constant(b, {w.out, w.in / w.groups, w.kernel, w.kernel}),
                               {.strides = {w.stride, w.stride},
                                .dilations = {w.dilation, w.dilation},
                                .pads_begin = {w.pad, w.pad},
                                .pads_end = {w.pad, w.pad},
                                .groups = w.groups});
  y = ops::bias_add(b, y, f32_constant(b, {w.out}), 1);
  const std::vector<int64_t> shape = {w.batch, w.out, tensor::as_int(y->extents[2]).value(),
                                      tensor::as_int(y->extents[3]).value()};
  return *b.finish({ops::relu(b, ops::binary(b, ops::BinaryKind::kAdd, y, f32_input(b, shape)))});
}

constexpr Window kWindows[] = {
    {"3x3", 1, 5, 9, 7, 6, 3, 1, 1, 1},
    {"strided", 2, 3, 11, 10, 5, 3, 2, 1, 1},
    {"dilated", 1, 3, 9, 8, 4, 3, 1, 2, 2},
    {"grouped", 1, 6, 7, 5, 9, 3, 1, 1, 1, 3},
    {"depthwise", 2, 5, 9, 6, 5, 3, 1, 1, 1, 5},
    {"1x1", 1, 17, 5, 3, 9, 1},
    {"1x1 strided", 1, 9, 7, 7, 5, 1, 2},
    {"7x7", 1, 3, 13, 11, 8, 7, 2, 1, 3},
    {"one row", 1, 4, 1, 9, 3, 1},
};

TEST(GpuWindows, StageTheirImagesInSharedMemory) {
  const tensor::Workload workload = convolution({"", 1, 64, 56, 56, 64, 3, 1, 1, 1});
  const auto lowered =
      passes::lower(workload, recipes::default_schedule({.workload = workload, .target = kWindowTarget}), {},
                    {.pipeline = passes::gpu_pipeline()});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string text = ir::to_string(lowered->function);
  for (const char* part :
       {"grid_x", "grid_y", "thread_x", "thread_y", "thread_z", "shared", "barrier", "t1: f32[32] register"})
    EXPECT_THAT(text, HasSubstr(part));
}

// Less of a large window at a time, so that images are staged where shared memory is small, too.
TEST(GpuWindows, KeepToTheSharedMemoryOfTheTarget) {
  const target::Target small = *target::parse_target("opencl");
  for (const Window& window :
       {Window{"11x11", 1, 64, 60, 60, 96, 11, 4, 1, 2}, Window{"dilated", 1, 32, 64, 64, 64, 5, 1, 8, 16},
        Window{"3x3", 1, 64, 56, 56, 64, 3, 1, 1, 1}}) {
    const tensor::Workload workload = convolution(window);
    const std::vector<recipes::Sketch> sketches =
        recipes::windows_on_gpu({.workload = workload, .target = small});
    ASSERT_EQ(sketches.size(), 2u);
    EXPECT_GT(recipes::shared_bytes_of(sketches[0]), 0) << window.name;
    EXPECT_LE(recipes::shared_bytes_of(sketches[0]), small.gpu.shared_bytes) << window.name;
    const auto lowered =
        passes::lower(workload, recipes::instantiate(sketches[0], sketches[0].default_point()), {},
                      {.pipeline = passes::gpu_pipeline()});
    EXPECT_TRUE(lowered.ok()) << lowered.status();
  }
}

// Few terms of each result, which neighbours share: no row that threads add up together.
TEST(GpuWindows, ArePools) {
  for (const int64_t kernel : {2, 3}) {
    ops::Builder b;
    const tensor::Buffer y =
        ops::max_pool(b, f32_input(b, {1, 64, 56, 56}), {.kernel = {kernel, kernel}, .strides = {2, 2}});
    EXPECT_EQ(recipes::sketches_of({.workload = *b.finish({y}), .target = kWindowTarget}).at(0).family,
              "windows");
  }
}

// Where channels are innermost, neighbouring threads have neighbouring channels.
TEST(GpuWindows, HaveThreadsThatAreNeighboursInMemory) {
  for (const auto& [ports, first, second] :
       {std::tuple(tensor::PortLayouts{}, "i3.1 thread_x", "i1.1 thread_z"),
        {tensor::PortLayouts{{kChannelsLast}, {kChannelsLast}}, "i1.1 thread_x", "i3.1 thread_y"}}) {
    ops::Builder b;
    const tensor::Buffer y =
        ops::max_pool(b, f32_input(b, {1, 64, 56, 56}), {.kernel = {3, 3}, .strides = {2, 2}});
    const std::string text = to_string(
        recipes::default_schedule({.workload = *b.finish({y}), .ports = ports, .target = kWindowTarget}));
    EXPECT_THAT(text, HasSubstr(first));
    EXPECT_THAT(text, HasSubstr(second));
  }
}

class GpuWindowLayouts : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(ChannelsLast, GpuWindowLayouts, ::testing::Bool());

TEST_P(GpuWindowLayouts, GiveEveryConvolutionAtRandomPoints) {
  std::mt19937_64 random(5);
  int checked = 0;
  tensor::PortLayouts ports;
  if (GetParam()) ports = {{kChannelsLast, kChannelsLast}, {kChannelsLast}};
  for (const Window& window : kWindows) {
    const tensor::Workload workload = convolution(window);
    for (const recipes::Sketch& sketch :
         recipes::windows_on_gpu({.workload = workload, .ports = ports, .target = kWindowTarget})) {
      for (int i = 0; i < 4 && !::testing::Test::HasFatalFailure(); ++i) {
        recipes::Point point = sketch.default_point();
        if (i > 0)
          for (size_t p = 0; p < point.size(); ++p)
            point[p] = static_cast<uint32_t>(random() % sketch.parameters[p].choices.size());
        const schedule::Schedule schedule = recipes::instantiate(sketch, point);
        const auto state = schedule::apply(workload, schedule);
        if (!state.ok()) {
          EXPECT_GT(i, 0) << window.name << ", " << sketch.family << ": " << state.status();
          continue;
        }
        check_schedule(workload, schedule, ports, static_cast<uint64_t>(i),
                       absl::StrCat(window.name, ", ", sketch.family, " at ", recipes::to_string(point)),
                       passes::gpu_pipeline());
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, GetParam() ? 25 : 50);
}

}  // namespace
}  // namespace tf::test
