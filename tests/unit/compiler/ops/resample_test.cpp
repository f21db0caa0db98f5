#include "compiler/ops/resample.h"

#include <gmock/gmock.h>

#include "compiler/ops/sample.h"
#include "tests/unit/compiler/ops/host_tensor.h"

namespace tf::ops {
namespace {

using testing::HasSubstr;

HostTensor table(int64_t taps, int64_t extent, std::vector<double> values) {
  return {{taps, extent}, std::move(values)};
}

TEST(Resample, SumsTheTapsOfEveryAxis) {
  const HostTensor x = random_tensor({2, 3, 4}, 1);
  const HostTensor rows = table(2, 2, {0, 2, 1, 2}), columns = table(1, 5, {3, 0, 1, 1, 2});
  const HostTensor row_weights = random_tensor({2, 2}, 2), column_weights = random_tensor({1, 5}, 3);
  for (const bool weighted : {false, true}) {
    Builder b;
    const Buffer input = input_like(b, "x", x);
    std::vector<HostTensor> values = {x, rows, columns};
    std::vector<TableAxis> axes = {{1, input_like(b, "r", rows, Element::kInt32), nullptr},
                                   {2, input_like(b, "c", columns, Element::kInt32), nullptr}};
    if (weighted) {
      axes[0].weights = input_like(b, "rw", row_weights),
      axes[1].weights = input_like(b, "cw", column_weights);
      values.insert(values.end(), {row_weights, column_weights});
    }
    const auto index = [](const HostTensor& t, int64_t tap, int64_t o) {
      return static_cast<int64_t>(t.at({tap, o}));
    };
    expect_near(
        run(b, resample(b, input, axes), values), generate({2, 2, 5}, [&](const Shape& i) {
          double sum = 0;
          for (int64_t t = 0; t < 2; ++t) {
            const double weight = weighted ? row_weights.at({t, i[1]}) * column_weights.at({0, i[2]}) : 1;
            sum += weight * x.at({i[0], index(rows, t, i[1]), index(columns, 0, i[2])});
          }
          return sum;
        }));
  }
}

TEST(Resample, FoldsManyTapsOfOneAxis) {
  const HostTensor x = random_tensor({40, 2}, 1);
  const HostTensor indices =
      generate({20, 3}, [](const Shape& i) { return static_cast<double>(i[0] + 10 * i[1]); });
  const HostTensor weights = random_tensor({20, 3}, 2);
  Builder b;
  const Buffer input = input_like(b, "x", x);
  const TableAxis axis = {0, input_like(b, "i", indices, Element::kInt32), input_like(b, "w", weights)};
  expect_near(run(b, resample(b, input, {axis}), {x, indices, weights}),
              generate({3, 2}, [&](const Shape& i) {
                double sum = 0;
                for (int64_t t = 0; t < 20; ++t) sum += weights.at({t, i[0]}) * x.at({t + 10 * i[0], i[1]});
                return sum;
              }));
}

TEST(Resample, RefusesTablesThatDoNotFit) {
  const auto message = [](Element element, const Shape& indices, const Shape& weights, size_t count) {
    Builder b;
    const Buffer x = b.input("x", Element::kFloat32, extents_of({4, 4}));
    const TableAxis axis = {0, b.input("i", element, extents_of(indices)),
                            b.input("w", Element::kFloat32, extents_of(weights))};
    return error_of(b, resample(b, x, std::vector<TableAxis>(count, axis)));
  };
  EXPECT_THAT(message(Element::kInt64, {1, 2}, {1, 2}, 1), HasSubstr("not a table of i32"));
  EXPECT_THAT(message(Element::kInt32, {1, 2}, {2, 2}, 1), HasSubstr("weights f32[2, 2] do not fit"));
  EXPECT_THAT(message(Element::kInt32, {5, 2}, {5, 2}, 2), HasSubstr("25 taps of several axes"));
}

TEST(Sample, ReadsEachRegionsPlaces) {
  const HostTensor x = random_tensor({2, 3, 6}, 1), batches = {{3}, {1, 0, 1}};
  for (const int64_t taps : {2, 18}) {
    for (const bool greatest : {false, true}) {
      const HostTensor weights = random_tensor({taps, 3, 2}, 2);
      // Every fifth place is none, and some lie beyond x.
      double next = 0;
      const HostTensor places = generate({taps, 3, 2}, [&](const Shape&) {
        return std::fmod(++next, 5) == 0 ? -1 : std::fmod(next * 7, 8);
      });
      Builder b;
      const SampleOperands operands = {input_like(b, "x", x), input_like(b, "b", batches, Element::kInt64),
                                       input_like(b, "p", places, Element::kInt32),
                                       input_like(b, "w", weights)};
      expect_near(run(b, sample(b, operands, greatest), {x, batches, places, weights}),
                  generate({3, 3, 2}, [&](const Shape& i) {
                    double all = greatest ? -1e9 : 0;
                    for (int64_t t = 0; t < taps; ++t) {
                      const auto place = static_cast<int64_t>(places.at({t, i[0], i[2]}));
                      const auto batch = static_cast<int64_t>(batches.at({i[0]}));
                      const double value = place < 0 ? 0 : x.at({batch, i[1], std::min<int64_t>(place, 5)});
                      const double seen = value * weights.at({t, i[0], i[2]});
                      all = greatest ? std::max(all, seen) : all + seen;
                    }
                    return all;
                  }));
    }
  }
}

}  // namespace
}  // namespace tf::ops
