#include <functional>

#include "tests/unit/compiler/runtime/host/host_call.h"

namespace tf::runtime::host_test {
namespace {

// Of whole numbers, in i64 where they are integers.
double combined(int32_t element, int64_t reduction, double at, double update) {
  const bool is_bool = element == TF_ELEMENT_BOOL;
  switch (reduction) {
    case TF_HOST_REDUCE_NONE:
      return update;
    case TF_HOST_REDUCE_ADD:
      return held(element, is_bool ? std::max(at, update) : at + update);
    case TF_HOST_REDUCE_MUL:
      return held(element, at * update);
    case TF_HOST_REDUCE_MIN:
      return std::min(at, update);
    default:
      return std::max(at, update);
  }
}

Values whole_values(int32_t element, int64_t count, std::mt19937& random) {
  Values values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(held(element, static_cast<double>(random() % 9) - (is_signed(element) ? 4 : 0)));
  return values;
}

Values some_indices(int64_t count, int64_t extent, std::mt19937& random) {
  Values indices;
  for (int64_t i = 0; i < count; ++i)
    indices.push_back(
        static_cast<double>(static_cast<int64_t>(random() % static_cast<uint64_t>(2 * extent)) - extent));
  return indices;
}

int64_t counted_back(double index, int64_t extent) {
  return static_cast<int64_t>(index) + (index < 0 ? extent : 0);
}

TEST(HostScatterElements, PutsUpdatesInTheirOrder) {
  const struct {
    Extents data, indices;
    size_t axis;
  } cases[] = {{{5}, {9}, 0},
               {{3, 4}, {3, 4}, 0},
               {{3, 4}, {2, 7}, 1},
               {{2, 3, 4}, {2, 9, 4}, 1},
               {{2, 3, 4}, {1, 2, 3}, 0},
               {{3, 2}, {0, 2}, 0},
               {{1, 1}, {1, 3}, 1}};
  std::mt19937 random(2);
  for (const auto& each : cases) {
    for (const int32_t element : kElements) {
      for (const int32_t index : {TF_ELEMENT_INT32, TF_ELEMENT_INT64}) {
        for (int64_t reduction = TF_HOST_REDUCE_NONE; reduction <= TF_HOST_REDUCE_MAX; ++reduction) {
          SCOPED_TRACE(testing::Message() << "element " << element << " reduction " << reduction);
          Values expected = whole_values(element, count_of(each.data), random);
          const Values updates = whole_values(element, count_of(each.indices), random),
                       places = some_indices(count_of(each.indices), each.data[each.axis], random);
          Tensor data(element, each.data, expected), indices(index, each.indices, places),
              update(element, each.indices, updates), y(element, each.data);
          ASSERT_EQ(call(tf_host_scatter_elements, nullptr, {static_cast<int64_t>(each.axis), reduction},
                         {&data, &indices, &update, &y}),
                    0);
          for (size_t i = 0; i < updates.size(); ++i) {
            Extents place = Places{each.indices}.at(static_cast<int64_t>(i));
            place[each.axis] = counted_back(places[i], each.data[each.axis]);
            double& at = expected[static_cast<size_t>(Places{each.data}.index(place))];
            at = combined(element, reduction, at, updates[i]);
          }
          expect_same(y.values(), expected, "element");
        }
      }
    }
  }
}

TEST(HostScatterNd, PutsSlicesInTheirOrder) {
  const struct {
    Extents data, indices;
  } cases[] = {{{5}, {9, 1}},    {{3, 4}, {2, 3, 2}}, {{3, 4}, {5, 1}}, {{2, 3, 4}, {4, 2}},
               {{2, 2}, {0, 1}}, {{2, 3}, {2, 0}},    {{4}, {1}}};
  std::mt19937 random(3);
  for (const auto& each : cases) {
    const auto depth = static_cast<size_t>(each.indices.back());
    Extents shape(each.indices.begin(), each.indices.end() - 1);
    shape.insert(shape.end(), each.data.begin() + static_cast<std::ptrdiff_t>(depth), each.data.end());
    const int64_t count = count_of({each.indices.begin(), each.indices.end() - 1});
    for (const int32_t element : kElements) {
      for (int64_t reduction = TF_HOST_REDUCE_NONE; reduction <= TF_HOST_REDUCE_MAX; ++reduction) {
        SCOPED_TRACE(testing::Message() << "element " << element << " reduction " << reduction);
        Values expected = whole_values(element, count_of(each.data), random);
        const Values updates = whole_values(element, count_of(shape), random);
        Values places;
        for (int64_t i = 0; i < count; ++i)
          for (size_t d = 0; d < depth; ++d) places.push_back(some_indices(1, each.data[d], random)[0]);
        Tensor data(element, each.data, expected), indices(TF_ELEMENT_INT64, each.indices, places),
            update(element, shape, updates), y(element, each.data);
        ASSERT_EQ(call(tf_host_scatter_nd, nullptr, {reduction}, {&data, &indices, &update, &y}), 0);
        const size_t slice = count == 0 ? 0 : updates.size() / static_cast<size_t>(count);
        for (size_t i = 0; i < updates.size(); ++i) {
          size_t first = 0;
          for (size_t d = 0; d < depth; ++d)
            first = first * static_cast<size_t>(each.data[d]) +
                    static_cast<size_t>(counted_back(places[i / slice * depth + d], each.data[d]));
          double& at = expected[first * slice + i % slice];
          at = combined(element, reduction, at, updates[i]);
        }
        expect_same(y.values(), expected, "element");
      }
    }
  }
}

TEST(HostScatter, RefusesIndicesOutside) {
  for (const double index : {2.0, -3.0, 1e15, -1e15}) {
    for (const int64_t reduction : {TF_HOST_REDUCE_NONE, TF_HOST_REDUCE_ADD}) {
      Tensor data(TF_ELEMENT_FLOAT32, {2}, {1, 2}), indices(TF_ELEMENT_INT64, {1}, {index}),
          updates(TF_ELEMENT_FLOAT32, {1}, {3}), y(TF_ELEMENT_FLOAT32, {2});
      EXPECT_EQ(call(tf_host_scatter_elements, nullptr, {0, reduction}, {&data, &indices, &updates, &y}),
                TF_MODEL_BAD_INDEX);
      Tensor nd(TF_ELEMENT_INT64, {1, 1}, {index});
      EXPECT_EQ(call(tf_host_scatter_nd, nullptr, {reduction}, {&data, &nd, &updates, &y}),
                TF_MODEL_BAD_INDEX);
    }
  }
}

TEST(HostScatter, WorksInTheBufferOfTheData) {
  Tensor data(TF_ELEMENT_INT32, {3}, {1, 2, 3}), indices(TF_ELEMENT_INT64, {2, 1}, {0, -1}),
      updates(TF_ELEMENT_INT32, {2}, {10, 20});
  ASSERT_EQ(call(tf_host_scatter_nd, nullptr, {TF_HOST_REDUCE_ADD}, {&data, &indices, &updates, &data}), 0);
  EXPECT_EQ(data.values(), (Values{11, 2, 23}));
  Tensor flat(TF_ELEMENT_INT64, {2}, {0, -1});
  ASSERT_EQ(
      call(tf_host_scatter_elements, nullptr, {0, TF_HOST_REDUCE_NONE}, {&data, &flat, &updates, &data}), 0);
  EXPECT_EQ(data.values(), (Values{10, 2, 20}));
}

TEST(HostScatter, KeepsNanOfSlicesAndLeavesOutThatOfElements) {
  for (const int32_t element : kFloats) {
    for (const int64_t reduction : {TF_HOST_REDUCE_MIN, TF_HOST_REDUCE_MAX}) {
      Tensor data(element, {3}, {1, kNan, 2}), flat(TF_ELEMENT_INT64, {3}, {0, 1, 2}),
          indices(TF_ELEMENT_INT64, {3, 1}, {0, 1, 2}), updates(element, {3}, {kNan, 5, 2}), y(element, {3});
      ASSERT_EQ(call(tf_host_scatter_nd, nullptr, {reduction}, {&data, &indices, &updates, &y}), 0);
      expect_same(y.values(), {kNan, kNan, 2}, "slice");
      ASSERT_EQ(call(tf_host_scatter_elements, nullptr, {0, reduction}, {&data, &flat, &updates, &y}), 0);
      expect_same(y.values(), {1, kNan, 2}, "element");
    }
  }
}

TEST(HostScatter, AddsAndMultipliesIntegersModuloTheirRange) {
  Tensor data(TF_ELEMENT_INT64, {2}), updates(TF_ELEMENT_INT64, {2}), y(TF_ELEMENT_INT64, {2}),
      indices(TF_ELEMENT_INT32, {2}, {0, 1});
  const int64_t most = std::numeric_limits<int64_t>::max(), numbers[] = {most, most}, others[] = {1, 2};
  std::memcpy(data.bytes.get(), numbers, sizeof numbers);
  std::memcpy(updates.bytes.get(), others, sizeof others);
  ASSERT_EQ(call(tf_host_scatter_elements, nullptr, {0, TF_HOST_REDUCE_ADD}, {&data, &indices, &updates, &y}),
            0);
  EXPECT_EQ(loaded<int64_t>(y.bytes.get()), std::numeric_limits<int64_t>::min());
  ASSERT_EQ(call(tf_host_scatter_elements, nullptr, {0, TF_HOST_REDUCE_MUL}, {&data, &indices, &updates, &y}),
            0);
  EXPECT_EQ(loaded<int64_t>(y.bytes.get() + 8), -2);
}

}  // namespace
}  // namespace tf::runtime::host_test
