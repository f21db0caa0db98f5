#include <random>

#include "compiler/graph/element_values.h"
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

// Inputs x : f32[2, 16, 64] and w : f32[64, 48], whose constants' values do not matter.
struct Rewritten {
  const char *lines, *operators, *must_have;
};

class Movement : public testing::TestWithParam<Rewritten> {};

TEST_P(Movement, IsSaved) {
  const Graph graph = parsed(GetParam().lines);
  ASSERT_TRUE(verify(graph).ok()) << verify(graph);
  const Graph after = optimize(graph, {.verify_each = true});
  EXPECT_EQ(operators(after), GetParam().operators) << to_string(after);
  EXPECT_THAT(to_string(after), testing::HasSubstr(GetParam().must_have));
  std::mt19937 random(1);
  std::vector<HostTensor> inputs;
  for (NodeId id : graph.inputs()) {
    const std::vector<int64_t> shape = graph.shape(id);
    std::vector<double> values(static_cast<size_t>(*element_count(shape)));
    for (double& v : values) v = static_cast<double>(random() % 1000) / 500 - 1;
    inputs.push_back({"", tensor::Element::kFloat32, shape,
                      std::make_shared<const Blob>(write_floats(tensor::Element::kFloat32, values))});
  }
  const auto want = evaluate(graph, inputs), got = evaluate(after, inputs);
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  EXPECT_LT(largest_difference(*want, *got), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Passes, Movement,
    testing::Values(Rewritten{R"(
    n0 = input() "x" : f32[2, 3, 4]
    n1 = transpose(n0; perm=[1, 0, 2]) "a" : f32[3, 2, 4]
    n2 = transpose(n1; perm=[2, 1, 0]) "b" : f32[4, 2, 3]
    n3 = slice(n2; axes=[0, 1], starts=[3, 0], sizes=[2, 1], steps=[-2, 1]) "c" : f32[2, 1, 3]
    n4 = slice(n3; axes=[2, 0], starts=[1, 1], sizes=[2, 1], steps=[1, 1]) "d" : f32[1, 1, 2]
    output "y" = n4
)",
                              "transpose slice",
                              "axes=[2, 0, 1], starts=[1, 1, 0], sizes=[2, 1, 1], steps=[1, -2, 1]"},
                    // A mask that was made as large as what it chooses from.
                    Rewritten{R"(
    n0 = input() "x" : f32[2, 3, 4]
    n1 = input() "m" : f32[2, 1, 1]
    n2 = expand(n1; extents=[2, 3, 4]) "e" : f32[2, 3, 4]
    n3 = div(n0, n2) "d" : f32[2, 3, 4]
    output "y" = n3
)",
                              "div", "div(n0, n1)"},
                    // Nothing else has the extents of the result.
                    Rewritten{R"(
    n0 = input() "x" : f32[3, 1]
    n1 = input() "m" : f32[1, 1]
    n2 = expand(n1; extents=[3, 4]) "e" : f32[3, 4]
    n3 = add(n0, n2) "d" : f32[3, 4]
    output "y" = n3
)",
                              "expand add", "extents=[3, 4]"},
                    Rewritten{R"(
    n0 = input() "x" : f32[5, 3]
    n1 = constant(4i64, 2i64, -5i64) "i" : i64[3]
    n2 = gather(n0, n1; axis=0) "g" : f32[3, 3]
    n3 = constant(-1i64) "j" : i64[]
    n4 = gather(n2, n3; axis=0) "h" : f32[3]
    output "y" = n4
)",
                              "slice reshape", "starts=[0], sizes=[1], steps=[-2]"},
                    // Axes of one element are no reason to move anything.
                    Rewritten{R"(
    n0 = input() "x" : f32[1, 3, 1, 4]
    n1 = transpose(n0; perm=[2, 1, 3, 0]) "a" : f32[1, 3, 4, 1]
    output "y" = n1
)",
                              "reshape", "extents=[1, 3, 4, 1]"},
                    Rewritten{R"(
    n0 = input() "x" : f32[2, 3, 1, 4]
    n1 = transpose(n0; perm=[2, 1, 0, 3]) "a" : f32[1, 3, 2, 4]
    n2 = reshape(n1; extents=[3, 2, 4]) "b" : f32[3, 2, 4]
    output "y" = n2
)",
                              "reshape transpose", "perm=[1, 0, 2]"},
                    Rewritten{R"(
    n0 = input() "q" : f32[2, 3, 4]
    n1 = input() "k" : f32[5, 2, 4]
    n2 = transpose(n1; perm=[1, 0, 2]) "a" : f32[2, 5, 4]
    n3 = matmul(n0, n2; transpose_a=0, transpose_b=1) "p" : f32[2, 3, 5]
    output "y" = n3
)",
                              "transpose matmul", "perm=[1, 2, 0]"},
                    // Rolled by two.
                    Rewritten{R"(
    n0 = input() "x" : f32[1, 5, 16]
    n1 = slice(n0; axes=[1], starts=[2], sizes=[3], steps=[1]) "a" : f32[1, 3, 16]
    n2 = slice(n0; axes=[1], starts=[0], sizes=[2], steps=[1]) "b" : f32[1, 2, 16]
    n3 = concat(n1, n2; axis=1) "c" : f32[1, 5, 16]
    output "y" = n3
)",
                              "gather", "constant(2, 3, 4, 0, 1) \"c.places\""},
                    // Scaled queries: the scale is computed where the product is.
                    Rewritten{R"(
    n0 = input() "x" : f32[2, 4]
    n1 = constant(1f32, 2f32, 3f32, 4f32, 5f32, 6f32, 7f32, 8f32) "w" : f32[4, 2]
    n2 = matmul(n0, n1; transpose_a=0, transpose_b=0) "p" : f32[2, 2]
    n3 = input() "b" : f32[2, 2]
    n4 = add(n2, n3) "s" : f32[2, 2]
    n5 = reshape(n4; extents=[2, 2, 1]) "r" : f32[2, 2, 1]
    n6 = transpose(n5; perm=[1, 0, 2]) "t" : f32[2, 2, 1]
    n7 = constant(0.3f32) "c" : f32[1, 1]
    n8 = mul(n6, n7) "m" : f32[2, 2, 1]
    n9 = tanh(n8) "h" : f32[2, 2, 1]
    output "y" = n9
)",
                              "matmul add mul tanh reshape transpose", "mul(n4"},
                    // A mask between two views of the scores of windows.
                    Rewritten{R"(
    n0 = input() "x" : f32[4, 2, 3]
    n1 = relu(n0) "a" : f32[4, 2, 3]
    n2 = reshape(n1; extents=[2, 2, 2, 3]) "b" : f32[2, 2, 2, 3]
    n3 = constant(1f32, 2f32, 3f32, 4f32, 5f32, 6f32) "m" : f32[2, 1, 3]
    n4 = add(n2, n3) "c" : f32[2, 2, 2, 3]
    n5 = reshape(n4; extents=[4, 2, 3]) "d" : f32[4, 2, 3]
    output "y" = n5
)",
                              "relu add", "f32[4, 1, 3]"}));

