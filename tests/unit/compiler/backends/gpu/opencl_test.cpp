// OpenCL C on whatever OpenCL device there is (PoCL on machines without a GPU), against the interpreter.

#include <cstdlib>

#include "compiler/backends/opencl/opencl_dialect.h"
#include "compiler/recipes/recipes.h"
#include "compiler/runtime/gpu/gpu.h"
#include "tests/unit/compiler/backends/gpu/gpu_cases.h"

namespace tf::backends {
namespace {

using ::testing::HasSubstr;

const target::Target kOpenClTarget = *target::parse_target("opencl");

class OpenCl : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    char error[gpu::kErrorChars] = "";
    device = gpu::opencl_driver().open(0, error);
    why = error;
  }
  static void TearDownTestSuite() {
    if (device != nullptr) gpu::opencl_driver().close(device);
  }
  void SetUp() override {
    if (device == nullptr) GTEST_SKIP() << why;
  }

  static gpu::Device* device;
  static std::string why;
};
gpu::Device* OpenCl::device = nullptr;
std::string OpenCl::why;

void run_on(gpu::Device* device, const GpuSource& source, test::Buffers& buffers) {
  const gpu::Driver& driver = gpu::opencl_driver();
  char error[gpu::kErrorChars] = "";
  gpu::Program* program = driver.load(device, source.text.data(), source.text.size(), error);
  ASSERT_NE(program, nullptr) << error << "\n" << source.text;
  std::vector<gpu::Argument> arguments;
  for (const test::Bytes& buffer : buffers) {
    gpu::Memory* memory = driver.allocate(device, buffer.size(), error);
    ASSERT_NE(memory, nullptr) << error;
    ASSERT_TRUE(driver.upload(memory, 0, buffer.data(), buffer.size(), error)) << error;
    arguments.push_back({memory, 0, buffer.size()});
  }
  if (source.workspace_bytes > 0) {
    const auto bytes = static_cast<uint64_t>(source.workspace_bytes);
    arguments.push_back({driver.allocate(device, bytes, error), 0, bytes});
    ASSERT_TRUE(driver.fill(arguments.back().memory, 0, 0xff, bytes, error)) << error;
  }
  for (const test::LaunchNumbers& launch : test::numbers_of(source)) {
    gpu::Kernel* kernel = driver.find(program, launch.entry.c_str(), error);
    ASSERT_NE(kernel, nullptr) << error;
    ASSERT_TRUE(
        driver.bind(kernel, arguments.data(), static_cast<uint32_t>(arguments.size()), nullptr, 0, error))
        << error;
    gpu::LaunchSize size{.grid = {}, .block = {}, .shared_bytes = launch.shared_bytes};
    for (size_t axis = 0; axis < 3; ++axis) {
      size.grid[axis] = static_cast<uint64_t>(launch.grid[axis]);
      size.block[axis] = static_cast<uint32_t>(launch.block[axis]);
    }
    ASSERT_TRUE(driver.launch(kernel, size, error)) << error;
  }
  ASSERT_TRUE(driver.finish(device, error)) << error;
  for (size_t i = 0; i < buffers.size(); ++i)
    ASSERT_TRUE(driver.download(buffers[i].data(), arguments[i].memory, 0, buffers[i].size(), error))
        << error;
  for (const gpu::Argument& argument : arguments) driver.free(argument.memory);
  driver.unload(program);
}

TEST_F(OpenCl, ComputesWhatTheInterpreterDoes) {
  size_t computed = 0;
  for (const test::Case& each : test::cases()) {
    const absl::StatusOr<GpuSource> source = gpu_source(each.function, kOpenClTarget, opencl_dialect());
    ASSERT_TRUE(source.ok()) << each.name << ": " << source.status();
    SCOPED_TRACE(each.name + "\n" + source->text);
    test::Buffers want = test::random_buffers(each.function), got = want;
    ASSERT_NO_FATAL_FAILURE(test::interpret(each.function, want));
    ASSERT_NO_FATAL_FAILURE(run_on(device, *source, got));
    ASSERT_NO_FATAL_FAILURE(test::expect_equal(each.function, got, want));
    ++computed;
  }
  EXPECT_GT(computed, 30u);
}

