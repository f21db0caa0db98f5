#include "compiler/ops/reduction.h"

#include <algorithm>

#include "tests/unit/compiler/ops/host_tensor.h"

namespace tf::ops {
namespace {

using testing::HasSubstr;

double fold(ReduceKind kind, const std::vector<double>& values) {
  double r = kind == ReduceKind::kMax    ? -INFINITY
             : kind == ReduceKind::kMin  ? INFINITY
             : kind == ReduceKind::kProd ? 1
                                         : 0;
  for (double v : values) {
    switch (kind) {
      case ReduceKind::kMax:
        r = std::max(r, v);
        break;
      case ReduceKind::kMin:
        r = std::min(r, v);
        break;
      case ReduceKind::kProd:
        r *= v;
        break;
      default:
        r += v;
    }
  }
  return kind == ReduceKind::kMean ? r / static_cast<double>(values.size()) : r;
}

TEST(Reduce, EveryKindAgreesWithLoopsOverEverySetOfAxes) {
  const HostTensor x = random_tensor({2, 3, 1, 5}, 1);
  for (ReduceKind kind :
       {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd})
    for (const std::vector<int64_t>& axes :
         std::vector<std::vector<int64_t>>{{1}, {3}, {0}, {1, 2}, {3, 1}, {0, 1, 2, 3}, {2}, {}})
      for (bool keep_dims : {false, true}) {
        Builder b;
        const Buffer input = input_like(b, "x", x);
        const auto is_folded = [&](size_t d) {
          return std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
        };
        Shape kept;
        for (size_t d = 0; d < 4; ++d)
          if (!is_folded(d) || keep_dims) kept.push_back(is_folded(d) ? 1 : x.shape[d]);
        const HostTensor expected = generate(kept, [&](const Shape& i) {
          std::vector<double> values;
          generate(x.shape, [&](const Shape& place) {
            bool mine = true;
            size_t at = 0;
            for (size_t d = 0; d < 4; ++d) {
              if (!is_folded(d)) mine = mine && i[at] == place[d];
              if (!is_folded(d) || keep_dims) ++at;
            }
            if (mine) values.push_back(x.at(place));
            return 0.0;
          });
          return fold(kind, values);
        });
        expect_near(run(b, reduce(b, kind, input, axes, keep_dims), {x}), expected);
      }
}

TEST(Reduce, AxesThatDoNotExistAreNamed) {
  Builder b;
  const Buffer x = b.input("x", Element::kFloat32, extents_of({2, 3}));
  EXPECT_THAT(error_of(b, reduce(b, ReduceKind::kSum, x, {2}, true)),
              HasSubstr("reduce_sum: the axes to fold"));
  Builder twice;
  const Buffer y = twice.input("x", Element::kFloat32, extents_of({2, 3}));
  EXPECT_THAT(error_of(twice, reduce(twice, ReduceKind::kMax, y, {1, 1}, true)), HasSubstr("reduce_max"));
}

TEST(Softmax, AgreesWithItsDefinitionAlongEveryAxis) {
  const HostTensor x = random_tensor({3, 4, 5}, 1, -10, 10);
  for (int axis : {0, 1, 2})
    for (bool log : {false, true}) {
      Builder b;
      const Buffer input = input_like(b, "x", x);
      const HostTensor expected = generate(x.shape, [&](const Shape& i) {
        double total = 0;
        Shape place = i;
        for (int64_t k = 0; k < x.shape[static_cast<size_t>(axis)]; ++k) {
          place[static_cast<size_t>(axis)] = k;
          total += std::exp(x.at(place));
        }
        const double value = std::exp(x.at(i)) / total;
        return log ? std::log(value) : value;
      });
      expect_near(run(b, softmax(b, input, axis, log), {x}), expected);
    }
}

TEST(Softmax, OfLargeValuesDoesNotOverflow) {
  const HostTensor x{{3}, {1000, 1000, -1000}};
  Builder b;
  const Buffer input = input_like(b, "x", x);
  expect_near(run(b, softmax(b, input, 0), {x}), {{3}, {0.5, 0.5, 0}});
}

TEST(Lrn, AgreesWithItsDefinitionForOddAndEvenSizes) {
  const HostTensor x = random_tensor({2, 7, 3}, 1, -2, 2);
  for (int64_t size : {1, 2, 3, 5, 9})
    for (double beta : {0.75, 0.6}) {
      Builder b;
      const Buffer input = input_like(b, "x", x);
      const HostTensor expected = generate(x.shape, [&](const Shape& i) {
        double squares = 0;
        for (int64_t c = i[1] - (size - 1) / 2; c <= i[1] + size / 2; ++c) {
          const double v = x.at({i[0], c, i[2]}, 0);
          squares += v * v;
        }
        return x.at(i) / std::pow(2.0 + 0.1 / static_cast<double>(size) * squares, beta);
      });
      expect_near(run(b, lrn(b, input, {.size = size, .alpha = 0.1, .beta = beta, .bias = 2.0}), {x}),
                  expected);
    }
}

TEST(BatchNorm, AgreesWithItsDefinition) {
  const HostTensor x = random_tensor({2, 3, 4}, 1), scale = random_tensor({3}, 2),
                   bias = random_tensor({3}, 3), mean = random_tensor({3}, 4),
                   variance = random_tensor({3}, 5, 0.5, 2);
  Builder b;
  const Buffer xb = input_like(b, "x", x);
  const BatchNormOperands operands{input_like(b, "scale", scale), input_like(b, "bias", bias),
                                   input_like(b, "mean", mean), input_like(b, "variance", variance)};
  const HostTensor expected = generate(x.shape, [&](const Shape& i) {
    const Shape c = {i[1]};
    return (x.at(i) - mean.at(c)) / std::sqrt(variance.at(c) + 1e-3) * scale.at(c) + bias.at(c);
  });
  expect_near(run(b, batch_norm(b, xb, operands, 1e-3), {x, scale, bias, mean, variance}), expected);
}

}  // namespace
}  // namespace tf::ops
