#include "compiler/graph/passes/fold.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/program/evaluate.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "random_graph.h"
#include "tests/unit/compiler/graph/parsed_graph.h"

namespace tf::graph {
namespace {

// The operators of the graph, inputs and constants left out, as "conv relu".
std::string operators(const Graph& graph) {
  std::string names;
  for (const Node& node : graph.nodes) {
    if (!as<Input>(node) && !as<Constant>(node)) names += (names.empty() ? "" : " ") + op_name(node.op);
  }
  return names;
}

TEST(Passes, KeepWhatRandomNetworksCompute) {
  for (uint32_t seed = 0; seed < 120; ++seed) {
    RandomGraph random(seed);
    const Graph graph = random.make();
    ASSERT_TRUE(verify(graph).ok()) << verify(graph);
    const std::vector<HostTensor> inputs = random.inputs(graph);
    absl::StatusOr<std::vector<HostTensor>> before = evaluate(graph, inputs);
    ASSERT_TRUE(before.ok()) << before.status();
    absl::StatusOr<std::vector<HostTensor>> after = evaluate(optimize(graph, {.verify_each = true}), inputs);
    ASSERT_TRUE(after.ok()) << after.status();
    // Folded weights are rounded once more; activations grow to the hundreds at most.
    EXPECT_LT(largest_difference(*before, *after), 1e-3) << "seed " << seed << "\n" << to_string(graph);
  }
}

TEST(Passes, LeaveOptimizedGraphsAlone) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Graph once = optimize(RandomGraph(seed).make());
    EXPECT_EQ(to_string(optimize(once)), to_string(once)) << "seed " << seed;
  }
}

TEST(Passes, RoundTripThroughText) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Graph graph = RandomGraph(seed).make();
    auto blobs = [&](const Digest& digest) -> BlobRef {
      for (const Node& node : graph.nodes) {
        if (auto* known = as<Constant>(node); known && known->data->digest() == digest) return known->data;
      }
      return nullptr;
    };
    absl::StatusOr<Graph> again = parse_graph(to_string(graph), blobs);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << to_string(graph);
    EXPECT_EQ(to_string(*again), to_string(graph));
  }
}

TEST(RemoveIdentities, DropsWhatChangesNothing) {
  const Graph graph = parsed(R"(
    n0 = input() "x" : f32[2, 3]
    n1 = identity(n0) "a" : f32[2, 3]
    n2 = reshape(n1; extents=[6]) "b" : f32[6]
    n3 = reshape(n2; extents=[3, 2]) "c" : f32[3, 2]
    n4 = transpose(n3; perm=[0, 1]) "d" : f32[3, 2]
    n5 = cast(n4; element=f32) "e" : f32[3, 2]
    n6 = concat(n5; axis=0) "f" : f32[3, 2]
    output "y" = n6
)");
  EXPECT_EQ(operators(remove_identities(graph)), "reshape");
}

TEST(FoldAffine, FoldsBatchNormIntoTheConvolutionBefore) {
  const Graph graph = parsed(R"(
    n0 = input() "x" : f32[1, 1, 2, 2]
    n1 = constant(2f32, 3f32) "w" : f32[2, 1, 1, 1]
    n2 = conv(n0, n1; strides=[1, 1], dilations=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], groups=1) "c" : f32[1, 2, 2, 2]
    n3 = constant(1f32, 4f32) "scale" : f32[2]
    n4 = constant(5f32, 6f32) "bias" : f32[2]
    n5 = constant(0f32, 1f32) "mean" : f32[2]
    n6 = constant(1f32, 4f32) "variance" : f32[2]
    n7 = batch_norm(n2, n3, n4, n5, n6; epsilon=0f64) "bn" : f32[1, 2, 2, 2]
    n8 = relu(n7) "r" : f32[1, 2, 2, 2]
    output "y" = n8
)");
  const Graph folded = optimize(graph, {.verify_each = true});
  EXPECT_EQ(operators(folded), "conv relu");
  // w * scale / sqrt(variance), bias - mean * scale / sqrt(variance)
  EXPECT_THAT(to_string(folded), testing::HasSubstr("constant(2f32, 6f32) \"w\""));
  EXPECT_THAT(to_string(folded), testing::HasSubstr("constant(5f32, 4f32) \"c.bias\""));
}