recipes::Point random_point(const recipes::Sketch& sketch, std::mt19937_64& random) {
  recipes::Point point;
  for (const recipes::Parameter& parameter : sketch.parameters)
    point.push_back(static_cast<uint32_t>(random() % parameter.choices.size()));
  return point;
}

// TF_GPU_SCHEDULES sets how many, beside the default of a quick run.
TEST_F(OpenCl, ComputesTheSameByRandomSchedules) {
  const char* asked = std::getenv("TF_GPU_SCHEDULES");
  const int wanted = asked == nullptr ? 40 : std::atoi(asked);
  std::vector<tensor::Workload> workloads = {test::matmul(33, 47, 29, true), test::matmul(64, 64, 32, false)};
  for (const tf::test::SmallWorkload& small : tf::test::small_workloads())
    workloads.push_back(tf::test::build_small(small));
  std::mt19937_64 random(7);
  int computed = 0;
  for (int i = 0; computed < wanted && i < 4 * wanted; ++i) {
    const tensor::Workload& workload = workloads[random() % workloads.size()];
    const std::vector<recipes::Sketch> sketches =
        recipes::sketches_of({.workload = workload, .target = kOpenClTarget});
    const recipes::Sketch& sketch = sketches[random() % sketches.size()];
    const schedule::Schedule schedule = recipes::instantiate(sketch, random_point(sketch, random));
    if (!schedule::apply(workload, schedule).ok()) continue;
    const ir::Function function = test::lowered(workload, schedule, absl::StrCat("random_", i));
    const absl::StatusOr<GpuSource> source = gpu_source(function, kOpenClTarget, opencl_dialect());
    if (!source.ok()) {  // more threads or shared memory than the device has
      EXPECT_THAT(std::string(source.status().message()), HasSubstr("a block of"));
      continue;
    }
    SCOPED_TRACE(schedule::to_string(schedule) + "\n" + source->text);
    test::Buffers want = test::random_buffers(function), got = want;
    ASSERT_NO_FATAL_FAILURE(test::interpret(function, want));
    ASSERT_NO_FATAL_FAILURE(run_on(device, *source, got));
    ASSERT_NO_FATAL_FAILURE(test::expect_equal(function, got, want));
    ++computed;
  }
  EXPECT_EQ(computed, wanted);
}

TEST_F(OpenCl, TellsWhatTheDriverRejects) {
  char error[gpu::kErrorChars] = "";
  const std::string text = "__kernel void k() { nonsense; }";
  EXPECT_EQ(gpu::opencl_driver().load(device, text.data(), text.size(), error), nullptr);
  EXPECT_THAT(std::string(error), HasSubstr("nonsense"));
  EXPECT_FALSE(gpu::opencl_driver().is_lost(device));
}

TEST_F(OpenCl, NamesTheDevicesThatThereAre) {
  char error[gpu::kErrorChars] = "";
  EXPECT_EQ(gpu::opencl_driver().open(1000, error), nullptr);
  EXPECT_THAT(std::string(error), HasSubstr("there is no OpenCL device 1000: there are 0 to"));
}

TEST_F(OpenCl, TimesWhatWasLaunched) {
  const absl::StatusOr<ir::Function> function = ir::parse_function(
      "function k(a: f32[4096]) { for i = 0 extent 64 grid_x { for j = 0 extent 64 thread_x { a[i * 64 + j] "
      "= 1f32 } } }");
  const absl::StatusOr<GpuSource> source = gpu_source(*function, kOpenClTarget, opencl_dialect());
  ASSERT_TRUE(source.ok()) << source.status();
  test::Buffers buffers = test::random_buffers(*function);
  char error[gpu::kErrorChars] = "";
  ASSERT_TRUE(gpu::opencl_driver().begin_time(device, error)) << error;
  ASSERT_NO_FATAL_FAILURE(run_on(device, *source, buffers));
  int64_t ns = 0;
  ASSERT_TRUE(gpu::opencl_driver().end_time(device, &ns, error)) << error;
  EXPECT_GT(ns, 0);
}

}  // namespace
}  // namespace tf::backends