// Queries, keys and values by one product, as vision transformers have them: [rows, 3 * heads * size], of which each is
// [heads, rows, size].
TEST(SplitProducts, MakesQueriesKeysAndValuesApart) {
  const std::string start = R"(
    n0 = input() "x" : f32[5, 1]
    n1 = input() "w0" : f32[1, 96]
    n2 = constant()" + [] {
    std::string values;
    for (int i = 0; i < 96; ++i) values += (i ? ", " : "") + std::to_string(i) + "f32";
    return values;
  }() + R"() "w" : f32[1, 96]
    n3 = matmul(n0, n2; transpose_a=0, transpose_b=0) "p" : f32[5, 96]
    n4 = add(n3, n2) "q" : f32[5, 96]
    n5 = reshape(n4; extents=[5, 3, 2, 16]) "r" : f32[5, 3, 2, 16]
    n6 = transpose(n5; perm=[1, 2, 0, 3]) "t" : f32[3, 2, 5, 16]
    n7 = constant(0i64) "i" : i64[]
    n8 = gather(n6, n7; axis=0) "k" : f32[2, 5, 16]
    n9 = constant(2i64) "j" : i64[]
    n10 = gather(n6, n9; axis=0) "v" : f32[2, 5, 16]
)";
  const Graph moved = parsed(start + R"(
    n11 = matmul(n8, n10; transpose_a=0, transpose_b=1) "s" : f32[2, 5, 5]
    output "y" = n11
)");
  const Graph after = optimize(moved, {.verify_each = true});
  EXPECT_EQ(operators(after), "matmul add reshape transpose matmul add reshape transpose matmul");
  EXPECT_THAT(to_string(after), testing::HasSubstr("f32[1, 32]"));
  std::vector<double> x = {1, -2, 0.5, 3, 0};
  const std::vector<HostTensor> inputs = {
      {"",
       tensor::Element::kFloat32,
       {5, 1},
       std::make_shared<const Blob>(write_floats(tensor::Element::kFloat32, x))},
      {"",
       tensor::Element::kFloat32,
       {1, 96},
       std::make_shared<const Blob>(write_floats(tensor::Element::kFloat32, std::vector<double>(96, 0.0)))}};
  const auto want = evaluate(moved, inputs), got = evaluate(after, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_EQ(largest_difference(*want, *got), 0);
  // Gates are computed in one kernel from parts of one product.
  const Graph gates = optimize(parsed(start + R"(
    n11 = mul(n8, n10) "g" : f32[2, 5, 16]
    output "y" = n11
)"));
  EXPECT_EQ(operators(gates), "matmul add reshape transpose slice reshape slice reshape mul");
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
