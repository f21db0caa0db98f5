#include "compiler/ops/fold_transposes.h"

#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/movement.h"
#include "compiler/tensor/evaluate.h"
#include "tests/unit/compiler/ops/host_tensor.h"

namespace tf::ops {
namespace {

Buffer input(Builder& b, const std::vector<int64_t>& shape) {
  std::vector<Expr> extents;
  for (int64_t extent : shape) extents.push_back(tensor::imm(extent));
  return b.input("x", Element::kFloat32, std::move(extents));
}

// Both workloads on the same values: moving elements changes nothing of how sums are made.
void expect_same(const Workload& plain, const Workload& folded) {
  ASSERT_TRUE(tensor::verify(folded).ok()) << tensor::verify(folded);
  std::vector<std::vector<double>> values;
  for (const tensor::Input& in : plain.inputs) {
    int64_t elements = 1;
    for (const Expr& extent : in.buffer->extents) elements *= *tensor::as_int(extent);
    values.emplace_back();
    for (int64_t i = 0; i < elements; ++i)
      values.back().push_back(static_cast<double>((i * 29 + 7) % 31) - 15);
  }
  const auto want = tensor::evaluate(plain, values), got = tensor::evaluate(folded, values);
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  EXPECT_EQ(*got, *want);
}

TEST(FoldTransposes, ReadsAndMakesElementsWhereTheyAreWanted) {
  Builder b;
  const Buffer x = transpose(b, input(b, {2, 5, 3, 4}), {0, 2, 1, 3}), y = input(b, {2, 3, 4, 7});
  const Workload plain = *b.finish({transpose(b, relu(b, matmul(b, x, y)), {2, 0, 1, 3})});
  const Workload folded = fold_transposes(plain);
  EXPECT_EQ(plain.stages.size(), 4u);
  EXPECT_EQ(folded.stages.size(), 2u);
  EXPECT_EQ(folded.label, "batch_matmul+relu");
  expect_same(plain, folded);
}

TEST(FoldTransposes, FoldsTransposesOfTransposes) {
  Builder b;
  const Buffer twice = transpose(b, transpose(b, input(b, {2, 3, 5}), {1, 2, 0}), {1, 2, 0});
  const Workload plain = *b.finish({relu(b, twice)});
  EXPECT_EQ(fold_transposes(plain).stages.size(), 1u);
  expect_same(plain, fold_transposes(plain));
}

TEST(FoldTransposes, KeepsWhatOthersNeedInTheOldOrder) {
  Builder b;
  const Buffer y = relu(b, input(b, {2, 3}));
  const Buffer moved = transpose(b, y, {1, 0});
  const Workload both = *b.finish({moved, y});
  EXPECT_EQ(fold_transposes(both).stages.size(), 2u);
  expect_same(both, fold_transposes(both));
  Builder alone;
  const Workload copy = *alone.finish({transpose(alone, input(alone, {2, 3}), {1, 0})});
  EXPECT_EQ(fold_transposes(copy).stages.size(), 1u);
}

}  // namespace
}  // namespace tf::ops
