// What folds along an axis or keeps bits, and what gives as many results as the values ask for.
#include <algorithm>
#include <map>

#include "tests/unit/compiler/runtime/host/host_call.h"

namespace tf::runtime::host_test {
namespace {

TEST(HostCumsum, AddsUpToEachElement) {
  const struct {
    Extents extents;
    size_t axis;
  } cases[] = {{{1}, 0},       {{9}, 0},         {{3, 5}, 0}, {{3, 5}, 1},
               {{2, 4, 3}, 1}, {{2, 4, 100}, 1}, {{0, 2}, 1}, {{2, 0}, 1}};
  std::mt19937 random(4);
  for (const auto& each : cases) {
    for (const int32_t element : kElements) {
      if (element == TF_ELEMENT_BOOL) continue;
      for (const bool exclusive : {false, true}) {
        for (const bool reverse : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << "element " << element << " exclusive " << exclusive << " reverse " << reverse);
          const Values x = some_values(element, count_of(each.extents), random);
          Tensor operand(element, each.extents, x), y(element, each.extents);
          ASSERT_EQ(call(tf_host_cumsum, nullptr, {static_cast<int64_t>(each.axis), exclusive, reverse, 0},
                         {&operand, &y}, 2),
                    0);
          Values expected;
          const Places places{each.extents};
          for (int64_t i = 0; i < count_of(each.extents); ++i) {
            Extents place = places.at(i);
            const int64_t own = place[each.axis];
            double total = 0;
            for (int64_t j = 0; j < each.extents[each.axis]; ++j) {
              place[each.axis] = j;
              if (reverse ? j > own : j < own) total += x[static_cast<size_t>(places.index(place))];
            }
            expected.push_back(held(element, exclusive ? total : total + x[static_cast<size_t>(i)]));
          }
          expect_same(y.values(), expected, "sum");
        }
      }
    }
  }
}

TEST(HostCumsum, WrapsIntegersAroundAndAddsHalvesAsFloats) {
  Tensor bytes(TF_ELEMENT_INT8, {3}, {127, 1, 1}), sums(TF_ELEMENT_INT8, {3});
  ASSERT_EQ(call(tf_host_cumsum, nullptr, {0, 0, 0, 0}, {&bytes, &sums}), 0);
  EXPECT_EQ(sums.values(), (Values{127, -128, -127}));
  // In f16, 2048 + 1 is 2048.
  Tensor halves(TF_ELEMENT_FLOAT16, {3}, {2048, 1, 1}), results(TF_ELEMENT_FLOAT16, {3});
  ASSERT_EQ(call(tf_host_cumsum, nullptr, {0, 0, 0, 0}, {&halves, &results}), 0);
  EXPECT_EQ(results.values(), (Values{2048, 2048, 2050}));
}

TEST(HostCumsum, MultipliesUpToEachElement) {
  for (const int32_t element : kElements) {
    if (element == TF_ELEMENT_BOOL) continue;
    Tensor x(element, {2, 3}, {1, 2, 3, 4, 0, 5}), y(element, {2, 3});
    const struct {
      std::vector<int64_t> attributes;
      Values want;
    } cases[] = {{{1, 0, 0, 1}, {1, 2, 6, 4, 0, 0}},
                 {{0, 0, 0, 1}, {1, 2, 3, 4, 0, 15}},
                 {{1, 1, 0, 1}, {1, 1, 2, 1, 4, 0}},
                 {{1, 0, 1, 1}, {6, 6, 3, 0, 0, 5}}};
    for (const auto& each : cases) {
      ASSERT_EQ(call(tf_host_cumsum, nullptr, each.attributes, {&x, &y}), 0);
      EXPECT_EQ(y.values(), each.want) << element;
    }
  }
}

TEST(HostBitCast, KeepsBits) {
  Tensor floats(TF_ELEMENT_FLOAT32, {4}, {1, -0.0, kInfinity, 1.5}), words(TF_ELEMENT_UINT32, {4}),
      back(TF_ELEMENT_FLOAT32, {4});
  ASSERT_EQ(call(tf_host_bit_cast, nullptr, {}, {&floats, &words}), 0);
  EXPECT_EQ(words.values(), (Values{0x3f800000, 0x80000000, 0x7f800000, 0x3fc00000}));
  ASSERT_EQ(call(tf_host_bit_cast, nullptr, {}, {&words, &back}), 0);
  EXPECT_TRUE(std::signbit(back.values()[1]));
  EXPECT_EQ(back.values()[3], 1.5);
  Tensor bytes(TF_ELEMENT_UINT8, {3}, {0, 1, 200}), flags(TF_ELEMENT_BOOL, {3}), none(TF_ELEMENT_INT64, {0}),
      of_none(TF_ELEMENT_FLOAT64, {0});
  ASSERT_EQ(call(tf_host_bit_cast, nullptr, {}, {&bytes, &flags}), 0);
  EXPECT_EQ(flags.values(), (Values{0, 1, 1}));
  EXPECT_EQ(call(tf_host_bit_cast, nullptr, {}, {&none, &of_none}), 0);
}

TEST(HostNonzero, ListsPlacesInOrder) {
  std::mt19937 random(5);
  for (const Extents& extents :
       {Extents{6}, Extents{1}, Extents{3, 4}, Extents{2, 3, 5}, Extents{0, 3}, Extents{3, 0}}) {
    for (const int32_t element : kElements) {
      const Values x = some_values(element, count_of(extents), random);
      const auto rank = static_cast<int64_t>(extents.size());
      Tensor operand(element, extents, x), y(TF_ELEMENT_INT64, {rank, count_of(extents)}),
          count(TF_ELEMENT_INT64, {});
      ASSERT_EQ(call(tf_host_nonzero, nullptr, {}, {&operand, &y, &count}), 0);
      Values expected;
      for (size_t d = 0; d < extents.size(); ++d)
        for (size_t i = 0; i < x.size(); ++i)
          if (x[i] != 0)
            expected.push_back(static_cast<double>(Places{extents}.at(static_cast<int64_t>(i))[d]));
      ASSERT_EQ(count.values()[0] * static_cast<double>(rank), static_cast<double>(expected.size()));
      expect_same(y.values(static_cast<int64_t>(expected.size())), expected, "place");
    }
  }
}

TEST(HostNonzero, CountsAScalarThatHasNoPlace) {
  for (const double value : {0.0, -0.0, 3.0, kNan}) {
    Tensor x(TF_ELEMENT_FLOAT32, {}, {value}), y(TF_ELEMENT_INT64, {0, 1}), count(TF_ELEMENT_INT64, {});
    ASSERT_EQ(call(tf_host_nonzero, nullptr, {}, {&x, &y, &count}), 0);
    EXPECT_EQ(count.values()[0], value == 0 ? 0 : 1);
  }
}

TEST(HostCompress, KeepsTheSlicesWhereTheConditionHolds) {
  const struct {
    Extents extents;
    size_t axis;
    Values condition;
  } cases[] = {{{5}, 0, {0, 1, 1, 0, 1}}, {{3, 4}, 1, {1, 0, 0, 1}}, {{3, 4}, 0, {0, 1}},
               {{2, 3, 2}, 1, {1, 0, 1}}, {{2, 3}, 1, {0, 0, 0}},    {{2, 3}, 0, {}},
               {{2, 3}, 0, {1, 1, 1, 1}}, {{0, 3}, 1, {1, 0, 1}}};
  std::mt19937 random(6);
  for (const auto& each : cases) {
    for (const int32_t element : kElements) {
      const Values x = some_values(element, count_of(each.extents), random);
      const auto length = static_cast<int64_t>(each.condition.size());
      Extents most = each.extents;
      most[each.axis] = std::min(most[each.axis], length);
      Tensor operand(element, each.extents, x), condition(TF_ELEMENT_BOOL, {length}, each.condition),
          y(element, most), count(TF_ELEMENT_INT64, {});
      ASSERT_EQ(call(tf_host_compress, nullptr, {static_cast<int64_t>(each.axis)},
                     {&operand, &condition, &y, &count}),
                0);
      Values expected;
      for (size_t i = 0; i < x.size(); ++i) {
        const int64_t at = Places{each.extents}.at(static_cast<int64_t>(i))[each.axis];
        if (at < length && each.condition[static_cast<size_t>(at)] != 0) expected.push_back(x[i]);
      }
      double chosen = 0;
      for (int64_t i = 0; i < most[each.axis]; ++i) chosen += each.condition[static_cast<size_t>(i)];
      EXPECT_EQ(count.values()[0], chosen);
      expect_same(y.values(static_cast<int64_t>(expected.size())), expected, "element");
    }
  }
}

// NaN is the largest and equals itself.
bool comes_before(const Values& a, const Values& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](double x, double y) { return y != y ? x == x : x < y; });
}

