#include "compiler/ops/pooling.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/ops/reduction.h"
#include "tests/unit/compiler/ops/host_tensor.h"

namespace tf::ops {
namespace {

using testing::HasSubstr;

struct Pool {
  Shape x;
  Window window;  // every list filled in
};

std::string name_of(const Pool& p) {
  const Window& w = p.window;
  const auto by = [](const Shape& sizes) { return absl::StrJoin(sizes, "x"); };
  return absl::StrCat(by(p.x), "_windows_", by(w.kernel), "_strides_", by(w.strides), "_dilations_",
                      by(w.dilations), "_pads_", by(w.pads_begin), "_", by(w.pads_end));
}

void PrintTo(const Pool& p, std::ostream* out) {
  *out << name_of(p);
}

int64_t windows(const Pool& p, size_t d) {
  const Window& w = p.window;
  const int64_t room = p.x[d + 2] + w.pads_begin[d] + w.pads_end[d] - w.dilations[d] * (w.kernel[d] - 1) - 1;
  return room / w.strides[d] + 1;
}

// Visits every element of each window: f(place in x, whether it lies in x, whether it lies in x or its
// padding).
HostTensor slide(const Pool& p, const std::function<double()>& begin,
                 const std::function<void(const Shape&, bool, bool)>& f, const std::function<double()>& end) {
  const Window& w = p.window;
  Shape shape = {p.x[0], p.x[1]};
  for (size_t d = 0; d < w.kernel.size(); ++d) shape.push_back(windows(p, d));
  return generate(shape, [&](const Shape& o) {
    begin();
    generate(w.kernel, [&](const Shape& k) {
      Shape place = {o[0], o[1]};
      bool inside = true, padded = true;
      for (size_t d = 0; d < k.size(); ++d) {
        place.push_back(o[d + 2] * w.strides[d] + k[d] * w.dilations[d] - w.pads_begin[d]);
        inside = inside && place.back() >= 0 && place.back() < p.x[d + 2];
        padded = padded && place.back() < p.x[d + 2] + w.pads_end[d];
      }
      f(place, inside, padded);
      return 0.0;
    });
    return end();
  });
}

class Pools : public testing::TestWithParam<Pool> {};

TEST_P(Pools, GreatestOfEachWindowAgreesWithLoops) {
  const HostTensor x = random_tensor(GetParam().x, 1, -3, -1);  // padding with 0 would win
  Builder b;
  const Buffer input = input_like(b, "x", x);
  double best = 0;
  const HostTensor expected = slide(
      GetParam(), [&] { return best = -INFINITY; },
      [&](const Shape& place, bool inside, bool) { best = inside ? std::max(best, x.at(place)) : best; },
      [&] { return best; });
  expect_near(run(b, max_pool(b, input, GetParam().window), {x}), expected);
}

TEST_P(Pools, MeanOfEachWindowAgreesWithLoops) {
  for (bool count_include_pad : {false, true}) {
    const HostTensor x = random_tensor(GetParam().x, 2);
    Builder b;
    const Buffer input = input_like(b, "x", x);
    double sum = 0, count = 0;
    const HostTensor expected = slide(
        GetParam(), [&] { return sum = count = 0; },
        [&](const Shape& place, bool inside, bool padded) {
          sum += inside ? x.at(place) : 0;
          count += inside || (count_include_pad && padded) ? 1 : 0;
        },
        [&] { return sum / count; });
    expect_near(run(b, avg_pool(b, input, GetParam().window, count_include_pad), {x}), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Pools,
                         testing::Values(Pool{{1, 2, 6, 6}, {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}},
                                         Pool{{2, 3, 7, 9}, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}},
                                         Pool{{1, 2, 7, 8}, {{3, 2}, {2, 3}, {1, 1}, {0, 1}, {2, 0}}},
                                         Pool{{1, 1, 9, 9}, {{3, 3}, {1, 2}, {2, 2}, {1, 2}, {2, 1}}},
                                         Pool{{1, 2, 3, 3}, {{3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}},
                                         Pool{{1, 4, 1, 1}, {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}},
                                         Pool{{1, 2, 11}, {{4}, {3}, {1}, {2}, {1}}},
                                         Pool{{1, 1, 4, 5, 6},
                                              {{2, 3, 2}, {2, 1, 2}, {1, 1, 1}, {0, 1, 0}, {0, 1, 0}}},
                                         Pool{{0, 2, 4, 4}, {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}}),
                         [](const auto& each) { return name_of(each.param); });

TEST(Pool, WithoutPaddingHasNoPadStageAndDividesByAConstant) {
  Builder b;
  const Buffer x = b.input("x", Element::kFloat32, extents_of({1, 2, 4, 4}));
  const auto workload = b.finish({avg_pool(b, x, {.kernel = {2, 2}, .strides = {2, 2}}, false)});
  ASSERT_TRUE(workload.ok());
  EXPECT_EQ(workload->stages.size(), 2u);
  EXPECT_EQ(workload->label, "avg_pool2d");
  EXPECT_THAT(tensor::canonical_text(*workload), HasSubstr("t0[i0, i1, i2, i3] / 4f32"));
}

TEST(Pool, GlobalPoolsAreReductions) {
  const HostTensor x = random_tensor({2, 3, 4, 5}, 7);
  Builder b;
  const Buffer input = input_like(b, "x", x);
  const HostTensor expected = generate({2, 3, 1, 1}, [&](const Shape& i) {
    double sum = 0;
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t w = 0; w < 5; ++w) sum += x.at({i[0], i[1], h, w});
    return sum / 20;
  });
  expect_near(run(b, reduce(b, ReduceKind::kMean, input, {2, 3}, true), {x}), expected);
}

TEST(Pool, WindowsThatDoNotFitAreNamed) {
  Builder b;
  const Buffer x = b.input("x", Element::kFloat32, extents_of({1, 2, 4, 4}));
  EXPECT_THAT(error_of(b, max_pool(b, x, {.kernel = {5, 2}})),
              HasSubstr("max_pool: a window of 5 does not fit spatial axis 0"));
  Builder integers;
  const Buffer bytes = integers.input("x", Element::kInt8, extents_of({1, 2, 4, 4}));
  EXPECT_THAT(error_of(integers, avg_pool(integers, bytes, {.kernel = {2, 2}}, false)),
              HasSubstr("avg_pool: cannot take i8"));
}

}  // namespace
}  // namespace tf::ops