TEST(FoldAffine, LeavesAProductThatOthersRead) {
  const Graph graph = parsed(R"(
    n0 = input() "x" : f32[1, 1, 2, 2]
    n1 = constant(2f32) "w" : f32[1, 1, 1, 1]
    n2 = conv(n0, n1; strides=[1, 1], dilations=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], groups=1) "c" : f32[1, 1, 2, 2]
    n3 = constant(3f32) "s" : f32[1]
    n4 = mul(n2, n3) "m" : f32[1, 1, 2, 2]
    output "y" = n4
    output "c" = n2
)");
  EXPECT_EQ(operators(optimize(graph)), "conv mul");
}

TEST(FoldAffine, ScalesTheColumnsOfAMatrix) {
  const Graph graph = parsed(R"(
    n0 = input() "x" : f32[1, 2]
    n1 = constant(1f32, 2f32, 3f32, 4f32) "w" : f32[2, 2]
    n2 = matmul(n0, n1; transpose_a=false, transpose_b=true) "fc" : f32[1, 2]
    n3 = constant(10f32, 100f32) "s" : f32[2]
    n4 = mul(n3, n2) "m" : f32[1, 2]
    output "y" = n4
)");
  const Graph folded = fold_affine(graph);
  EXPECT_EQ(operators(folded), "matmul");
  EXPECT_THAT(to_string(folded), testing::HasSubstr("constant(10f32, 20f32, 300f32, 400f32)"));
}

TEST(MultiplyByReciprocals, ReplacesDivisionsByPowersOfTwo) {
  const Graph graph = parsed(R"(
    n0 = input() "x" : f32[2]
    n1 = constant(8f32, -0.25f32) "powers" : f32[2]
    n2 = div(n0, n1) "a" : f32[2]
    output "y" = n2
)");
  const Graph multiplied = multiply_by_reciprocals(graph);
  EXPECT_EQ(operators(multiplied), "mul");
  EXPECT_THAT(to_string(multiplied), testing::HasSubstr("constant(0.125f32, -4f32)"));
}

TEST(MultiplyByReciprocals, LeavesDivisionsWhoseReciprocalsAreRounded) {
  // 41 * (1/41) is below 1 in f32; the reciprocal of 2^127 is no normal number; zero has none.
  for (const char* divisor : {"8f32, 41f32", "1f32, 1.7014118346046923e38f32", "0f32, 1f32"}) {
    const Graph graph = parsed(absl::StrCat(R"(
    n0 = input() "x" : f32[2]
    n1 = constant()",
                                            divisor, R"() "c" : f32[2]
    n2 = div(n0, n1) "a" : f32[2]
    n3 = div(n2, n0) "b" : f32[2]
    output "y" = n3
)"));
    EXPECT_EQ(operators(multiply_by_reciprocals(graph)), "div div") << divisor;
  }
}

TEST(ShareConcats, BuildsALongerConcatenationFromAShorterOne) {
  const Graph graph = parsed(R"(
    n0 = input() "a" : f32[1, 2]
    n1 = input() "b" : f32[1, 3]
    n2 = concat(n0, n1; axis=1) "c" : f32[1, 5]
    n3 = relu(n2) "r" : f32[1, 5]
    n4 = concat(n0, n1, n3; axis=1) "d" : f32[1, 10]
    n5 = concat(n1, n0, n4; axis=1) "e" : f32[1, 15]
    output "y" = n5
)");
  EXPECT_THAT(to_string(share_concats(graph)), testing::HasSubstr("n4 = concat(n2, n3; axis=1)"));
  EXPECT_THAT(to_string(share_concats(graph)), testing::HasSubstr("n5 = concat(n1, n0, n4; axis=1)"));
}

}  // namespace
}  // namespace tf::graph
