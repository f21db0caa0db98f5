#include "tuner/service/farm/network_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/files/file.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/zoo/zoo.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "tests/support/onnx/model_writer.h"
#include "tuner/report/kernel_id.h"
#include "tuner/service/farm/network_tasks.h"

namespace tf::service {
namespace {

namespace pb = tunefarm::tune::v1;
using testing::HasSubstr;

class NetworkCallsTest : public testing::Test {
 protected:
  ~NetworkCallsTest() override { std::filesystem::remove(path_); }

  NetworkPlan plan(const std::string& model) {
    EXPECT_TRUE(write_file(path_, model).ok());
    auto plan = plan_of_network(path_, target_, 2, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }

  const std::string path_ = testing::TempDir() + "/network_calls_test." + std::to_string(getpid()) + ".onnx";
  const target::Target target_ = *target::parse_target("x86_64:cpu=znver4");
};

TEST_F(NetworkCallsTest, NameTheKernelsOfTheTasksAndReadEarlierCalls) {
  const NetworkPlan squeezenet = plan(*zoo::model("squeezenet", {}));
  std::set<std::string> tasks, called;
  for (const session::Task& task : squeezenet.tasks)
    if (task.weight > 0) tasks.insert(report::kernel_id(tensor::key_for(task.kernel, target_, 2)));
  ASSERT_GT(squeezenet.calls.calls_size(), 30);
  bool has_concatenation = false;
  std::set<uint32_t> read;
  for (int i = 0; i < squeezenet.calls.calls_size(); ++i) {
    const pb::NetworkCall& call = squeezenet.calls.calls(i);
    if (!call.kernel_id().empty()) called.insert(call.kernel_id());
    EXPECT_FALSE(call.label().empty());
    EXPECT_FALSE(call.shape().empty());
    EXPECT_FALSE(call.nodes().empty()) << call.label();
    for (const uint32_t input : call.inputs()) {
      EXPECT_LT(input, static_cast<uint32_t>(i));
      read.insert(input);
    }
    EXPECT_EQ(call.inputs().empty(), i == 0) << call.label() << ", " << i;
    has_concatenation |= call.inputs_size() > 1;
  }
  EXPECT_EQ(called, tasks);
  EXPECT_TRUE(has_concatenation);  // of what two expand in place
  EXPECT_EQ(read.size() + 1, static_cast<size_t>(squeezenet.calls.calls_size()));  // all but the last
  EXPECT_THAT(squeezenet.calls.calls(0).label(), HasSubstr("conv2d"));
  EXPECT_THAT(squeezenet.calls.calls(0).label(), testing::Not(HasSubstr(squeezenet.calls.calls(0).shape())));
}

TEST_F(NetworkCallsTest, SayWhichNodesAreFused) {
  onnx::ModelWriter model;
  model.input("x", {4, 8});
  model.floats("w", {8, 8}, std::vector<float>(64, 1.0f));
  model.node("MatMul", {"x", "w"}, "product");
  model.node("Relu", {"product"}, "y");
  model.output("y");
  const NetworkPlan network = plan(model.bytes());
  ASSERT_EQ(network.calls.calls_size(), 1);
  EXPECT_EQ(network.calls.calls(0).nodes_size(), 2);
  EXPECT_EQ(network.calls.calls(0).shape(), "4x8");
  EXPECT_THAT(to_json(network.calls), HasSubstr("\"kernelId\""));
}

}  // namespace
}  // namespace tf::service
