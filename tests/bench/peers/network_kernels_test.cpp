#include "tests/bench/peers/network_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/bench/kernels/kernel_task.h"

namespace tf::peers {
namespace {

using graph::Graph;
using graph::NodeId;
using tensor::Element;
using testing::ElementsAre;

// Builds networks node by node.
class Network {
 public:
  NodeId input(const std::vector<int64_t>& shape, Element element = Element::kFloat32) {
    return graph_.add_input(graph::tensor_type(element, shape), "x");
  }
  NodeId constant(const std::vector<int64_t>& shape, float value = 0.5f) {
    const std::vector<float> values(static_cast<size_t>(*graph::element_count(shape)), value);
    return graph_.add_constant(graph::tensor_type(Element::kFloat32, shape),
                               graph::make_blob(std::span<const float>(values)), "w");
  }
  NodeId add(graph::Op op, std::vector<NodeId> inputs) {
    absl::StatusOr<NodeId> node = graph_.add(std::move(op), std::move(inputs), "node");
    EXPECT_TRUE(node.ok()) << node.status();
    return *node;
  }
  NodeId conv(NodeId x, const std::vector<int64_t>& filters, int64_t groups = 1) {
    const std::vector<int64_t> pads(2, filters[2] / 2);
    return add(
        graph::Conv{
            .strides = {1, 1}, .dilations = {1, 1}, .pads_begin = pads, .pads_end = pads, .groups = groups},
        {x, constant(filters), constant({filters[0]})});
  }
  NodeId relu(NodeId x) { return add(graph::Unary{graph::UnaryKind::kRelu}, {x}); }
  NodeId binary(graph::BinaryKind kind, NodeId a, NodeId b) { return add(graph::Binary{kind}, {a, b}); }

  std::vector<bench::Kernel> kernels(NodeId result, const std::string& name = "net") {
    graph_.outputs = {{"y", result}};
    absl::StatusOr<std::vector<bench::Kernel>> all = network_kernels(name, graph_, /*lanes=*/16);
    EXPECT_TRUE(all.ok()) << all.status();
    return *std::move(all);
  }

