#include <algorithm>
#include <numeric>

#include "tests/unit/compiler/runtime/host/host_call.h"

namespace tf::runtime::host_test {
namespace {

// NaN is the largest.
bool less(double a, double b) {
  return b != b ? a == a : a < b;
}

void expect_topk(int32_t element, const Extents& extents, size_t axis, int64_t k, bool largest,
                 int32_t threads, std::mt19937& random) {
  SCOPED_TRACE(testing::Message() << "element " << element << " axis " << axis << " k " << k << " largest "
                                  << largest << " of " << extents[axis]);
  const Values x = some_values(element, count_of(extents), random);
  Extents results = extents;
  results[axis] = k;
  Tensor operand(element, extents, x), values(element, results), indices(TF_ELEMENT_INT64, results);
  ASSERT_EQ(call(tf_host_topk, tf_host_topk_workspace, {static_cast<int64_t>(axis), largest},
                 {&operand, &values, &indices}, threads),
            0);
  Values expected_values(values.values().size()), expected_indices(expected_values.size());
  const Places of_x{extents}, of_result{results};
  for (int64_t i = 0; i < count_of(results); ++i) {
    Extents place = of_result.at(i);
    if (place[axis] != 0) continue;
    Values row;
    for (int64_t j = 0; j < extents[axis]; ++j) {
      place[axis] = j;
      row.push_back(x[static_cast<size_t>(of_x.index(place))]);
    }
    std::vector<size_t> order(row.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return largest ? less(row[b], row[a]) : less(row[a], row[b]);
    });
    for (int64_t j = 0; j < k; ++j) {
      place[axis] = j;
      const auto at = static_cast<size_t>(of_result.index(place)), best = order[static_cast<size_t>(j)];
      expected_values[at] = row[best];
      expected_indices[at] = static_cast<double>(best);
    }
  }
  expect_same(indices.values(), expected_indices, "index");
  expect_same(values.values(), expected_values, "value");
}

TEST(HostTopk, FindsTheFirstOfTheBestInOrder) {
  const struct {
    Extents extents;
    size_t axis;
    std::vector<int64_t> ks;
  } cases[] = {
      {{1}, 0, {0, 1}},         {{7}, 0, {1, 3, 7}}, {{3, 33}, 1, {1, 8, 33}}, {{2, 40, 3}, 1, {1, 10, 40}},
      {{5, 2, 2}, 0, {1, 5}},   {{0, 4}, 1, {2}},    {{2, 0}, 1, {0}},         {{700}, 0, {1, 20, 175, 176}},
      {{2, 500}, 1, {100, 499}}};
  std::mt19937 random(1);
  for (const auto& each : cases)
    for (const int64_t k : each.ks)
      for (const int32_t element : kElements)
        for (const bool largest : {false, true})
          expect_topk(element, each.extents, each.axis, k, largest, k % 2 == 0 ? 3 : 1, random);
}

// Rows where what comes next is always better, and never.
TEST(HostTopk, FindsTheBestOfSortedRows) {
  for (const bool largest : {false, true}) {
    Values x(5000);
    std::iota(x.begin(), x.end(), -2500);
    Tensor operand(TF_ELEMENT_FLOAT32, {5000}, x), values(TF_ELEMENT_FLOAT32, {300}),
        indices(TF_ELEMENT_INT64, {300});
    ASSERT_EQ(call(tf_host_topk, tf_host_topk_workspace, {0, largest}, {&operand, &values, &indices}), 0);
    for (size_t i = 0; i < 300; ++i) {
      const size_t best = largest ? 4999 - i : i;
      ASSERT_EQ(indices.values()[i], best);
      ASSERT_EQ(values.values()[i], x[best]);
    }
  }
}

TEST(HostTopk, TellsIntegersApartThatAreEqualAsDoubles) {
  Tensor operand(TF_ELEMENT_INT64, {4}), values(TF_ELEMENT_INT64, {2}), indices(TF_ELEMENT_INT64, {2});
  const int64_t large = int64_t{1} << 60;
  const int64_t x[] = {large, large + 2, large + 1, std::numeric_limits<int64_t>::min()};
  std::memcpy(operand.bytes.get(), x, sizeof x);
  ASSERT_EQ(call(tf_host_topk, tf_host_topk_workspace, {0, 1}, {&operand, &values, &indices}), 0);
  EXPECT_EQ(indices.values(), (Values{1, 2}));
  ASSERT_EQ(call(tf_host_topk, tf_host_topk_workspace, {0, 0}, {&operand, &values, &indices}), 0);
  EXPECT_EQ(indices.values(), (Values{3, 0}));
  EXPECT_EQ(loaded<int64_t>(values.bytes.get() + 8), large);
}

}  // namespace
}  // namespace tf::runtime::host_test
