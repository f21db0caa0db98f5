// Random numbers, and determinants.
#include <algorithm>
#include <numeric>

#include "compiler/runtime/host/random_words.h"
#include "tests/unit/compiler/runtime/host/host_call.h"

namespace tf::runtime::host_test {
namespace {

// The known answers that Random123 1.14 tests philox4x32-10 with.
TEST(HostRandom, StreamIsPhilox) {
  const struct {
    uint64_t seed, run, place;
    uint32_t words[4];
  } cases[] = {{0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
               {~0ULL, ~0ULL, ~0ULL, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
               {0x299f31d0a4093822,
                0x0370734413198a2e,
                0x85a308d3243f6a88,
                {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const auto& each : cases) {
    const host::RandomStream stream(static_cast<int64_t>(each.seed), static_cast<int64_t>(each.run));
    const host::RandomWords found = stream.at(static_cast<int64_t>(each.place));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(found.words[i], each.words[i]);
  }
}

TEST(HostRandom, UniformLiesBelowOne) {
  EXPECT_EQ((host::RandomWords{{0, 0, 0x80000000, 0}}).uniform(0), 0);
  EXPECT_EQ((host::RandomWords{{0, 0, 0x80000000, 0}}).uniform(1), 0.5);
  EXPECT_EQ((host::RandomWords{{~0U, ~0U, 0, 0}}).uniform(0), 1 - 0x1p-53);
}

Values drawn(tf_kernel function, int32_t element, int64_t count, int64_t seed, double run, double first,
             double second) {
  Tensor counter(TF_ELEMENT_INT64, {}, {run}), y(element, {count});
  EXPECT_EQ(call(function, nullptr, {seed, bits_of(first), bits_of(second)}, {&counter, &y}), 0);
  return y.values();
}

double mean_of(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The largest distance of the sample's distribution from the one of the given cumulative function: above 1.95 / sqrt(n)
// for one sample in a thousand.
double distance(Values values, double (*cumulative)(double)) {
  std::sort(values.begin(), values.end());
  double most = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double at = cumulative(values[i]), n = static_cast<double>(values.size());
    most = std::max({most, at - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - at});
  }
  return most;
}

TEST(HostRandom, UniformAndNormalHaveTheirDistributions) {
  constexpr int64_t kCount = 40001;
  const double limit = 1.95 / std::sqrt(static_cast<double>(kCount));
  for (const int32_t element : {TF_ELEMENT_FLOAT32, TF_ELEMENT_FLOAT64}) {
    EXPECT_LT(distance(drawn(tf_host_random_uniform, element, kCount, 1, 2, -1, 3),
                       [](double x) { return (x + 1) / 4; }),
              limit);
    EXPECT_LT(distance(drawn(tf_host_random_normal, element, kCount, 1, 2, 5, 2),
                       [](double x) { return 0.5 * std::erfc(-(x - 5) / 2 / std::sqrt(2.0)); }),
              limit);
  }
  for (const int32_t element : {TF_ELEMENT_FLOAT16, TF_ELEMENT_BFLOAT16}) {
    EXPECT_NEAR(mean_of(drawn(tf_host_random_uniform, element, kCount, 1, 2, -1, 3)), 1, 0.03);
    EXPECT_NEAR(mean_of(drawn(tf_host_random_normal, element, kCount, 1, 2, 5, 2)), 5, 0.05);
  }
}

TEST(HostRandom, NormalIsWhatBoxAndMullerGive) {
  const Values found = drawn(tf_host_random_normal, TF_ELEMENT_FLOAT64, 2000, 11, 12, 0, 1);
  const host::RandomStream stream(11, 12);
  for (size_t i = 0; i < found.size(); ++i) {
    const host::RandomWords words = stream.at(static_cast<int64_t>(i / 2));
    const double radius = std::sqrt(-2 * std::log(1 - words.uniform(0))), angle = 2 * M_PI * words.uniform(1);
    ASSERT_NEAR(found[i], radius * (i % 2 == 0 ? std::sin(angle) : std::cos(angle)), 4e-15);
  }
}

TEST(HostRandom, DependsOnSeedAndRunAlone) {
  for (tf_kernel function : {tf_host_random_uniform, tf_host_random_normal}) {
    const Values first = drawn(function, TF_ELEMENT_FLOAT32, 9, 1, 1, 0, 1);
    EXPECT_EQ(drawn(function, TF_ELEMENT_FLOAT32, 9, 1, 1, 0, 1), first);
    EXPECT_NE(drawn(function, TF_ELEMENT_FLOAT32, 9, 2, 1, 0, 1), first);
    EXPECT_NE(drawn(function, TF_ELEMENT_FLOAT32, 9, 1, 2, 0, 1), first);
    EXPECT_EQ(drawn(function, TF_ELEMENT_FLOAT32, 0, 1, 1, 0, 1), Values{});
  }
}

TEST(HostBernoulli, DrawsOnesWithTheirProbability) {
  constexpr size_t kCount = 30003;
  Values probabilities;
  for (size_t i = 0; i < kCount; ++i) probabilities.push_back(std::vector<double>{0, 1, 0.25}[i % 3]);
  for (const int32_t of_x : kFloats) {
    for (const int32_t of_y : kElements) {
      Tensor x(of_x, {kCount}, probabilities), run(TF_ELEMENT_INT64, {}, {3}), y(of_y, {kCount});
      ASSERT_EQ(call(tf_host_bernoulli, nullptr, {5}, {&x, &run, &y}), 0);
      double sums[3] = {};
      const Values found = y.values();
      for (size_t i = 0; i < kCount; ++i) {
        ASSERT_TRUE(found[i] == 0 || found[i] == 1);
        sums[i % 3] += found[i];
      }
      EXPECT_EQ(sums[0], 0);
      EXPECT_EQ(sums[1], kCount / 3);
      EXPECT_NEAR(sums[2], 2500, 200);
    }
  }
}

TEST(HostMultinomial, DrawsClassesInProportionToTheirWeights) {
  for (const int32_t of_x : kFloats) {
    for (const int32_t of_y : {TF_ELEMENT_INT32, TF_ELEMENT_INT64}) {
      Tensor x(of_x, {2, 4}, {0, 1, 3, 0, 5, 0, 0, 0}), run(TF_ELEMENT_INT64, {}, {3}), y(of_y, {2, 8000});
      ASSERT_EQ(call(tf_host_multinomial, tf_host_multinomial_workspace, {5}, {&x, &run, &y}), 0);
      double counts[2][4] = {};
      const Values found = y.values();
      for (size_t i = 0; i < found.size(); ++i) ++counts[i / 8000][static_cast<size_t>(found[i])];
      EXPECT_EQ(counts[0][0] + counts[0][3], 0);
      EXPECT_NEAR(counts[0][1], 2000, 200);
      EXPECT_EQ(counts[1][0], 8000);
    }
  }
  // Without any weight, a class all the same.
  Tensor x(TF_ELEMENT_FLOAT32, {1, 3}, {0, 0, 0}), run(TF_ELEMENT_INT64, {}, {0}),
      y(TF_ELEMENT_INT32, {1, 5});
  ASSERT_EQ(call(tf_host_multinomial, tf_host_multinomial_workspace, {5}, {&x, &run, &y}), 0);
  for (const double value : y.values()) EXPECT_TRUE(value >= 0 && value < 3);
}

// By the first row's minors.
double by_minors(const Values& matrix, size_t n) {
  if (n == 0) return 1;
  double total = 0;
  for (size_t column = 0; column < n; ++column) {
    Values minor;
    for (size_t i = n; i < n * n; ++i)
      if (i % n != column) minor.push_back(matrix[i]);
    total += (column % 2 == 0 ? 1 : -1) * matrix[column] * by_minors(minor, n - 1);
  }
  return total;
}

TEST(HostDet, IsThatOfEachMatrix) {
  std::mt19937 random(10);
  for (const int32_t element : kFloats) {
    for (size_t n = 0; n < 6; ++n) {
      Values x, expected;
      for (size_t i = 0; i < 6 * n * n; ++i) x.push_back(static_cast<double>(random() % 7) - 3);
      for (size_t i = 0; i < 6; ++i)
        expected.push_back(held(element, by_minors({x.begin() + static_cast<std::ptrdiff_t>(i * n * n),
                                                    x.begin() + static_cast<std::ptrdiff_t>((i + 1) * n * n)},
                                                   n)));
      const auto extent = static_cast<int64_t>(n);
      Tensor operand(element, {2, 3, extent, extent}, x), y(element, {2, 3});
      ASSERT_EQ(call(tf_host_det, tf_host_det_workspace, {}, {&operand, &y}, static_cast<int32_t>(n) + 1), 0);
      const Values found = y.values();
      for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(found[i], expected[i], 1e-10) << n;
    }
  }
}

TEST(HostDet, IsZeroWhereAColumnIsAndNanWhereAnElementIs) {
  Tensor x(TF_ELEMENT_FLOAT32, {2, 2, 2}, {0, 1, 0, 2, 0, 1, kNan, 2}), y(TF_ELEMENT_FLOAT32, {2});
  ASSERT_EQ(call(tf_host_det, tf_host_det_workspace, {}, {&x, &y}), 0);
  expect_same(y.values(), {0, kNan}, "determinant");
}

}  // namespace
}  // namespace tf::runtime::host_test
