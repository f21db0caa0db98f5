// Candidates on the fake CUDA device, good, hostile and unlucky: each ends in an outcome of its own, and the next one is right.

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/files/temporary_folder.h"
#include "device_agent/worker/gpu/driver_environment.h"
#include "tests/support/candidates/candidates.h"
#include "tests/support/fake_cuda/use_fake_cuda.h"
#include "tests/unit/device_agent/worker/worker_support.h"

namespace tf::worker {
namespace {

using ::testing::HasSubstr;
namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;

constexpr char kProductInCuda[] = R"(
extern "C" __global__ void __launch_bounds__(8) product(const float* x, const float* w, float* y) {
  const int m = blockIdx.y, n = blockIdx.x * 8 + threadIdx.x;
  if (n < 31) {
    float sum = 0;
    for (int k = 0; k < 13; ++k) sum += x[m * 13 + k] * w[k * 31 + n];
    y[m * 31 + n] = sum;
  }
  MISCHIEF
}
)";

class CudaWorker : public DeviceWorkerTest {
 protected:
  void SetUp() override { test::use_fake_cuda(); }
  void TearDown() override {
    for (const char* variable : set_) test::tell_fake_cuda(variable, "");
  }

  // Before start().
  void control(const char* variable, const char* value) {
    test::tell_fake_cuda(variable, value);
    set_.push_back(variable);
  }

  void start() { DeviceWorkerTest::start({.device = "cuda:0"}); }

  // With a line more at its end.
  static kernel::Artifact artifact_of(const std::string& mischief) {
    const absl::StatusOr<std::string> cubin =
        test::fake_cubin(absl::StrCat("#define MISCHIEF ", mischief, "\n", kProductInCuda));
    EXPECT_TRUE(cubin.ok()) << cubin.status();
    kernel::Artifact artifact =
        DeviceWorkerTest::artifact_of("cuda:arch=sm_90", kernel::BLOB_KIND_CUBIN, cubin.value_or(""));
    // Far from the peak of the stand-in, a CPU that other programs may slow down just while the peak is measured.
    artifact.mutable_manifest()->set_flops(artifact.manifest().flops() / 16);
    return artifact;
  }
  static std::string candidate(const std::string& mischief = "") {
    return test::serialized(artifact_of(mischief));
  }

  // A bad candidate ends so, and the next good one is right.
  void expect_survived(const std::string& mischief, farm::Outcome outcome, const std::string& detail,
                       absl::Duration timeout = absl::Seconds(20)) {
    const farm::TrialResult result = run(candidate(mischief), timeout);
    EXPECT_EQ(farm::Outcome_Name(result.outcome()), farm::Outcome_Name(outcome)) << result.detail();
    EXPECT_THAT(result.detail(), HasSubstr(detail));
    const farm::TrialResult next = run(candidate());
    EXPECT_OUTCOME(next, OUTCOME_OK) << " after " << mischief;
  }

