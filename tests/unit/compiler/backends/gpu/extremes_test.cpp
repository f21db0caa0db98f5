// Schedules of unusual workloads: each gives what plain loops give, and has code for both kinds of GPU; on the OpenCL device, too.

#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/opencl/opencl_dialect.h"
#include "compiler/recipes/recipes.h"
#include "compiler/tensor/text.h"
#include "tests/unit/compiler/backends/gpu/extreme_workloads.h"
#include "tests/unit/compiler/backends/gpu/opencl_program.h"

namespace tf::backends {
namespace {

using schedule::Schedule;

struct Gpu {
  target::Target target;
  const GpuDialect& (*dialect)();
};
const Gpu kGpus[] = {{*target::parse_target("opencl"), opencl_dialect},
                     {*target::parse_target("cuda:arch=sm_75"), cuda_dialect},
                     {*target::parse_target("cuda:arch=sm_80"), cuda_dialect}};

// Of the interpreter, for buffers that begin as the same numbers.
test::Buffers interpreted(const ir::Function& function) {
  test::Buffers buffers = test::random_buffers(function);
  test::interpret(function, buffers);
  return buffers;
}

TEST(Extremes, OfAllSketchesComputeWhatPlainLoopsDo) {
  gpu::Device* device = test::open_opencl();
  for (const test::ExtremeWorkload& extreme : test::kSmallExtremes) {
    const absl::StatusOr<tensor::Workload> workload = tensor::parse_workload(test::text_of(extreme));
    ASSERT_TRUE(workload.ok()) << extreme.name << ": " << workload.status();
    const test::Buffers want = interpreted(test::lowered(*workload, Schedule{}, "plain"));
    for (const Gpu& each : kGpus) {
      for (const recipes::Sketch& sketch :
           recipes::sketches_of({.workload = *workload, .target = each.target})) {
        SCOPED_TRACE(absl::StrCat(extreme.name, ", ", sketch.family, ", ", each.target.text()));
        const Schedule schedule = recipes::instantiate(sketch, sketch.default_point());
        const ir::Function function = test::lowered(*workload, schedule, "extreme");
        const absl::StatusOr<GpuSource> source = gpu_source(function, each.target, each.dialect());
        ASSERT_TRUE(source.ok()) << source.status() << "\n" << schedule::to_string(schedule);
        ASSERT_NO_FATAL_FAILURE(test::expect_equal(function, interpreted(function), want));
        if (device == nullptr || each.target.arch != target::Arch::kOpenCl) continue;
        test::Buffers got = test::random_buffers(function);
        ASSERT_NO_FATAL_FAILURE(test::run_on(device, *source, got));
        ASSERT_NO_FATAL_FAILURE(test::expect_equal(function, got, want)) << source->text;
      }
    }
  }
  if (device != nullptr) gpu::opencl_driver().close(device);
}

TEST(Extremes, BeyondThirtyTwoBitsHaveCode) {
  for (const test::ExtremeWorkload& extreme : test::kLargeExtremes) {
    const absl::StatusOr<tensor::Workload> workload = tensor::parse_workload(test::text_of(extreme));
    ASSERT_TRUE(workload.ok()) << extreme.name << ": " << workload.status();
    for (const Gpu& each : kGpus) {
      SCOPED_TRACE(absl::StrCat(extreme.name, ", ", each.target.text()));
      const Schedule schedule = recipes::default_schedule({.workload = *workload, .target = each.target});
      const ir::Function function = test::lowered(*workload, schedule, "extreme");
      const absl::StatusOr<GpuSource> source = gpu_source(function, each.target, each.dialect());
      ASSERT_TRUE(source.ok()) << source.status() << "\n" << schedule::to_string(schedule);
      EXPECT_GT(test::numbers_of(*source).at(0).block[0] * test::numbers_of(*source)[0].block[1], 1)
          << "threads";
    }
  }
}

}  // namespace
}  // namespace tf::backends
