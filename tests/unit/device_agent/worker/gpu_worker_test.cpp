// Candidates in OpenCL C, good and hostile, on the OpenCL device that there is (PoCL on machines without a GPU).

#include <gmock/gmock.h>

#include <chrono>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/runtime/gpu/gpu.h"
#include "tests/support/candidates/candidates.h"
#include "tests/unit/device_agent/worker/worker_support.h"

namespace tf::worker {
namespace {

using ::testing::HasSubstr;
namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;

constexpr char kProduct[] = R"(
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void product(__global const float* x, __global const float* w, __global float* y) {
  const int m = get_group_id(1), n = get_group_id(0) * 8 + get_local_id(0);
  if (n < 31) {
    float sum = 0;
    for (int k = 0; k < 13; ++k) sum += x[m * 13 + k] * w[k * 31 + n];
    y[m * 31 + n] = sum;
  }
  MISCHIEF
}
)";

class GpuWorker : public DeviceWorkerTest {
 protected:
  void SetUp() override {
    char error[gpu::kErrorChars] = "";
    if (gpu::opencl_driver().count(error) < 1) GTEST_SKIP() << error;
    start({.device = "opencl:0"});
  }

  // With a line more at its end.
  static std::string candidate(const std::string& mischief = "") {
    return test::serialized(artifact_of("opencl", kernel::BLOB_KIND_OPENCL_C,
                                        absl::StrCat("#define MISCHIEF ", mischief, "\n", kProduct)));
  }
};

TEST_F(GpuWorker, TimesARightCandidate) {
  const farm::TrialResult result = run(candidate());
  EXPECT_OUTCOME(result, OUTCOME_OK);
  EXPECT_GE(result.samples_size(), 3);
  EXPECT_LE(result.max_error(), 1);
}

TEST_F(GpuWorker, FindsAWrongAnswer) {
  EXPECT_OUTCOME(run(candidate("if (m == 3 && n == 4) y[m * 31 + n] += 1;")), OUTCOME_WRONG_OUTPUT);
}

TEST_F(GpuWorker, FindsAWriteOutside) {
  const farm::TrialResult result = run(candidate("if (n == 0 && m == 0) y[17 * 31 + 5] = 1;"));
  EXPECT_OUTCOME(result, OUTCOME_WRONG_OUTPUT);
  EXPECT_THAT(result.detail(), HasSubstr("wrote outside of buffer 2"));
}

TEST_F(GpuWorker, FindsAChangedInput) {
  const farm::TrialResult result = run(candidate("((__global float*)x)[0] = 7;"));
  EXPECT_OUTCOME(result, OUTCOME_WRONG_OUTPUT);
  EXPECT_THAT(result.detail(), HasSubstr("changed its input, buffer 0"));
}

TEST_F(GpuWorker, TellsWhyASourceDoesNotCompile) {
  const farm::TrialResult result = run(candidate("nonsense;"));
  EXPECT_OUTCOME(result, OUTCOME_COMPILE_ERROR);
  EXPECT_THAT(result.detail(), HasSubstr("nonsense"));
}

TEST_F(GpuWorker, EndsAnEndlessKernelAndGoesOn) {
  EXPECT_OUTCOME(run(candidate()), OUTCOME_OK);
  EXPECT_OUTCOME(
      run(candidate("while (y[0] != 3.25f) ((volatile __global float*)y)[1] = 1;"), absl::Seconds(3)),
      OUTCOME_TIMED_OUT);
  EXPECT_OUTCOME(run(candidate()), OUTCOME_OK);
}

// On PoCL a kernel can reach the whole process; a GPU's driver would say so by an error.
TEST_F(GpuWorker, OutlivesACandidateThatTakesItsRunnerDown) {
  EXPECT_OUTCOME(run(candidate("*(__global volatile float*)(y + 1000000000000L) = 1;")), OUTCOME_CRASHED);
  EXPECT_OUTCOME(run(candidate()), OUTCOME_OK);
}

TEST_F(GpuWorker, MeasuresThePeakOfTheDevice) {
  const absl::StatusOr<double> peak = worker_->peak_gflops();
  ASSERT_TRUE(peak.ok()) << peak.status();
  EXPECT_GT(*peak, 1);
}

// With a CPU to spare, the next candidate compiles while one is measured; whatever becomes of one, the others are right.
TEST_F(GpuWorker, MakesTheNextOnesReadyWhileOneIsMeasured) {
  start({.device = "opencl:0", .cpus = {0}, .spare_cpus = {1}});
  EXPECT_OUTCOME(run(candidate()), OUTCOME_OK);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 2; ++i)
        EXPECT_OUTCOME(run(candidate(absl::StrCat("/* ", caller, i, " */"))), OUTCOME_OK);
    });
  EXPECT_OUTCOME(
      run(candidate("while (y[0] != 3.25f) ((volatile __global float*)y)[1] = 1;"), absl::Seconds(3)),
      OUTCOME_TIMED_OUT);
  EXPECT_OUTCOME(run(candidate("nonsense;")), OUTCOME_COMPILE_ERROR);
  EXPECT_OUTCOME(run(candidate("y[3] += 1;")), OUTCOME_WRONG_OUTPUT);
  for (std::thread& caller : callers) caller.join();
}

// Wherever it is: it compiles, stands still, or is timed itself. The others' supervisor is replaced, and nothing else changes.
TEST_F(GpuWorker, EndsOneWithItsLeaseWhileAnotherIsMeasured) {
  EXPECT_OUTCOME(run(candidate()), OUTCOME_OK);
  std::thread other([&] {
    for (int i = 0; i < 6; ++i) EXPECT_OUTCOME(run(candidate(absl::StrCat("/* ", i, " */"))), OUTCOME_OK);
  });
  for (int i = 0; i < 4; ++i) {
    // Endless, so that nothing but the lease ends it.
    const std::string artifact =
        candidate(absl::StrCat("while (y[0] != ", i, ".25f) ((volatile __global float*)y)[1] = 1;"));
    std::stop_source lease;
    std::jthread end([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * i));
      lease.request_stop();
    });
    const absl::StatusOr<farm::TrialResult> result =
        worker_->run(trial_of(artifact), artifact, reference(), lease.get_token());
    EXPECT_TRUE(absl::IsCancelled(result.status())) << result.status();
  }
  other.join();
  EXPECT_OUTCOME(run(candidate("/* last */")), OUTCOME_OK);
}

TEST(GpuWorkerDevice, IsRefusedByNameWhereThereIsNone) {
  const absl::StatusOr<std::unique_ptr<Worker>> worker = Worker::start(anywhere({.device = "opencl:999"}));
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_THAT(std::string((*worker)->peak_gflops().status().message()), HasSubstr("OpenCL"));
}

}  // namespace
}  // namespace tf::worker
