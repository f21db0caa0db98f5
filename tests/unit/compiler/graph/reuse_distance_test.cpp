#include "compiler/graph/program/reuse_distance.h"

#include <gtest/gtest.h>

#include "compiler/graph/program/program.h"

namespace tf::graph {
namespace {

using tensor::Element;

NodeId constant(Graph& graph, const std::vector<int64_t>& shape) {
  const std::vector<float> values(static_cast<size_t>(*element_count(shape)), 0.5f);
  return graph.add_constant(tensor_type(Element::kFloat32, shape), make_blob(values), "w");
}

TEST(ReuseDistance, IsAllConstantsAndTheLargestActivation) {
  Graph graph;
  NodeId x = graph.add_input(tensor_type(Element::kFloat32, std::vector<int64_t>{64, 256}), "x");  // 64 KiB
  for (int layer = 0; layer < 4; ++layer)  // 256 KiB each
    x = *graph.add(MatMul{}, {x, constant(graph, {256, 256})}, "layer");
  graph.outputs = {{"y", x}};
  EXPECT_EQ(reuse_distance_bytes(graph), 1u << 20) << "rounded from 1088 KiB";
  const Program program = *plan_program(graph, {});
  for (const Task& task : program.tasks) EXPECT_EQ(task.kernel.reuse_distance_bytes, 1u << 20);
}

TEST(ReuseDistance, OfATableIsWhatIsLookedUp) {
  Graph graph;
  const NodeId table = constant(graph, {65536, 64});  // 16 MiB
  const NodeId rows = graph.add_input(tensor_type(Element::kInt64, std::vector<int64_t>{384}), "rows");
  graph.outputs = {{"y", *graph.add(Gather{0}, {table, rows}, "look up")}};
  EXPECT_EQ(reuse_distance_bytes(graph), 192u << 10) << "96 KiB of the table, and as much written";
}

TEST(ReuseDistance, IsOfANetworkThatComputesNothingNothing) {
  EXPECT_EQ(reuse_distance_bytes(Graph{}), 0u);
}

}  // namespace
}  // namespace tf::graph
