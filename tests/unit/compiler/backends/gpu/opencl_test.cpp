// OpenCL C on whatever OpenCL device there is (PoCL on machines without a GPU), against the interpreter.

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>

#include "compiler/backends/opencl/opencl_dialect.h"
#include "compiler/recipes/recipes.h"
#include "tests/support/schedule/random_gpu_schedule.h"
#include "tests/unit/compiler/backends/gpu/opencl_program.h"

namespace tf::backends {
namespace {

using ::testing::HasSubstr;

const target::Target kOpenClTarget = *target::parse_target("opencl");

class OpenCl : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { device = test::open_opencl(&why); }
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

TEST_F(OpenCl, ComputesWhatTheInterpreterDoes) {
  size_t computed = 0;
  for (const test::Case& each : test::cases()) {
    const absl::StatusOr<GpuSource> source = gpu_source(each.function, kOpenClTarget, opencl_dialect());
    ASSERT_TRUE(source.ok()) << each.name << ": " << source.status();
    SCOPED_TRACE(each.name + "\n" + source->text);
    test::Buffers want = test::random_buffers(each.function, each.has_specials), got = want;
    ASSERT_NO_FATAL_FAILURE(test::interpret(each.function, want));
    ASSERT_NO_FATAL_FAILURE(test::run_on(device, *source, got));
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

// What the device computes by the schedule, against the interpreter. False, and nothing is checked, where the schedule is not legal.
void compare(gpu::Device* device, const tensor::Workload& workload, const schedule::Schedule& schedule,
             const std::string& name, bool* compared) {
  *compared = false;
  if (!schedule::apply(workload, schedule).ok()) return;
  const ir::Function function = test::lowered(workload, schedule, name);
  const absl::StatusOr<GpuSource> source = gpu_source(function, kOpenClTarget, opencl_dialect());
  if (!source.ok()) {  // more threads or shared memory than the device has
    EXPECT_THAT(std::string(source.status().message()), HasSubstr("a block of"));
    return;
  }
  SCOPED_TRACE(schedule::to_string(schedule) + "\n" + source->text);
  test::Buffers want = test::random_buffers(function), got = want;
  ASSERT_NO_FATAL_FAILURE(test::interpret(function, want));
  ASSERT_NO_FATAL_FAILURE(test::run_on(device, *source, got));
  ASSERT_NO_FATAL_FAILURE(test::expect_equal(function, got, want));
  *compared = true;
}

// Parts that run beside each other.
constexpr int kParts = 10;
class PartOfOpenCl : public OpenCl, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Part, PartOfOpenCl, ::testing::Range(0, kParts));

// TF_GPU_SCHEDULES sets how many in all.
TEST_P(PartOfOpenCl, ComputesTheSameByRandomSchedules) {
  const char* asked = std::getenv("TF_GPU_SCHEDULES");
  const int wanted = (asked == nullptr ? 500 : std::atoi(asked)) / kParts;
  std::vector<tensor::Workload> workloads = {test::matmul(33, 47, 29, true), test::matmul(64, 64, 32, false)};
  for (const tf::test::SmallWorkload& small : tf::test::small_workloads())
    workloads.push_back(tf::test::build_small(small));
  std::mt19937_64 random(static_cast<uint64_t>(7 + GetParam()));
  std::map<std::string, int> having;  // of the schedules
  int computed = 0;
  for (int i = 0; computed < wanted && i < 4 * wanted; ++i) {
    const tensor::Workload& workload = workloads[random() % workloads.size()];
    const std::vector<recipes::Sketch> sketches =
        recipes::sketches_of({.workload = workload, .target = kOpenClTarget});
    const recipes::Sketch& sketch = sketches[random() % sketches.size()];
    const schedule::Schedule schedule = recipes::instantiate(sketch, random_point(sketch, random));
    bool compared = false;
    ASSERT_NO_FATAL_FAILURE(compare(device, workload, schedule, absl::StrCat("random_", i), &compared));
    if (!compared) continue;
    ++computed;
    for (const std::string& word : tf::test::words_of(schedule)) ++having[word];
  }
  EXPECT_EQ(computed, wanted);
  for (const auto& [word, count] : having) RecordProperty(word, count);
  if (wanted < 50) return;
  for (const char* word : {"raster", "pipeline", "rfactor"}) EXPECT_GE(having[word], 1) << word;
}

// By its default schedule, and by one point of each of its sketches.
TEST_P(PartOfOpenCl, ComputesEveryOperator) {
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
  const std::vector<tf::test::SmallWorkload>& all = tf::test::small_workloads();
  for (size_t i = static_cast<size_t>(GetParam()); i < all.size(); i += kParts) {
    SCOPED_TRACE(all[i].name);
    const tensor::Workload workload = tf::test::build_small(all[i]);
    const tensor::KernelSpec kernel{.workload = workload, .target = kOpenClTarget};
    bool compared = false;
    ASSERT_NO_FATAL_FAILURE(
        compare(device, workload, recipes::default_schedule(kernel), "by_default", &compared));
    EXPECT_TRUE(compared);
    for (const recipes::Sketch& sketch : recipes::sketches_of(kernel)) {
      compared = false;
      for (int tries = 0; !compared && tries < 20; ++tries)
        ASSERT_NO_FATAL_FAILURE(compare(device, workload,
                                        recipes::instantiate(sketch, random_point(sketch, random)),
                                        "by_a_sketch", &compared));
      EXPECT_TRUE(compared) << sketch.family;
    }
  }
}

// PoCL cannot compile some of the branches that depend on the thread, in loops with barriers.
TEST(OpenClSource, LoadsFromSharedMemoryWithoutBranches) {
  const tensor::Workload workload = test::matmul(36, 48, 17, false);
  const auto source = gpu_source(
      test::lowered(workload, recipes::default_schedule({.workload = workload, .target = kOpenClTarget}),
                    "product"),
      kOpenClTarget, opencl_dialect());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(source->text, HasSubstr("tf_or_zero_f32(("));
  EXPECT_THAT(source->text, ::testing::Not(HasSubstr("? p0_pack_[")));
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
  ASSERT_NO_FATAL_FAILURE(test::run_on(device, *source, buffers));
  int64_t ns = 0;
  ASSERT_TRUE(gpu::opencl_driver().end_time(device, &ns, error)) << error;
  EXPECT_GT(ns, 0);
}

}  // namespace
}  // namespace tf::backends
