// A farm with a CUDA device, which the fake driver stands for: what the agent offers, a job for it, and the doctor.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/integration/tuning_fixture.h"
#include "tests/support/fake_cuda/use_fake_cuda.h"

namespace tf::integration_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CudaFarm : public ServedTuning {
 protected:
  CudaFarm() { agent_more_ = {"--device", "cuda:0", "--golden-seconds", "0"}; }
  void SetUp() override {
    test::use_fake_cuda();
    ServedTuning::SetUp();
  }
};

TEST_F(CudaFarm, TunesANetworkOnIt) {
  wait_for_agent();
  const json devices =
      json::parse(run("tracker", {"devices", "--tracker", tracker_at_.text(), "--json"}).out);
  EXPECT_THAT(devices.dump(), HasSubstr("Fake GPU"));
  EXPECT_THAT(devices.dump(), HasSubstr("sm_90"));

  const Result submitted = run("tuner", {"submit", file("mlp.onnx"), "--target", "cuda:arch=sm_90",
                                         "--device", "box", "--trials", "8", "--server", tuner_at_.text()});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  const std::string job = submitted.out.substr(0, submitted.out.find('\n'));
  const Result watched = run("tuner", {"watch", job, "--server", tuner_at_.text()});
  ASSERT_EQ(watched.code, 0) << watched.err;
  int measured_well = 0;
  for (const database::Measurement& m : measurements("tune.db")) {
    EXPECT_EQ(m.problem.target, "cuda:arch=sm_90");
    measured_well += m.outcome == database::Outcome::kOk ? 1 : 0;
  }
  EXPECT_GE(measured_well, 5) << "of each of its kernels one";
}

TEST_F(CudaFarm, IsExaminedByTheDoctor) {
  wait_for_agent();
  const Result result =
      run("device_agent", {"doctor", "--tracker", tracker_at_.text(), "--key", "box2", "--state-dir",
                           file("other"), "--device", "cuda:0", "--without-sandbox", "missing"});
  EXPECT_THAT(result.out, HasSubstr("cuda:0: Fake GPU, CUDA 13.0"));
  EXPECT_THAT(result.out, HasSubstr("the golden kernel takes"));
}

}  // namespace
}  // namespace tf::integration_test
