#include "compiler/graph/infer.h"

namespace tf::graph {
namespace {

using tensor::Element;

class Infer : public testing::Test {
 protected:
  NodeId input(std::vector<int64_t> shape, Element element = Element::kFloat32) {
    return graph_.add_input(tensor_type(element, shape), "x");
  }
  std::string result(Op op, std::vector<NodeId> inputs) {
    const absl::StatusOr<std::vector<TensorType>> types = infer_types(graph_, op, inputs);
    const absl::StatusOr<TensorType> type =
        types.ok() ? types->front() : absl::StatusOr<TensorType>(types.status());
    return type.ok() ? to_string(*type) : std::string(type.status().message());
  }
  Graph graph_;
};

TEST_F(Infer, SlidesConvolutionsAndPools) {
  const NodeId x = input({1, 3, 224, 224}), w = input({64, 3, 7, 7});
  EXPECT_EQ(result(Conv{{2, 2}, {1, 1}, {3, 3}, {3, 3}, 1}, {x, w}), "f32[1, 64, 112, 112]");
  EXPECT_EQ(result(Conv{{1, 1}, {2, 2}, {0, 0}, {0, 0}, 1}, {x, w}), "f32[1, 64, 212, 212]");
  EXPECT_EQ(result(Pool{PoolKind::kMax, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}, false}, {x}),
            "f32[1, 3, 112, 112]");
}

TEST_F(Infer, RefusesWeightsThatDoNotFit) {
  const NodeId x = input({1, 4, 8, 8}), w = input({6, 3, 3, 3}), big = input({6, 4, 9, 9});
  EXPECT_THAT(result(Conv{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1}, {x, w}),
              testing::HasSubstr("do not fit 4 channels"));
  EXPECT_THAT(result(Conv{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 0}, {x, w}), testing::HasSubstr("in 0 groups"));
  EXPECT_THAT(result(Conv{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1}, {x, big}), testing::HasSubstr("a window of 9"));
  EXPECT_THAT(result(Conv{{1}, {1, 1}, {0, 0}, {0, 0}, 1}, {x, big}),
              testing::HasSubstr("strides has 1 entries"));
}

TEST_F(Infer, KeepsNamedDimensions) {
  graph_.dims = {{tensor::var("batch")}};
  graph_.binding = {{"batch", 2}};
  const tensor::Expr batch = graph_.dims[0].var;
  const NodeId x = graph_.add_input({Element::kFloat32, {batch, tensor::imm(8)}}, "x");
  const NodeId w = input({8, 5}), row = input({1, 5});
  EXPECT_EQ(result(MatMul{}, {x, w}), "f32[batch, 5]");
  const NodeId y = *graph_.add(MatMul{}, {x, w}, "y");
  EXPECT_EQ(result(Binary{BinaryKind::kAdd}, {y, row}), "f32[batch, 5]");
  EXPECT_EQ(result(Reduce{ReduceKind::kSum, {1}, false}, {y}), "f32[batch]");
}

TEST_F(Infer, BroadcastsFromTheRight) {
  const NodeId a = input({2, 1, 4}), b = input({3, 1}), c = input({3});
  EXPECT_EQ(result(Binary{BinaryKind::kAdd}, {a, b}), "f32[2, 3, 4]");
  EXPECT_EQ(result(Binary{BinaryKind::kLess}, {a, b}), "bool[2, 3, 4]");
  EXPECT_THAT(result(Binary{BinaryKind::kAdd}, {a, c}), testing::HasSubstr("4 and 3 do not broadcast"));
}

TEST_F(Infer, ChecksMatrixProducts) {
  const NodeId a = input({5, 2, 3}), b = input({4, 3}), one = input({3});
  EXPECT_EQ(result(MatMul{false, true}, {a, b}), "f32[5, 2, 4]");
  EXPECT_THAT(result(MatMul{}, {a, b}), testing::HasSubstr("inner sizes 3 and 4"));
  EXPECT_THAT(result(MatMul{}, {a, one}), testing::HasSubstr("ranks 3 and 1"));
}

TEST_F(Infer, TakesTensorsWithoutElements) {
  const NodeId a = input({5, 0}), b = input({0, 4}), none = input({0, 3, 8, 8}), w = input({6, 3, 3, 3});
  EXPECT_EQ(result(MatMul{}, {a, b}), "f32[5, 4]");
  EXPECT_EQ(result(MatMul{}, {b, input({4, 7})}), "f32[0, 7]");
  EXPECT_EQ(result(Binary{BinaryKind::kAdd}, {a, input({1})}), "f32[5, 0]");
  EXPECT_EQ(result(Conv{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1}, {none, w}), "f32[0, 6, 6, 6]");
  // Where an element would be read that is not there.
  EXPECT_THAT(result(Gather{1}, {a, input({2}, Element::kInt64)}), testing::HasSubstr("which has none"));
  EXPECT_EQ(result(Gather{1}, {a, input({0}, Element::kInt64)}), "f32[5, 0]");
  EXPECT_THAT(
      result(Pool{PoolKind::kMax, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}, {input({1, 3, 0, 4})}),
      testing::HasSubstr("does not fit spatial axis 0"));
}

TEST_F(Infer, MovesElements) {
  const NodeId x = input({2, 3, 4}), i = input({5, 6}, Element::kInt64);
  EXPECT_EQ(result(Transpose{{2, 0, 1}}, {x}), "f32[4, 2, 3]");
  EXPECT_EQ(result(Concat{1}, {x, x}), "f32[2, 6, 4]");
  EXPECT_EQ(result(Gather{1}, {x, i}), "f32[2, 5, 6, 4]");
  EXPECT_EQ(result(Slice{{2}, {3}, {2}, {-2}}, {x}), "f32[2, 3, 2]");
  EXPECT_EQ(result(Pad{{0, 1, 0}, {0, 0, 2}, 0}, {x}), "f32[2, 4, 6]");
  EXPECT_THAT(result(Slice{{2}, {1}, {4}, {1}}, {x}), testing::HasSubstr("whose size is 4"));
  EXPECT_THAT(result(Slice{{0}, {0}, {INT64_MAX}, {INT64_MAX}}, {x}), testing::HasSubstr("whose size is 2"));
  EXPECT_THAT(result(Transpose{{0, 0, 1}}, {x}), testing::HasSubstr("named twice"));
  EXPECT_THAT(result(Reshape{{tensor::imm(5)}}, {x}), testing::HasSubstr("has 24 elements"));
}

TEST_F(Infer, LimitsWhatIsJoined) {
  const NodeId x = input({2});
  EXPECT_EQ(result(Concat{0}, std::vector<NodeId>(1024, x)), "f32[2048]");
  EXPECT_EQ(result(Concat{0}, std::vector<NodeId>(1025, x)),
            "joins 1025 tensors; at most 1024 are supported");
}

TEST_F(Infer, CountsOperands) {
  const NodeId x = input({2});
  EXPECT_THAT(result(Binary{}, {x}), testing::HasSubstr("has 1 operands, needs 2"));
  EXPECT_THAT(result(Unary{}, {NodeId(7)}), testing::HasSubstr("reads a later node"));
}

}  // namespace
}  // namespace tf::graph
