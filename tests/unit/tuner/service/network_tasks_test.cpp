#include "tuner/service/farm/network_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files/file.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/network_request.h"
#include "compiler/frontends/zoo/zoo.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/graph/program/program.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::service {
namespace {

class NetworkTasksTest : public testing::Test {
 protected:
  ~NetworkTasksTest() override { std::filesystem::remove(path_); }

  void read(const std::string& model) {
    ASSERT_TRUE(write_file(path_, model).ok());
    const auto network = network_tasks(path_, target_, {});
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *network;
    const auto program =
        graph::plan_program(*frontends::import_file(path_, {}), {.lanes = target_.fp32_lanes()});
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *program;
  }

  const std::string path_ = testing::TempDir() + "/network_tasks_test." + std::to_string(getpid()) + ".onnx";
  const target::Target target_ = *target::parse_target("x86_64:cpu=znver4");
  std::vector<session::Task> network_;
  graph::Program program_;
};

TEST_F(NetworkTasksTest, HaveTheKernelsOfOtherLayoutsAtTheEndWithoutWeight) {
  read(*zoo::model("squeezenet", {}));
  ASSERT_FALSE(program_.alternatives.empty());
  ASSERT_EQ(network_.size(), program_.tasks.size() + program_.alternatives.size());
  for (size_t i = 0; i < network_.size(); ++i) {
    const bool used = i < program_.tasks.size();
    const graph::Task& task = used ? program_.tasks[i] : program_.alternatives[i - program_.tasks.size()];
    EXPECT_EQ(network_[i].weight, used ? static_cast<double>(task.count) : 0);
    EXPECT_EQ(network_[i].label, task.label);
    EXPECT_EQ(network_[i].kernel.ports.inputs, task.kernel.ports.inputs);
    EXPECT_EQ(network_[i].kernel.ports.outputs, task.kernel.ports.outputs);
  }
}

TEST_F(NetworkTasksTest, LeaveOutKernelsThatComputeNothing) {
  ::onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(*zoo::model("squeezenet", {})));
  ::onnx::GraphProto& graph = *model.mutable_graph();
  // Before all others a kernel that computes nothing.
  auto& input = *graph.add_input();
  input.set_name("none");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(1);
  input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(0);
  auto& node = *graph.add_node();
  node.set_op_type("Relu");
  node.add_input("none");
  node.add_output("nothing");
  for (int i = graph.node_size() - 1; i > 0; --i) graph.mutable_node()->SwapElements(i, i - 1);
  graph.add_output()->set_name("nothing");
  read(model.SerializeAsString());

  const graph::Task& first = program_.tasks.at(0);
  ASSERT_TRUE(recipes::computes_nothing(*tensor::bind(first.kernel.workload, first.kernel.binding)));
  ASSERT_EQ(network_.size(), program_.tasks.size() + program_.alternatives.size() - 1);
  EXPECT_EQ(network_.front().label, program_.tasks.at(1).label);
}

// Every kernel whose schedule a build for a range of sizes asks the database for first, and no others: among them those of
// each size by itself.
TEST_F(NetworkTasksTest, OfARangeOfSizesAreThoseThatItsBuildAsksFor) {
  ASSERT_TRUE(write_file(path_, *zoo::model("mlp", {.batch_name = "batch"})).ok());
  const auto keys_of = [&](const frontends::NetworkRequest& request) {
    const auto tasks = network_tasks(path_, target_, request);
    EXPECT_TRUE(tasks.ok()) << tasks.status();
    std::set<std::string> keys;
    for (const session::Task& task : *tasks)
      if (task.weight > 0) keys.insert(tensor::to_string(tensor::key_for(task.kernel, target_, 1)));
    return keys;
  };
  frontends::NetworkRequest request;
  ASSERT_TRUE(frontends::add_dim("batch=1..64", request).ok());
  ASSERT_TRUE(frontends::add_anchors({"batch=64,1,8"}, request).ok());
  const std::set<std::string> tuned = keys_of(request);
  std::set<std::string> asked, alone;
  const auto program =
      graph::plan_network(*frontends::import_network(path_, request), {.lanes = target_.fp32_lanes()});
  ASSERT_TRUE(program.ok()) << program.status();
  int for_all_sizes = 0;
  for (const graph::Task& task : program->tasks) {
    for_all_sizes += task.at_sizes.empty() ? 0 : 1;
    const tensor::KernelSpec& kernel = task.at_sizes.empty() ? task.kernel : task.at_sizes.front();
    asked.insert(tensor::to_string(tensor::key_for(kernel, target_, 1)));
  }
  EXPECT_GT(for_all_sizes, 0);
  EXPECT_EQ(tuned, asked);
  for (const char* dim : {"batch=1", "batch=8", "batch=64"}) {
    frontends::NetworkRequest of_one;
    ASSERT_TRUE(frontends::add_dim(dim, of_one).ok());
    alone.merge(keys_of(of_one));
  }
  EXPECT_THAT(tuned, testing::IsSupersetOf(alone));
}

TEST_F(NetworkTasksTest, OfSeveralSizesCountAlike) {
  ASSERT_TRUE(write_file(path_, *zoo::model("mlp", {.batch_name = "batch"})).ok());
  frontends::NetworkRequest request;
  ASSERT_TRUE(frontends::add_dim("batch=1..64", request).ok());
  ASSERT_TRUE(frontends::add_anchors({"batch=1,64"}, request).ok());
  const auto tasks = network_tasks(path_, target_, request);
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  double small = 0, large = 0;
  for (const session::Task& task : *tasks) {
    if (task.label.find(" 1x") != std::string::npos) small = std::max(small, task.importance);
    if (task.label.find(" 64x") != std::string::npos) large = std::max(large, task.importance);
  }
  EXPECT_EQ(large, 1);
  EXPECT_GT(small, 1.5);
}

}  // namespace
}  // namespace tf::service
