// A network on a GPU: tuned by an agent on loopback that measures on the OpenCL device that there is, built with what was
// found, and run there: ONNX Runtime's answer.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/graph/element_values.h"
#include "compiler/runtime/gpu/gpu.h"
#include "database/stores/open_store.h"
#include "tests/farm/harness.h"
#include "tests/integration/onnxruntime/reference.h"

namespace tf {
namespace {

using farm_test::Process;

constexpr int kTrials = 30;

class TunedByAFarm : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    char error[gpu::kErrorChars];
    if (gpu::opencl_driver().count(error) < 1) GTEST_SKIP() << error;
    if (!has_onnx_runtime()) GTEST_SKIP() << "ONNX Runtime is not installed: deploy/install_peers.sh does it";
    tracker_ = start("tracker", {"serve", "--listen", tracker_at_.text(), "--state", file("tracker.db")});
    tuner_ = start("tuner", {"serve", "--db", file("tune.db"), "--tracker", tracker_at_.text(), "--listen",
                             tuner_at_.text()});
    agent_ = start("device_agent", {"--tracker", tracker_at_.text(), "--key", "gpu", "--device", "opencl:0",
                                    "--state-dir", file("agent"), "--without-sandbox", "missing"});
  }
  void TearDown() override {
    if (!HasFailure()) return;
    for (const char* log : {"tracker", "tuner", "device_agent", "run"})
      std::fprintf(stderr, "== %s\n%s", log, read_file(file(log) + ".log").value_or("").c_str());
  }

  std::string file(const std::string& name) const { return folder_.file(name); }
  std::unique_ptr<Process> start(const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), farm_test::program(name));
    return std::make_unique<Process>(std::move(arguments), file(name + ".log"));
  }
  // Its output is file("run.log").
  int run(const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), farm_test::program(name));
    return Process(std::move(arguments), file("run.log")).wait();
  }

  // Until the agent is known a submission is refused.
  void tune(const std::string& model) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const std::vector<std::string> submission = {
        "submit", model,      "--target",       "opencl",   "--device",
        "gpu",    "--server", tuner_at_.text(), "--trials", std::to_string(kTrials)};
    while (run("tuner", submission) != 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    ASSERT_EQ(run("tuner", {"watch", "1", "--server", tuner_at_.text()}), 0);
  }

  // How many candidates of the job were right.
  int64_t right_ones() const {
    auto records = database::open_records(file("tune.db"));
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

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const rpc::Endpoint tracker_at_ = farm_test::free_endpoint(), tuner_at_ = farm_test::free_endpoint();
  std::unique_ptr<Process> tracker_, tuner_, agent_;
};

TEST_P(TunedByAFarm, ABuiltNetworkAgreesWithOnnxRuntime) {
  const std::string model = file("model.onnx");
  ASSERT_EQ(run("compiler", {"zoo", GetParam(), "-o", model}), 0);
  const absl::StatusOr<Reference> reference = ask_onnx_runtime(model, file(""));
  ASSERT_TRUE(reference.ok()) << reference.status();
  ASSERT_NO_FATAL_FAILURE(tune(model));
  EXPECT_GE(right_ones(), kTrials / 2) << "of " << kTrials;
  ASSERT_EQ(
      run("compiler", {"build", model, "--target", "opencl", "--db", file("tune.db"), "-o", file("built")}),
      0);
  auto built = driver::LoadedModel::open(file("built"), 1);
  ASSERT_TRUE(built.ok()) << built.status();
  const absl::StatusOr<std::vector<graph::HostTensor>> got = (*built)->run(reference->inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), reference->outputs.size());
  for (size_t i = 0; i < got->size(); ++i) {
    const graph::HostTensor &one = (*got)[i], &other = reference->outputs[i];
    const std::vector<double> a = graph::read_floats(one.element, one.data->bytes());
    const std::vector<double> b = graph::read_floats(other.element, other.data->bytes());
    ASSERT_EQ(a.size(), b.size());
    double worst = 0, largest = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      ASSERT_TRUE(std::isfinite(a[k])) << k;
      worst = std::max(worst, std::fabs(a[k] - b[k]));
      largest = std::max(largest, std::fabs(b[k]));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(worst, 1e-4 * largest);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, TunedByAFarm, testing::Values("squeezenet", "mobilenet_v2", "bert_mini"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace tf