void expect_unique(int32_t element, const Extents& extents, int64_t axis, bool sorted, std::mt19937& random) {
  SCOPED_TRACE(testing::Message() << "element " << element << " axis " << axis << " sorted " << sorted);
  const Values x = some_values(element, count_of(extents), random);
  const int64_t length = axis < 0 ? count_of(extents) : extents[static_cast<size_t>(axis)];
  Extents flat = {length};
  Tensor operand(element, extents, x), y(element, axis < 0 ? flat : extents), indices(TF_ELEMENT_INT64, flat),
      inverse(TF_ELEMENT_INT64, flat), counts(TF_ELEMENT_INT64, flat), count(TF_ELEMENT_INT64, {});
  ASSERT_EQ(call(tf_host_unique, tf_host_unique_workspace, {axis, sorted},
                 {&operand, &y, &indices, &inverse, &counts, &count}),
            0);
  std::vector<Values> slices(static_cast<size_t>(length));
  for (size_t i = 0; i < x.size(); ++i)
    slices[axis < 0
               ? i
               : static_cast<size_t>(Places{extents}.at(static_cast<int64_t>(i))[static_cast<size_t>(axis)])]
        .push_back(x[i]);
  std::vector<size_t> firsts;
  std::map<Values, Values, decltype(&comes_before)> places(&comes_before);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!places.contains(slices[i])) firsts.push_back(i);
    places[slices[i]].push_back(static_cast<double>(i));
  }
  if (sorted)
    std::sort(firsts.begin(), firsts.end(),
              [&](size_t a, size_t b) { return comes_before(slices[a], slices[b]); });
  ASSERT_EQ(count.values()[0], static_cast<double>(firsts.size()));
  Values expected_inverse(slices.size()), expected_indices, expected_counts;
  for (size_t g = 0; g < firsts.size(); ++g) {
    const Values& same_slices = places[slices[firsts[g]]];
    expected_indices.push_back(static_cast<double>(firsts[g]));
    expected_counts.push_back(static_cast<double>(same_slices.size()));
    for (double place : same_slices) expected_inverse[static_cast<size_t>(place)] = static_cast<double>(g);
  }
  const auto groups = static_cast<int64_t>(firsts.size());
  expect_same(indices.values(groups), expected_indices, "index");
  expect_same(counts.values(groups), expected_counts, "count");
  expect_same(inverse.values(), expected_inverse, "inverse");
  Extents shape = axis < 0 ? flat : extents;
  const size_t along = axis < 0 ? 0 : static_cast<size_t>(axis);
  shape[along] = groups;
  Values expected;
  std::vector<size_t> taken(firsts.size());
  for (int64_t i = 0; i < count_of(shape); ++i) {
    const auto g = static_cast<size_t>(Places{shape}.at(i)[along]);
    expected.push_back(slices[firsts[g]][taken[g]++]);
  }
  expect_same(y.values(count_of(shape)), expected, "element");
}

TEST(HostUnique, FindsEachElementAndSliceOnce) {
  std::mt19937 random(7);
  const struct {
    Extents extents;
    std::vector<int64_t> axes;
  } cases[] = {{{1}, {-1, 0}}, {{40}, {-1, 0}},  {{30, 2}, {-1, 0, 1}}, {{3, 20, 1}, {0, 1, 2}},
               {{0}, {-1, 0}}, {{4, 0}, {0, 1}}, {{300}, {-1}}};
  for (const auto& each : cases)
    for (const int64_t axis : each.axes)
      for (const int32_t element : kElements)
        for (const bool sorted : {false, true}) expect_unique(element, each.extents, axis, sorted, random);
}

}  // namespace
}  // namespace tf::runtime::host_test
