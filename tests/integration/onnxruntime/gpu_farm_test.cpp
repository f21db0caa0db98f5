// A network on a GPU: tuned by an agent on loopback that measures on the OpenCL device that there is, built with what was
// found, and run there: ONNX Runtime's answer.

#include <gtest/gtest.h>

#include "compiler/driver/loaded_model.h"
#include "compiler/runtime/gpu/gpu.h"
#include "database/stores/open_store.h"
#include "tests/farm/one_agent.h"
#include "tests/integration/onnxruntime/reference.h"

namespace tf {
namespace {

constexpr int kTrials = 30;

// How many candidates of jobs were right.
int64_t right_ones(const std::string& database) {
  auto records = database::open_records(database);
  EXPECT_TRUE(records.ok()) << records.status();
  int64_t count = 0;
  if (!records.ok()) return 0;
  const absl::Status scanned = (*records)->scan({}, [&](const database::Measurement& m) {
    count += m.job_id != 0 && m.outcome == database::Outcome::kOk;
    return absl::OkStatus();
  });
  EXPECT_TRUE(scanned.ok()) << scanned;
  return count;
}

class TunedByAFarm : public testing::TestWithParam<const char*> {};

TEST_P(TunedByAFarm, ABuiltNetworkAgreesWithOnnxRuntime) {
  char error[gpu::kErrorChars];
  if (gpu::opencl_driver().count(error) < 1) GTEST_SKIP() << error;
  if (!has_onnx_runtime()) GTEST_SKIP() << "ONNX Runtime is not installed: deploy/install_peers.sh does it";
  farm_test::OneAgentFarm farm("opencl:0");
  const std::string model = farm.file("model.onnx");
  ASSERT_EQ(farm.run("compiler", {"zoo", GetParam(), "-o", model}), 0);
  const absl::StatusOr<Reference> reference = ask_onnx_runtime(model, farm.file(""));
  ASSERT_TRUE(reference.ok()) << reference.status();
  if (!farm.tune(model, "opencl", {"--trials", std::to_string(kTrials)})) {
    farm.print_logs();
    FAIL() << "it was not tuned";
  }
  EXPECT_GE(right_ones(farm.database()), kTrials / 2) << "of " << kTrials;
  ASSERT_EQ(farm.run("compiler", {"build", model, "--target", "opencl", "--db", farm.database(), "-o",
                                  farm.file("built")}),
            0);
  auto built = driver::LoadedModel::open(farm.file("built"), 1);
  ASSERT_TRUE(built.ok()) << built.status();
  const absl::StatusOr<std::vector<graph::HostTensor>> got = (*built)->run(reference->inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  const Distance far = distance(*got, reference->outputs);
  EXPECT_GT(far.largest, 0);
  EXPECT_LE(far.worst, 1e-4 * far.largest);
}

INSTANTIATE_TEST_SUITE_P(Zoo, TunedByAFarm, testing::Values("squeezenet", "mobilenet_v2", "bert_mini"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace tf
