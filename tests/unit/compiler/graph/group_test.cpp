#include "compiler/graph/kernels/group.h"

#include <set>

#include "compiler/graph/kernels/lower_group.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/text.h"
#include "random_graph.h"
#include "tests/unit/compiler/graph/parsed_graph.h"

namespace tf::graph {
namespace {

// The labels of the groups' workloads, in order.
std::vector<std::string> labels(const Graph& graph) {
  std::vector<std::string> all;
  for (const Group& group : make_groups(graph)) {
    absl::StatusOr<LoweredGroup> lowered = lower_group(graph, group);
    all.push_back(lowered.ok() ? lowered->workload.label : std::string(lowered.status().message()));
  }
  return all;
}

const char kConv[] = R"(
    n0 = input() "x" : f32[1, 1, 2, 2]
    n1 = constant(2f32) "w" : f32[1, 1, 1, 1]
    n2 = conv(n0, n1; strides=[1, 1], dilations=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], groups=1) "c" : f32[1, 1, 2, 2]
)";

TEST(Groups, TakeElementwiseNodesIntoTheKernelBefore) {
  EXPECT_EQ(labels(parsed(std::string(kConv) + R"(
    n3 = add(n2, n0) "sum" : f32[1, 1, 2, 2]
    n4 = relu(n3) "r" : f32[1, 1, 2, 2]
    n5 = softmax(n4; axis=3, log=false) "s" : f32[1, 1, 2, 2]
    output "y" = n5
)")),
            (std::vector<std::string>{"conv2d+add+relu", "softmax"}));
}

TEST(Groups, CloseOverGatesThatReadAValueTwice) {
  EXPECT_EQ(labels(parsed(std::string(kConv) + R"(
    n3 = sigmoid(n2) "s" : f32[1, 1, 2, 2]
    n4 = mul(n2, n3) "m" : f32[1, 1, 2, 2]
    output "y" = n4
)")),
            (std::vector<std::string>{"conv2d+sigmoid+mul"}));
}

TEST(Groups, StopWhereAnotherKernelReads) {
  EXPECT_EQ(labels(parsed(std::string(kConv) + R"(
    n3 = relu(n2) "r" : f32[1, 1, 2, 2]
    n4 = softmax(n2; axis=3, log=false) "s" : f32[1, 1, 2, 2]
    n5 = add(n3, n4) "sum" : f32[1, 1, 2, 2]
    output "y" = n5
)")),
            (std::vector<std::string>{"conv2d", "relu", "softmax+add"}));
}

// However layer norm is written, it is one kernel.
TEST(Groups, RunReductionsOfTheSameRowsTogether) {
  EXPECT_EQ(labels(parsed(R"(
    n0 = input() "x" : f32[2, 8]
    n1 = reduce_mean(n0; axes=[1], keep_dims=true) "mean" : f32[2, 1]
    n2 = sub(n0, n1) "apart" : f32[2, 8]
    n3 = mul(n2, n2) "square" : f32[2, 8]
    n4 = reduce_mean(n3; axes=[1], keep_dims=true) "variance" : f32[2, 1]
    n5 = sqrt(n4) "deviation" : f32[2, 1]
    n6 = div(n2, n5) "y" : f32[2, 8]
    n7 = reduce_mean(n6; axes=[0], keep_dims=true) "columns" : f32[1, 8]
    output "y" = n7
)")),
            (std::vector<std::string>{"reduce_mean+sub+mul+reduce_mean+sqrt+div", "reduce_mean"}));
}

TEST(Groups, ReduceWhatIsComputedElementByElement) {
  const auto norm = [](const char* outputs) {
    return labels(parsed(std::string(R"(
    n0 = input() "x" : f32[2, 8]
    n1 = mul(n0, n0) "s" : f32[2, 8]
    n2 = reduce_mean(n1; axes=[1], keep_dims=1) "m" : f32[2, 1]
    n3 = sqrt(n2) "d" : f32[2, 1]
    n4 = div(n0, n3) "q" : f32[2, 8]
)") + outputs));
  };
  EXPECT_EQ(norm("output \"y\" = n4\n"), std::vector<std::string>{"mul+reduce_mean+sqrt+div"});
  EXPECT_EQ(norm("output \"y\" = n4\noutput \"s\" = n1\n"),
            (std::vector<std::string>{"mul", "reduce_mean+sqrt+div"}));
}

TEST(Groups, StopAtOutputs) {
  EXPECT_EQ(labels(parsed(std::string(kConv) + R"(
    n3 = relu(n2) "r" : f32[1, 1, 2, 2]
    output "y" = n3
    output "c" = n2
)")),
            (std::vector<std::string>{"conv2d", "relu"}));
}

TEST(Groups, HoldAttentionWhole) {
  const std::string scores = R"(
    n0 = input() "q" : f32[2, 8, 4]
    n1 = input() "k" : f32[2, 4, 8]
    n2 = input() "v" : f32[2, 8, 8]
    n3 = matmul(n0, n1; transpose_a=false, transpose_b=false) "scores" : f32[2, 8, 8]
    n4 = relu(n3) "r" : f32[2, 8, 8]
    n5 = softmax(n4; axis=2, log=false) "s" : f32[2, 8, 8]
    n6 = matmul(n5, n2; transpose_a=false, transpose_b=false) "y" : f32[2, 8, 8]
    n7 = relu(n6) "z" : f32[2, 8, 8]
    output "z" = n7
)";
  EXPECT_EQ(labels(parsed(scores)),
            (std::vector<std::string>{"batch_matmul+relu+softmax+batch_matmul", "relu"}));
  EXPECT_EQ(labels(parsed(scores + "    output \"weights\" = n5\n")),
            (std::vector<std::string>{"batch_matmul+relu", "softmax", "batch_matmul+relu"}));
}

TEST(Groups, HoldTheTransposesAroundAttentionThatLeaveRowsWhole) {
  const std::string heads = R"(
    n0 = input() "q" : f32[1, 8, 2, 4]
    n1 = input() "k" : f32[1, 8, 2, 4]
    n2 = input() "v" : f32[1, 8, 2, 4]
    n3 = transpose(n0; perm=[0, 2, 1, 3]) "tq" : f32[1, 2, 8, 4]
    n4 = transpose(n1; perm=[0, 2, 3, 1]) "tk" : f32[1, 2, 4, 8]
    n5 = transpose(n2; perm=[0, 2, 1, 3]) "tv" : f32[1, 2, 8, 4]
    n6 = matmul(n3, n4; transpose_a=false, transpose_b=false) "scores" : f32[1, 2, 8, 8]
    n7 = softmax(n6; axis=3, log=false) "s" : f32[1, 2, 8, 8]
    n8 = matmul(n7, n5; transpose_a=false, transpose_b=false) "y" : f32[1, 2, 8, 4]
    n9 = transpose(n8; perm=[0, 2, 1, 3]) "ty" : f32[1, 8, 2, 4]
    output "y" = n9
)";
  EXPECT_EQ(labels(parsed(heads)),
            (std::vector<std::string>{"transpose", "batch_matmul+softmax+batch_matmul"}));
  // Values that somebody else reads too, and a result that is an output as it is.
  EXPECT_EQ(
      labels(parsed(heads + "    output \"v\" = n5\n    output \"plain\" = n8\n")),
      (std::vector<std::string>{"transpose", "transpose", "batch_matmul+softmax+batch_matmul", "transpose"}));
}

TEST(Groups, HoldEveryNodeOnceInAnOrderThatRuns) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Graph graph = optimize(RandomGraph(seed).make());
    std::set<NodeId> made, grouped;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (as<Input>(graph.nodes[i]) || as<Constant>(graph.nodes[i])) made.insert(NodeId(i));
    }
    auto is_made = [&](NodeId id) {
      while (is_view(graph.node(id))) id = graph.node(id).inputs[0];
      return made.contains(id);
    };
    for (const Group& group : make_groups(graph)) {
      std::set<NodeId> inside;
      for (NodeId id : group.nodes) {
        EXPECT_TRUE(grouped.insert(id).second) << "seed " << seed;
        for (NodeId input : graph.node(id).inputs)
          EXPECT_TRUE(inside.contains(input) || is_made(input)) << "seed " << seed << "\n"
                                                                << to_string(graph);
        inside.insert(id);
      }
      made.insert(group.result());
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const bool free = as<Input>(graph.nodes[i]) || as<Constant>(graph.nodes[i]) || is_view(graph.nodes[i]);
      EXPECT_EQ(grouped.contains(NodeId(i)), !free) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tf::graph
