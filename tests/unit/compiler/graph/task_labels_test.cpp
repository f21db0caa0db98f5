#include "compiler/graph/kernels/task_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/program/program.h"

namespace tf::graph {
namespace {

using testing::ElementsAre;

// Convolutions of `x` by constants of those shapes, each padded to keep its size and an output of its own.
class Convolutions {
 public:
  NodeId input(std::vector<int64_t> shape) {
    return graph_.add_input(tensor_type(tensor::Element::kFloat32, shape), next_name());
  }
  void add(NodeId x, std::vector<int64_t> weights, int64_t stride = 1, int64_t dilation = 1) {
    const auto elements = static_cast<size_t>(weights[0] * weights[1] * weights[2] * weights[3]);
    const int64_t pad = weights[2] / 2 * dilation;
    const NodeId w = graph_.add_constant(tensor_type(tensor::Element::kFloat32, weights),
                                         make_blob(std::vector<float>(elements, 0.5f)), next_name());
    const Conv conv{{stride, stride}, {dilation, dilation}, {pad, pad}, {pad, pad}, 1};
    const NodeId y = *graph_.add(conv, {x, w}, next_name());
    graph_.outputs.push_back({graph_.node(y).name, y});
  }
  Program plan() const { return *plan_program(graph_, {.lanes = 1}); }
  std::vector<std::string> labels() const {
    std::vector<std::string> labels;
    const Program program = plan();
    for (const Task& task : program.tasks) labels.push_back(task.label);
    return labels;
  }

 private:
  std::string next_name() { return "n" + std::to_string(named_++); }

  Graph graph_;
  int named_ = 0;
};

TEST(TaskLabels, AreOperatorsAndTheResultsShapeWhereThatSuffices) {
  Convolutions network;
  const NodeId x = network.input({1, 8, 4, 4});
  network.add(x, {8, 8, 1, 1});
  network.add(x, {4, 8, 1, 1});
  EXPECT_THAT(network.labels(), ElementsAre("conv2d 1x8x4x4", "conv2d 1x4x4x4"));
}

TEST(TaskLabels, NameTheFirstOperandOfNamesakes) {
  Convolutions network;
  network.add(network.input({1, 8, 4, 4}), {8, 8, 3, 3});
  network.add(network.input({1, 8, 8, 8}), {8, 8, 3, 3}, 2);
  EXPECT_THAT(network.labels(), ElementsAre("conv2d 1x8x4x4 of 1x8x4x4", "conv2d 1x8x4x4 of 1x8x8x8"));
}

TEST(TaskLabels, NameTheSecondOperandWhereTheFirstDoesNotTell) {
  Convolutions network;
  const NodeId x = network.input({1, 8, 4, 4});
  network.add(x, {8, 8, 3, 3});
  network.add(x, {8, 8, 1, 1});
  EXPECT_THAT(network.labels(), ElementsAre("conv2d 1x8x4x4 by 8x8x3x3", "conv2d 1x8x4x4 by 8x8x1x1"));
}

TEST(TaskLabels, NameBothWhereNeitherAloneTells) {
  Convolutions network;
  const NodeId x = network.input({1, 8, 4, 4}), larger = network.input({1, 8, 8, 8});
  network.add(x, {8, 8, 3, 3});
  network.add(x, {8, 8, 1, 1});
  network.add(larger, {8, 8, 1, 1}, 2);
  EXPECT_THAT(network.labels(),
              ElementsAre("conv2d 1x8x4x4 of 1x8x4x4 by 8x8x3x3", "conv2d 1x8x4x4 of 1x8x4x4 by 8x8x1x1",
                          "conv2d 1x8x4x4 of 1x8x8x8 by 8x8x1x1"));
}

TEST(TaskLabels, StayAlikeWhereShapesDoNotTell) {
  Convolutions network;
  const NodeId x = network.input({1, 8, 4, 4});
  network.add(x, {8, 8, 3, 3}, 1, 1);
  network.add(x, {8, 8, 3, 3}, 1, 2);
  EXPECT_THAT(network.labels(), ElementsAre("conv2d 1x8x4x4", "conv2d 1x8x4x4"));
}

TEST(TaskLabels, SayWhichAreAlternatives) {
  Convolutions network;
  network.add(network.input({1, 8, 4, 4}), {8, 8, 1, 1});
  std::vector<Task> tasks = network.plan().tasks, alternatives = tasks;
  ASSERT_TRUE(tell_apart(tasks, alternatives).ok());
  EXPECT_EQ(tasks[0].label, "conv2d 1x8x4x4");
  EXPECT_EQ(alternatives[0].label, "conv2d 1x8x4x4 (alternative layout)");
}

}  // namespace
}  // namespace tf::graph