  std::vector<const char*> set_;
};

TEST_F(CudaWorker, TimesARightCandidateAndTellsWhatTheDeviceIs) {
  start();
  const farm::TrialResult result = run(candidate());
  EXPECT_OUTCOME(result, OUTCOME_OK);
  EXPECT_GE(result.samples_size(), 3);
  ASSERT_TRUE(worker_->peak_gflops().ok()) << worker_->peak_gflops().status();
  const std::optional<GpuDevice> gpu = worker_->gpu();
  ASSERT_TRUE(gpu.has_value());
  EXPECT_EQ(gpu->back_end, "cuda");
  EXPECT_EQ(gpu->model, "Fake GPU");
  EXPECT_EQ(gpu->capability, 90u);
  EXPECT_EQ(gpu->units, 2u);
}

TEST_F(CudaWorker, EndsEachFaultInAnOutcomeAndGoesOn) {
  start();
  expect_survived("if (n == 0 && m == 0) y[17 * 31 + 5] = 1;", farm::OUTCOME_WRONG_OUTPUT,
                  "wrote outside of buffer 2");
  expect_survived("y[1000000000000L] = 1;", farm::OUTCOME_CRASHED, "error 700");
  expect_survived("fake_cuda_fail(719);", farm::OUTCOME_CRASHED, "error 719");
  expect_survived("fake_cuda_fail(702);", farm::OUTCOME_CRASHED, "error 702");
  // As of a block with too many registers.
  expect_survived("fake_cuda_fail(701);", farm::OUTCOME_COMPILE_ERROR, "error 701");
  expect_survived("__builtin_trap();", farm::OUTCOME_CRASHED, "");  // its runner dies
  expect_survived("static int runs; if (n == 0 && m == 0) y[0] += ++runs * 1e-6f;",
                  farm::OUTCOME_WRONG_OUTPUT, "different answers");
}

// A short kernel, whose runs would be put into a graph.
TEST_F(CudaWorker, LaunchesSinglyWhereNoGraphCanBeMade) {
  control("CUDA_FAKE_GRAPH_ERROR", "2");
  start();
  const farm::TrialResult result = run(candidate());
  EXPECT_OUTCOME(result, OUTCOME_OK);
  EXPECT_GE(result.samples_size(), 3);
}

TEST_F(CudaWorker, DoesNotBlameTheCandidateForWhatTheDriverRefusesLater) {
  start();
  const farm::TrialResult result = run(candidate("fake_cuda_fail(-2);"));
  EXPECT_OUTCOME(result, OUTCOME_IMPLAUSIBLE);
  EXPECT_THAT(result.detail(), HasSubstr("the measurement harness failed after it was loaded"));
  EXPECT_THAT(result.detail(), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
}

TEST_F(CudaWorker, EndsAnEndlessKernel) {
  start();
  EXPECT_OUTCOME(run(candidate()), OUTCOME_OK);
  expect_survived("while (y[0] != 3.25f) ((volatile float*)y)[1] = 1;", farm::OUTCOME_TIMED_OUT, "",
                  absl::Seconds(2));
}

TEST_F(CudaWorker, DoesNotMeasureWhatDoesNotFitItsMemory) {
  control("CUDA_FAKE_MEMORY_BYTES", "65536");
  start();
  const farm::TrialResult result = run(candidate());
  EXPECT_OUTCOME(result, OUTCOME_OUT_OF_MEMORY);
}

TEST_F(CudaWorker, DoesNotBelieveAClockThatRunsTooFast) {
  control("CUDA_FAKE_CLOCK", "50");
  start();
  const farm::TrialResult result =
      run(candidate("if (n + m == 0) for (volatile int i = 0; i < 5000000; ++i) {}"));
  EXPECT_OUTCOME(result, OUTCOME_IMPLAUSIBLE);
}

TEST_F(CudaWorker, TakesPtxWhereTheCubinIsForAnotherDevice) {
  control("CUDA_FAKE_CAPABILITY", "80");
  start();
  kernel::Artifact artifact = artifact_of("");
  const farm::TrialResult refused = run(test::serialized(artifact));
  EXPECT_OUTCOME(refused, OUTCOME_COMPILE_ERROR);
  EXPECT_THAT(refused.detail(), HasSubstr("the device is sm_80, and its driver is for CUDA 13.0"));
  kernel::Blob& other = *artifact.add_blobs();
  other = artifact.blobs(0);
  other.set_kind(kernel::BLOB_KIND_PTX);
  other.set_content(
      ".version 9.0\n.visible .entry product()\n");  // which the fake cannot run: it gets as far as that
  const farm::TrialResult result = run(test::serialized(artifact));
  EXPECT_OUTCOME(result, OUTCOME_COMPILE_ERROR);
  EXPECT_THAT(result.detail(), HasSubstr("no kernel product"));
}

TEST_F(CudaWorker, TellsClockAndHeatAndWhetherTheyThrottleIt) {
  start();
  ASSERT_TRUE(worker_->peak_gflops().ok());
  const farm::DeviceState state = run(candidate()).device();
  EXPECT_EQ(state.clock_mhz(), 1980);
  EXPECT_EQ(state.temperature_c(), 61);
  EXPECT_FALSE(state.throttled());
  control("CUDA_FAKE_THROTTLE_REASONS", "0x40");
  start();
  ASSERT_TRUE(worker_->peak_gflops().ok());
  EXPECT_TRUE(run(candidate()).device().throttled());
  control("CUDA_FAKE_THROTTLE_REASONS", "0x4");  // the limit of its power is how it always runs
  start();
  ASSERT_TRUE(worker_->peak_gflops().ok());
  EXPECT_FALSE(run(candidate()).device().throttled());
}

TEST_F(CudaWorker, StillTellsThatItIsThrottledWhenATrialWasKilled) {
  control("CUDA_FAKE_THROTTLE_REASONS", "0x40");
  start();
  ASSERT_TRUE(worker_->peak_gflops().ok());
  const farm::TrialResult killed =
      run(candidate("while (y[0] != 3.25f) ((volatile float*)y)[1] = 1;"), absl::Seconds(1));
  EXPECT_OUTCOME(killed, OUTCOME_TIMED_OUT);
  EXPECT_EQ(killed.device().clock_mhz(), 1980);
  EXPECT_EQ(killed.device().temperature_c(), 61);
  EXPECT_TRUE(killed.device().throttled());
}

TEST(DriverEnvironment, HasNamedVariablesOnly) {
  char visible[] = "CUDA_VISIBLE_DEVICES=1", blocking[] = "CUDA_LAUNCH_BLOCKING=1",
       libraries[] = "LD_LIBRARY_PATH=/opt/lib", longer[] = "CUDA_VISIBLE_DEVICES_TOO=1",
       path[] = "PATH=/bin";
  char* environment[] = {path, blocking, visible, longer, libraries, nullptr};
  char* seen[kMostForDriver] = {};
  ASSERT_EQ(add_for_driver(environment, seen), 2);
  EXPECT_EQ(std::string_view(seen[0]), visible);
  EXPECT_EQ(std::string_view(seen[1]), libraries);
}

// Of a checkout there, or of a user's.
TEST_F(CudaWorker, FindsLibrariesThatLieBelowTheFolderThatIsItsOwnInTheSandbox) {
  const absl::StatusOr<TemporaryFolder> folder = TemporaryFolder::make_in({"/tmp"});
  ASSERT_TRUE(folder.ok()) << folder.status();
  std::filesystem::permissions(folder->path(), std::filesystem::perms(0755));
  std::filesystem::copy(test::fake_cuda_folder(), folder->file("lib"));
  const std::string before(absl::NullSafeStringView(std::getenv("LD_LIBRARY_PATH")));
  setenv("LD_LIBRARY_PATH", folder->file("lib").c_str(), 1);
  start();
  EXPECT_OUTCOME(run(candidate()), OUTCOME_OK);
  setenv("LD_LIBRARY_PATH", before.c_str(), 1);
}

TEST_F(CudaWorker, SaysWhatIsMissing) {
  control("CUDA_FAKE_INIT_ERROR", "100");
  start();
  EXPECT_THAT(std::string(worker_->peak_gflops().status().message()), HasSubstr("finds no GPU"));
}

// As a device that has fallen off its bus: nothing is measured, and nothing is blamed on the candidate.
TEST_F(CudaWorker, IsUnavailableOnALostDevice) {
  control("CUDA_FAKE_INIT_ERROR", "999");
  start();
  EXPECT_THAT(std::string(worker_->peak_gflops().status().message()), HasSubstr("error 999"));
}

}  // namespace
}  // namespace tf::worker
