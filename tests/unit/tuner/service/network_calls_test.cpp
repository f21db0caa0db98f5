#include "tuner/service/farm/network_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
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

// x, then three times tanh of it, then a sum with itself.
std::string looping_model() {
  onnx::ModelWriter model;
  model.input("x", {4, 8});
  model.ints("trips", {3});
  model.node("Relu", {"x"}, "start");
  ::onnx::NodeProto& loop = model.node("Loop", {"trips", "", "start"}, "end");
  ::onnx::AttributeProto& attribute = onnx::attribute(loop, "body");
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  ::onnx::GraphProto& body = *attribute.mutable_g();
  const auto declare = [](::onnx::ValueInfoProto& info, const char* name, int type, bool is_scalar) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    auto& shape = *tensor.mutable_shape();
    if (is_scalar) return;
    shape.add_dim()->set_dim_value(4);
    shape.add_dim()->set_dim_value(8);
  };
  declare(*body.add_input(), "i", 7, true);
  declare(*body.add_input(), "goes", 9, true);
  declare(*body.add_input(), "v", 1, false);
  const auto add = [&](const char* op, const char* input, const char* output) {
    ::onnx::NodeProto& node = *body.add_node();
    node.set_op_type(op);
    node.add_input(input);
    node.add_output(output);
  };
  add("Identity", "goes", "goes_on");
  add("Tanh", "v", "next");
  declare(*body.add_output(), "goes_on", 9, true);
  declare(*body.add_output(), "next", 1, false);
  model.node("Softmax", {"end"}, "y");
  model.output("y");
  return model.bytes();
}

TEST_F(NetworkCallsTest, HaveWhatALoopRunsBeforeTheLoop) {
  const NetworkPlan network = plan(looping_model());
  std::vector<std::string> labels;
  for (const pb::NetworkCall& call : network.calls.calls()) labels.push_back(call.label());
  const auto loop = std::ranges::find(labels, "loop");
  ASSERT_NE(loop, labels.end()) << testing::PrintToString(labels);
  const auto number = static_cast<uint32_t>(loop - labels.begin());
  const auto body = static_cast<uint32_t>(std::ranges::find(labels, "tanh") - labels.begin());
  ASSERT_LT(body, number) << testing::PrintToString(labels);
  const auto inputs = [&](uint32_t call) {
    const auto& of = network.calls.calls(static_cast<int>(call)).inputs();
    return std::vector<uint32_t>(of.begin(), of.end());
  };
  EXPECT_THAT(inputs(body), testing::ElementsAre(0u));            // what is given to the loop
  EXPECT_THAT(inputs(number), testing::Contains(body));           // what its body makes
  EXPECT_THAT(inputs(number + 1), testing::ElementsAre(number));  // what it makes itself
  EXPECT_EQ(network.calls.calls(static_cast<int>(number)).kernel_id(), "");
}

}  // namespace
}  // namespace tf::service
