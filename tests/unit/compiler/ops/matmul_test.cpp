#include "compiler/ops/matmul.h"

#include "tests/unit/compiler/ops/host_tensor.h"

namespace tf::ops {
namespace {

using testing::HasSubstr;

HostTensor multiply(const HostTensor& a, const HostTensor& b, bool ta, bool tb) {
  const int64_t m = a.shape[ta ? 1 : 0], k = a.shape[ta ? 0 : 1], n = b.shape[tb ? 0 : 1];
  return generate({m, n}, [&](const Shape& i) {
    double sum = 0;
    for (int64_t r = 0; r < k; ++r)
      sum += a.at(ta ? Shape{r, i[0]} : Shape{i[0], r}) * b.at(tb ? Shape{i[1], r} : Shape{r, i[1]});
    return sum;
  });
}

TEST(Matmul, AgreesWithLoopsForEveryTransposition) {
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (const auto& [m, k, n] :
           {std::array<int64_t, 3>{5, 7, 3}, {1, 1, 1}, {1, 9, 4}, {4, 0, 3}, {0, 2, 3}}) {
        const HostTensor a = random_tensor(ta ? Shape{k, m} : Shape{m, k}, 1);
        const HostTensor c = random_tensor(tb ? Shape{n, k} : Shape{k, n}, 2);
        Builder b;
        const Buffer x = input_like(b, "x", a), y = input_like(b, "y", c);
        expect_near(run(b, matmul(b, x, y, {ta, tb}), {a, c}), multiply(a, c, ta, tb));
      }
}

TEST(Matmul, BatchAxesBroadcast) {
  const HostTensor a = random_tensor({2, 1, 3, 4}, 1), c = random_tensor({5, 4, 2}, 2);
  Builder b;
  const Buffer x = input_like(b, "x", a), y = input_like(b, "y", c);
  const Buffer z = matmul(b, x, y);
  const HostTensor expected = generate({2, 5, 3, 2}, [&](const Shape& i) {
    double sum = 0;
    for (int64_t k = 0; k < 4; ++k) sum += a.at({i[0], 0, i[2], k}) * c.at({i[1], k, i[3]});
    return sum;
  });
  expect_near(run(b, z, {a, c}), expected);
}

TEST(Matmul, OfTheSameMatrixTwiceIsLegal) {
  const HostTensor a = random_tensor({3, 3}, 1);
  Builder b;
  const Buffer x = input_like(b, "x", a);
  expect_near(run(b, matmul(b, x, x, {.transpose_b = true}), {a}), multiply(a, a, false, true));
}

TEST(Matmul, OperandsThatDoNotFitAreNamed) {
  Builder b;
  const Buffer x = b.input("x", Element::kFloat32, extents_of({3, 4})),
               y = b.input("y", Element::kFloat32, extents_of({3, 4}));
  EXPECT_THAT(error_of(b, matmul(b, x, y)), HasSubstr("matmul: cannot multiply f32[3, 4] and f32[3, 4]"));
}

}  // namespace
}  // namespace tf::ops