 private:
  Graph graph_;
};

std::vector<std::string> names(const std::vector<bench::Kernel>& kernels) {
  std::vector<std::string> all;
  for (const bench::Kernel& kernel : kernels) all.push_back(kernel.name);
  return all;
}

std::vector<bench::Kernel> small_network(const std::string& name = "net") {
  Network n;
  NodeId x = n.relu(n.conv(n.input({1, 16, 8, 8}), {32, 16, 3, 3}));
  x = n.relu(n.conv(x, {32, 32, 1, 1}));
  x = n.relu(n.conv(x, {32, 32, 1, 1}));  // the same kernel again
  x = n.conv(x, {32, 1, 3, 3}, 32);
  x = n.add(
      graph::Pool{
          .kernel = {2, 2}, .strides = {2, 2}, .dilations = {1, 1}, .pads_begin = {0, 0}, .pads_end = {0, 0}},
      {x});
  x = n.add(graph::Reduce{graph::ReduceKind::kMean, {2, 3}, true}, {x});
  return n.kernels(x, name);
}

TEST(NetworkKernels, AreTheDistinctTasksOfANetwork) {
  const std::vector<bench::Kernel> kernels = small_network();
  EXPECT_THAT(names(kernels),
              ElementsAre("net_3x3_16_32_8_relu", "net_1x1_32_32_8_relu", "net_depthwise_3x3_32_32_8",
                          "net_max_pool_2x2_s2_32_8_valid", "net_reduce_mean_1x32x1x1"));
  EXPECT_EQ(std::get<bench::NetworkKernel>(kernels[1].shape).task.count, 2);
}

TEST(NetworkKernels, HaveTheLayoutsOfTheNetwork) {
  const std::vector<bench::Kernel> kernels = small_network();
  const session::Task task = bench::task_of(kernels[1], target::Target{}, /*row_major=*/false);
  EXPECT_THAT(tensor::layout_texts(task.kernel.ports.inputs), ElementsAre("0,1,2,3,1:16"));
  EXPECT_THAT(tensor::layout_texts(task.kernel.ports.outputs), ElementsAre("0,1,2,3,1:16"));
  EXPECT_TRUE(bench::task_of(kernels[1], target::Target{}, /*row_major=*/true).kernel.ports.inputs.empty());
}

TEST(NetworkKernels, AreKeptOnceIfTwoNetworksShareThem) {
  std::vector<bench::Kernel> kernels = small_network("first");
  const size_t count = kernels.size();
  for (bench::Kernel& kernel : small_network("second")) kernels.push_back(std::move(kernel));
  kernels.push_back(bench::kernel_table()[0]);
  kernels.push_back(bench::kernel_table()[0]);  // only networks' are judged
  keep_distinct(kernels);
  EXPECT_EQ(kernels.size(), count + 2);
  EXPECT_EQ(kernels.front().name, "first_3x3_16_32_8_relu");
}

TEST(NetworkKernels, StandByFamilies) {
  std::vector<bench::Kernel> kernels = small_network();
  std::reverse(kernels.begin(), kernels.end());
  sort_by_family(kernels);
  std::vector<bench::Family> families;
  for (const bench::Kernel& kernel : kernels) families.push_back(bench::family_of(kernel));
  using bench::Family;
  EXPECT_THAT(families, ElementsAre(Family::kConvolution, Family::kConvolution, Family::kDepthwise,
                                    Family::kPool, Family::kReduction));
  EXPECT_EQ(kernels[0].name, "net_1x1_32_32_8_relu");  // within a family the order stays
}

TEST(NetworkKernels, OfTextsAreNamedByWhatTheirNodesMeanTogether) {
  Network n;
  using graph::BinaryKind;
  NodeId x = n.binary(BinaryKind::kAdd, n.add(graph::MatMul{}, {n.input({1, 8, 32}), n.constant({32, 64})}),
                      n.constant({64}));
  const NodeId bent = n.add(graph::Unary{graph::UnaryKind::kErf},
                            {n.binary(BinaryKind::kDiv, x, n.constant({}, 1.41421354f))});
  x = n.binary(BinaryKind::kMul, x, n.binary(BinaryKind::kAdd, bent, n.constant({}, 1)));
  x = n.binary(BinaryKind::kMul, x, n.constant({}, 0.5));
  x = n.add(graph::Softmax{.axis = 2}, {x});
  EXPECT_THAT(names(n.kernels(x)), ElementsAre("net_gemm_8x64x32_add_gelu", "net_softmax_1x8x64"));
}

TEST(NetworkKernels, OfLayerNormAreNormalizations) {
  Network n;
  using graph::BinaryKind;
  const auto mean = [&](NodeId x) { return n.add(graph::Reduce{graph::ReduceKind::kMean, {2}, true}, {x}); };
  const NodeId x = n.input({1, 8, 32});
  const NodeId centred = n.binary(BinaryKind::kSub, x, mean(x));
  const NodeId variance = mean(n.binary(BinaryKind::kMul, centred, centred));
  const NodeId root = n.add(graph::Unary{graph::UnaryKind::kSqrt},
                            {n.binary(BinaryKind::kAdd, variance, n.constant({}, 1e-5f))});
  NodeId y = n.binary(BinaryKind::kMul, n.binary(BinaryKind::kDiv, centred, root), n.constant({32}));
  const std::vector<bench::Kernel> kernels = n.kernels(n.binary(BinaryKind::kAdd, y, n.constant({32})));
  EXPECT_THAT(names(kernels), ElementsAre("net_layer_norm_1x8x32"));
  EXPECT_EQ(bench::family_of(kernels[0]), bench::Family::kNormalization);
}

TEST(NetworkKernels, MoveEachOperandAndTheResultOnce) {
  const bench::Traffic traffic = bench::traffic_of(small_network()[0]);
  EXPECT_EQ(traffic.read_bytes, 4 * (16 * 64 + 32 * 16 * 9 + 32));
  EXPECT_EQ(traffic.written_bytes, 4 * 32 * 64);
}

TEST(NetworkKernels, ThatGatherMoveTheRowsTakenAndDrawIndicesOfTheTable) {
  Network n;
  const NodeId indices = n.input({1, 4}, Element::kInt64);
  const std::vector<bench::Kernel> kernels =
      n.kernels(n.add(graph::Gather{.axis = 0}, {n.constant({50, 8}), indices}));
  ASSERT_EQ(kernels.size(), 1u);
  const bench::Traffic traffic = bench::traffic_of(kernels[0]);
  EXPECT_EQ(traffic.read_bytes, 4 * 4 * 8 + 4 * 8);  // rows and indices, not the 50 rows
  EXPECT_EQ(traffic.written_bytes, 4 * 4 * 8);
  const bench::Operands operands = bench::make_operands(kernels[0]);
  for (const float index : operands.inputs[1]) {
    EXPECT_GE(index, 0);
    EXPECT_LE(index, 49);
    EXPECT_EQ(index, std::floor(index));
  }
}

}  // namespace
}  // namespace tf::peers
