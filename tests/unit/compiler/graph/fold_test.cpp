#include "compiler/graph/passes/fold.h"

#include <cmath>

#include "compiler/graph/element_values.h"
#include "compiler/graph/passes/rewrite.h"

namespace tf::graph {
namespace {

using tensor::Element;
using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

class Fold : public testing::Test {
 protected:
  NodeId floats(const Floats& values, const Ints& shape) {
    return graph_.add_constant(tensor_type(Element::kFloat32, shape),
                               std::make_shared<const Blob>(write_floats(Element::kFloat32, values)), "c");
  }
  NodeId ints(const Ints& values, const Ints& shape) {
    return graph_.add_constant(tensor_type(Element::kInt64, shape), make_blob(values), "c");
  }
  Floats folded(Op op, std::vector<NodeId> inputs) {
    const NodeId id = *graph_.add(std::move(op), std::move(inputs), "op");
    const Node& node = graph_.node(id);
    const BlobRef blob = fold(graph_, node.op, node.inputs, node.type);
    return blob ? read_floats(node.type.element, blob->bytes()) : Floats{};
  }
  Ints folded_ints(Op op, std::vector<NodeId> inputs) {
    const NodeId id = *graph_.add(std::move(op), std::move(inputs), "op");
    const Node& node = graph_.node(id);
    return read_integers(node.type.element, fold(graph_, node.op, node.inputs, node.type)->bytes());
  }
  Graph graph_;
};

TEST_F(Fold, MovesElements) {
  const NodeId x = floats({0, 1, 2, 3, 4, 5}, {2, 3});
  EXPECT_EQ(folded(Transpose{{1, 0}}, {x}), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(folded(Slice{{1}, {2}, {2}, {-2}}, {x}), (Floats{2, 0, 5, 3}));
  EXPECT_EQ(folded(Concat{1}, {x, x}), (Floats{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(folded(Gather{1}, {x, ints({-1, 0}, {2})}), (Floats{2, 0, 5, 3}));
  EXPECT_EQ(folded(Pad{{1, 0}, {0, 1}, 9}, {x}), (Floats{9, 9, 9, 9, 0, 1, 2, 9, 3, 4, 5, 9}));
  EXPECT_EQ(folded(Expand{{tensor::imm(2), tensor::imm(1), tensor::imm(2)}}, {floats({7, 8}, {2, 1, 1})}),
            (Floats{7, 7, 8, 8}));
}

TEST_F(Fold, ComputesWithBroadcasting) {
  const NodeId x = floats({1, 2, 3, 4, 5, 6}, {2, 3}), row = floats({10, 20, 30}, {3});
  EXPECT_EQ(folded(Binary{BinaryKind::kAdd}, {x, row}), (Floats{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(folded(Reduce{ReduceKind::kMean, {1}, false}, {x}), (Floats{2, 5}));
  EXPECT_EQ(folded(Reduce{ReduceKind::kMax, {0}, true}, {x}), (Floats{4, 5, 6}));
  EXPECT_EQ(folded(Unary{UnaryKind::kRelu}, {floats({-1, 2}, {2})}), (Floats{0, 2}));
  EXPECT_EQ(folded(Cast{Element::kInt32}, {floats({-1.7, 2.9, 1e20}, {3})}), (Floats{-1, 2, 2147483647}));
}

TEST_F(Fold, KeepsWholeNumbersExact) {
  const NodeId a = ints({INT64_MAX, 7, 7}, {3}), b = ints({1, 0, -2}, {3});
  EXPECT_EQ(folded(Binary{BinaryKind::kDiv}, {a, b})[2], -3) << "ONNX division truncates";
  const NodeId id = *graph_.add(Binary{BinaryKind::kSub}, {a, b}, "sub");
  const Node& node = graph_.node(id);
  EXPECT_EQ(read_integers(Element::kInt64, fold(graph_, node.op, node.inputs, node.type)->bytes()),
            (Ints{INT64_MAX - 1, 7, 9}));
}

TEST_F(Fold, KeepsWholeNumbersExactBeyondWhatDoublesHold) {
  const int64_t odd = (int64_t{1} << 53) + 1;
  const NodeId x = ints({INT64_MAX, odd, -odd, INT64_MIN}, {4});
  EXPECT_EQ(folded_ints(Unary{UnaryKind::kIdentity}, {x}), (Ints{INT64_MAX, odd, -odd, INT64_MIN}));
  EXPECT_EQ(folded_ints(Unary{UnaryKind::kNeg}, {x}), (Ints{-INT64_MAX, -odd, odd, INT64_MIN}));
  EXPECT_EQ(folded_ints(Unary{UnaryKind::kAbs}, {x}), (Ints{INT64_MAX, odd, odd, INT64_MIN}));
  EXPECT_EQ(folded_ints(Unary{UnaryKind::kRelu}, {x}), (Ints{INT64_MAX, odd, 0, 0}));
  EXPECT_EQ(folded_ints(Clip{0, INFINITY}, {x}), (Ints{INT64_MAX, odd, 0, 0}));
  EXPECT_EQ(folded_ints(Clip{-0x1p63, 0x1p63}, {x}), (Ints{INT64_MAX, odd, -odd, INT64_MIN}));
  EXPECT_EQ(folded_ints(Binary{BinaryKind::kPow}, {ints({3, 2, -2, -1}, {4}), ints({40, 64, 3, -3}, {4})}),
            (Ints{-6289078614652622815, 0, -8, -1}));
}

TEST_F(Fold, DividesWholeNumbersAsKernelsDo) {
  EXPECT_EQ(folded_ints(Binary{BinaryKind::kDiv},
                        {ints({7, 0, INT64_MIN, INT64_MIN, -7}, {5}), ints({0, 0, -1, 2, 2}, {5})}),
            (Ints{7, 0, INT64_MIN, INT64_MIN / 2, -3}));
}

TEST_F(Fold, ReductionsAndExtremaKeepNaN) {
  const NodeId x = floats({NAN, 1, 1, NAN}, {2, 2}), y = floats({1, NAN}, {2});
  for (BinaryKind kind : {BinaryKind::kMin, BinaryKind::kMax}) {
    for (double v : folded(Binary{kind}, {floats({NAN, 1}, {2}), y})) EXPECT_TRUE(std::isnan(v));
  }
  for (ReduceKind kind : {ReduceKind::kMin, ReduceKind::kMax}) {
    for (double v : folded(Reduce{kind, {1}, false}, {x})) EXPECT_TRUE(std::isnan(v));
  }
  EXPECT_TRUE(std::isnan(folded(Clip{0, 1}, {y})[1]));
}

TEST_F(Fold, GivesReductionsOfNothingWhatTheirKernelsGive) {
  const NodeId none = ints({}, {0, 3});
  EXPECT_EQ(folded_ints(Reduce{ReduceKind::kSum, {0}, false}, {none}), (Ints{0, 0, 0}));
  EXPECT_EQ(folded_ints(Reduce{ReduceKind::kMax, {0}, false}, {none}), Ints(3, INT64_MIN));
}

TEST_F(Fold, LeavesUnknownValues) {
  const NodeId x = graph_.add_input(tensor_type(Element::kFloat32, Ints{2}), "x");
  EXPECT_TRUE(folded(Unary{UnaryKind::kRelu}, {x}).empty());
}

TEST_F(Fold, PassFoldsWholeChainsAndDropsTheRest) {
  const NodeId x = graph_.add_input(tensor_type(Element::kFloat32, Ints{2}), "x");
  const NodeId a = floats({1, 4}, {2});
  const NodeId root = *graph_.add(Unary{UnaryKind::kSqrt}, {a}, "root");
  const NodeId negative = *graph_.add(Unary{UnaryKind::kNeg}, {root}, "negative");
  *graph_.add(Unary{UnaryKind::kExp}, {x}, "unused");
  graph_.outputs = {{"y", *graph_.add(Binary{BinaryKind::kMul}, {x, negative}, "y")}};
  const Graph result = fold_constants(graph_);
  ASSERT_EQ(result.nodes.size(), 3u);
  auto* known = as<Constant>(result.nodes[1]);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(read_floats(Element::kFloat32, known->data->bytes()), (Floats{-1, -2}));
}

TEST(ElementValues, HalvesAreRoundedOnce) {
  const Floats values = {1.0004882812509095, 1e9,
                         -0.0};  // the first lies just above the middle of two halves
  EXPECT_EQ(read_floats(Element::kFloat16, write_floats(Element::kFloat16, values)),
            (Floats{1.0009765625, INFINITY, -0.0}));
  EXPECT_EQ(read_floats(Element::kBFloat16, write_integers(Element::kBFloat16, {16842753})),
            Floats{16908288});
}

TEST_F(Fold, EvaluatesTheKernelsOfOtherOperators) {
  const NodeId x = floats({1, 2, 3, 4}, {1, 1, 4}), w = floats({1, 10}, {1, 1, 2});
  EXPECT_EQ(folded(Conv{{1}, {1}, {0}, {0}, 1}, {x, w}), (Floats{21, 32, 43}));
  // Whole numbers are exact, and halves are rounded once.
  const NodeId big = ints({(int64_t{1} << 60) + 1, 3}, {1, 2}), ones = ints({1, 1}, {2, 1});
  EXPECT_EQ(folded_ints(MatMul{}, {big, ones}), (Ints{(int64_t{1} << 60) + 4}));
  // More than a moment's work is left to a kernel.
  const NodeId large = floats(Floats(1 << 16, 1), {256, 256});
  EXPECT_TRUE(folded(MatMul{}, {large, large}).empty());
}

}  // namespace
}  // namespace tf::graph
