// Non-maximum suppression and pooling of regions.
#include <algorithm>
#include <optional>

#include "tests/unit/compiler/runtime/host/host_call.h"

namespace tf::runtime::host_test {
namespace {

struct Suppression {
  Extents scores;  // batches, classes, boxes
  Values box_values, score_values;
  int64_t most;
  float overlap;
  std::optional<float> score;
  bool centered = false;
};

Values selected(const Suppression& it, int64_t* count_found = nullptr) {
  const int64_t batches = it.scores[0], classes = it.scores[1], boxes = it.scores[2];
  Tensor box(TF_ELEMENT_FLOAT32, {batches, boxes, 4}, it.box_values),
      scores(TF_ELEMENT_FLOAT32, it.scores, it.score_values),
      most(TF_ELEMENT_INT64, {1}, {static_cast<double>(it.most)}),
      overlap(TF_ELEMENT_FLOAT32, {1}, {it.overlap}), score(TF_ELEMENT_FLOAT32, {1}, {it.score.value_or(0)}),
      result(TF_ELEMENT_INT64, {batches * classes * std::clamp<int64_t>(it.most, 0, boxes), 3}),
      count(TF_ELEMENT_INT64, {});
  EXPECT_EQ(
      call(tf_host_non_max_suppression, tf_host_non_max_suppression_workspace,
           {it.centered, it.score.has_value()}, {&box, &scores, &most, &overlap, &score, &result, &count}),
      0);
  const auto found = static_cast<int64_t>(count.values()[0]);
  if (count_found != nullptr) *count_found = found;
  return result.values(3 * found);
}

// Six boxes: two pairs that overlap much, one that overlaps little, one apart.
const Values kBoxes = {0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                       0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100,  1, 101};
const Values kScores = {0.9, 0.75, 0.6, 0.95, 0.5, 0.3};

TEST(HostNonMaxSuppression, SelectsTheBestThatLieApart) {
  EXPECT_EQ(selected({{1, 1, 6}, kBoxes, kScores, 3, 0.5F, 0.0F}), (Values{0, 0, 3, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(selected({{1, 1, 6}, kBoxes, kScores, 2, 0.5F, 0.0F}), (Values{0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(selected({{1, 1, 6}, kBoxes, kScores, 30, 0.5F, 0.4F}), (Values{0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(selected({{1, 1, 6}, kBoxes, kScores, 0, 0.5F, 0.0F}), Values{});
  EXPECT_EQ(selected({{1, 1, 6}, kBoxes, kScores, -5, 0.5F, 0.0F}), Values{});
}

TEST(HostNonMaxSuppression, TakesCornersInAnyOrderAndCenters) {
  Values flipped = kBoxes, centered;
  for (size_t i = 0; i < flipped.size(); i += 8) std::swap(flipped[i], flipped[i + 2]);
  for (size_t i = 4; i < flipped.size(); i += 8) std::swap(flipped[i + 1], flipped[i + 3]);
  for (size_t i = 0; i < kBoxes.size(); i += 4)
    centered.insert(centered.end(), {(kBoxes[i + 1] + kBoxes[i + 3]) / 2, (kBoxes[i] + kBoxes[i + 2]) / 2,
                                     kBoxes[i + 3] - kBoxes[i + 1], kBoxes[i + 2] - kBoxes[i]});
  const Values expected = {0, 0, 3, 0, 0, 0, 0, 0, 5};
  EXPECT_EQ(selected({{1, 1, 6}, flipped, kScores, 3, 0.5F, 0.0F}), expected);
  EXPECT_EQ(selected({{1, 1, 6}, centered, kScores, 3, 0.5F, 0.0F, true}), expected);
}

TEST(HostNonMaxSuppression, TakesTheFirstOfEqualScoresAndThoseOfNoThreshold) {
  const Values apart = {0, 0, 1, 1, 0, 2, 1, 3, 0, 4, 1, 5};
  EXPECT_EQ(selected({{1, 1, 3}, apart, {0.5, 0.7, 0.5}, 3, 0, 0.5F}), (Values{0, 0, 1}));
  EXPECT_EQ(selected({{1, 1, 3}, apart, {0.5, 0.5, 0.5}, 2, 0, 0.1F}), (Values{0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(selected({{1, 1, 3}, apart, {-kInfinity, -2, kNan}, 3, 0, std::nullopt}),
            (Values{0, 0, 1, 0, 0, 0, 0, 0, 2}));
  // Equal boxes, and such as have no area.
  EXPECT_EQ(selected({{1, 1, 2}, {0, 0, 1, 1, 0, 0, 1, 1}, {1, 2}, 2, 1, std::nullopt}),
            (Values{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(selected({{1, 1, 2}, {0, 0, 0, 1, 0, 0, 0, 1}, {1, 2}, 2, 0, std::nullopt}),
            (Values{0, 0, 1, 0, 0, 0}));
}

double intersection_over_union(const float* a, const float* b) {
  const float height = std::min(a[2], b[2]) - std::max(a[0], b[0]),
              width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (height <= 0 || width <= 0) return 0;
  return height * width / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - height * width);
}

TEST(HostNonMaxSuppression, FindsForEachClassWhatAPlainLoopFinds) {
  std::mt19937 random(8);
  for (int round = 0; round < 40; ++round) {
    const int64_t batches = 1 + random() % 2, classes = 1 + random() % 3, boxes = random() % 30;
    Suppression it = {{batches, classes, boxes}, {}, {}, static_cast<int64_t>(random() % 20), 0.3F, {}};
    if (round % 2 == 0) it.score = 0.2F;
    std::vector<float> corners;
    for (int64_t i = 0; i < batches * boxes; ++i) {
      const auto y = static_cast<float>(random() % 8), x = static_cast<float>(random() % 8);
      corners.insert(corners.end(), {y, x, y + 1 + static_cast<float>(random() % 4),
                                     x + 1 + static_cast<float>(random() % 4)});
    }
    it.box_values.assign(corners.begin(), corners.end());
    for (int64_t i = 0; i < batches * classes * boxes; ++i)
      it.score_values.push_back(static_cast<double>(random() % 8) / 8);
    Values expected;
    for (int64_t i = 0; i < batches * classes; ++i) {
      std::vector<bool> gone(static_cast<size_t>(boxes));
      for (int64_t taken = 0; taken < it.most; ++taken) {
        int64_t best = -1;
        const auto score = [&](int64_t box) { return it.score_values[static_cast<size_t>(i * boxes + box)]; };
        for (int64_t box = 0; box < boxes; ++box) {
          if (gone[static_cast<size_t>(box)] || (it.score && !(score(box) > *it.score))) continue;
          if (best < 0 || score(box) > score(best)) best = box;
        }
        if (best < 0) break;
        expected.insert(expected.end(), {static_cast<double>(i / classes), static_cast<double>(i % classes),
                                         static_cast<double>(best)});
        const float* all = corners.data() + i / classes * boxes * 4;
        for (int64_t box = 0; box < boxes; ++box)
          if (box == best || intersection_over_union(all + 4 * best, all + 4 * box) > it.overlap)
            gone[static_cast<size_t>(box)] = true;
      }
    }
    EXPECT_EQ(selected(it), expected);
  }
}

// The value between pixels; 0 a pixel or more outside of the image. The weighted corners for the maximum.
struct Mixed {
  double sum = 0, maximum = 0;
};

Mixed between(const double* image, int64_t height, int64_t width, double y, double x) {
  if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width)) return {};
  y = std::clamp(y, 0.0, static_cast<double>(height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  const double top = std::floor(y), left = std::floor(x);
  Mixed mixed = {0, -kInfinity};
  for (int corner = 0; corner < 4; ++corner) {
    const double row = std::min(top + corner / 2, static_cast<double>(height - 1)),
                 column = std::min(left + corner % 2, static_cast<double>(width - 1));
    const double weight =
        (corner / 2 == 1 ? y - top : top + 1 - y) * (corner % 2 == 1 ? x - left : left + 1 - x);
    const double part = weight * image[static_cast<int64_t>(row) * width + static_cast<int64_t>(column)];
    mixed.sum += part;
    mixed.maximum = std::max(mixed.maximum, part);
  }
  return mixed;
}

struct Alignment {
  Extents x, y;
  bool maximum, half_pixel;
  int64_t sampling_ratio;
  double scale;
};

Values aligned(const Alignment& it, const Values& image, const Values& regions, const Values& which) {
  Values expected;
  const double shift = it.half_pixel ? 0.5 : 0;
  for (int64_t i = 0; i < count_of(it.y); ++i) {
    const Extents at = Places{it.y}.at(i);
    const double* corner = regions.data() + 4 * at[0];
    double length[2], start[2], bin[2], samples[2];
    for (int d = 0; d < 2; ++d) {  // down, across
      start[d] = corner[1 - d] * it.scale - shift;
      length[d] = corner[3 - d] * it.scale - shift - start[d];
      if (!it.half_pixel) length[d] = std::max(length[d], 1.0);
      bin[d] = length[d] / static_cast<double>(it.y[static_cast<size_t>(2 + d)]);
      samples[d] =
          it.sampling_ratio > 0 ? static_cast<double>(it.sampling_ratio) : std::max(std::ceil(bin[d]), 0.0);
    }
    double sum = 0, maximum = -kInfinity;
    for (double row = 0; row < samples[0]; ++row) {
      for (double column = 0; column < samples[1]; ++column) {
        const double y = start[0] + (static_cast<double>(at[2]) + (row + 0.5) / samples[0]) * bin[0],
                     x = start[1] + (static_cast<double>(at[3]) + (column + 0.5) / samples[1]) * bin[1];
        const Mixed value = between(
            image.data() + (static_cast<int64_t>(which[static_cast<size_t>(at[0])]) * it.x[1] + at[1]) *
                               it.x[2] * it.x[3],
            it.x[2], it.x[3], y, x);
        sum += value.sum;
        maximum = std::max(maximum, value.maximum);
      }
    }
    const double count = samples[0] * samples[1];
    expected.push_back(count == 0 ? 0 : it.maximum ? maximum : sum / count);
  }
  return expected;
}

TEST(HostRoiAlign, SamplesBinsAsPlainLoopsDo) {
  std::mt19937 random(9);
  for (const int32_t element : kFloats) {
    for (const int64_t sampling_ratio : {0, 1, 3}) {
      for (const int options : {0, 1, 2, 3}) {
        const Alignment it = {{2, 3, 6, 5},     {5, 3, 2, 3},   options % 2 == 1,
                              options / 2 == 1, sampling_ratio, 0.5};
        SCOPED_TRACE(testing::Message()
                     << "element " << element << " ratio " << sampling_ratio << " options " << options);
        Values image, which;
        for (int64_t i = 0; i < count_of(it.x); ++i)
          image.push_back(held(element, static_cast<double>(random() % 64) / 8 - 4));
        for (int i = 0; i < 5; ++i) which.push_back(random() % 2);
        // Inside, across the border, of the size of one pixel, turned round, outside.
        const Values regions = {1, 2, 7.5, 9, -5, -3, 30, 14, 4, 4, 4, 4, 8, 8, 2, 3, 100, 100, 104, 103};
        Tensor x(element, it.x, image), region(element, {5, 4}, regions), batch(TF_ELEMENT_INT64, {5}, which),
            y(element, it.y);
        ASSERT_EQ(call(tf_host_roi_align, tf_host_roi_align_workspace,
                       {it.maximum, it.half_pixel, sampling_ratio, bits_of(it.scale)},
                       {&x, &region, &batch, &y}, options + 1),
                  0);
        const Values expected = aligned(it, image, regions, which), found = y.values();
        const double tolerance = element == TF_ELEMENT_BFLOAT16  ? 0.02
                                 : element == TF_ELEMENT_FLOAT16 ? 0.003
                                                                 : 1e-5;
        for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << i;
      }
    }
  }
}

TEST(HostRoiAlign, IsQuickAndZeroWhereRegionsAreEndlessOrNoNumbers) {
  const Values regions = {-1e30, -1e30, 1e30, 1e30, 0, 0, kInfinity, kInfinity,
                          kNan,  0,     1,    1,    0, 0, 3e9,       3e9};
  for (const bool maximum : {false, true}) {
    Tensor x(TF_ELEMENT_FLOAT32, {1, 1, 2, 2}, {1, 2, 3, 4}), region(TF_ELEMENT_FLOAT32, {4, 4}, regions),
        batch(TF_ELEMENT_INT64, {4}, {0, 0, 0, 0}), y(TF_ELEMENT_FLOAT32, {4, 1, 1, 1});
    ASSERT_EQ(call(tf_host_roi_align, tf_host_roi_align_workspace, {maximum, 0, 0, bits_of(1)},
                   {&x, &region, &batch, &y}),
              0);
    for (const double value : y.values(3)) EXPECT_NEAR(value, 0, 1e-15);
  }
}

TEST(HostRoiAlign, RefusesABatchThatIsNone) {
  for (const double index : {-1.0, 2.0}) {
    Tensor x(TF_ELEMENT_FLOAT32, {2, 1, 1, 1}, {1, 2}), region(TF_ELEMENT_FLOAT32, {1, 4}, {0, 0, 1, 1}),
        batch(TF_ELEMENT_INT64, {1}, {index}), y(TF_ELEMENT_FLOAT32, {1, 1, 1, 1});
    EXPECT_EQ(call(tf_host_roi_align, tf_host_roi_align_workspace, {0, 0, 0, bits_of(1)},
                   {&x, &region, &batch, &y}),
              TF_MODEL_BAD_INDEX);
  }
}

TEST(HostMaxUnpool, PutsElementsAtTheirPlaces) {
  for (const int32_t element : kElements) {
    Tensor x(element, {1, 1, 2, 2}, {1, 2, 3, 4}), indices(TF_ELEMENT_INT64, {1, 1, 2, 2}, {5, 7, 13, 15}),
        y(element, {1, 1, 4, 4});
    ASSERT_EQ(call(tf_host_max_unpool, nullptr, {}, {&x, &indices, &y}), 0);
    Values expected(16);
    for (int i = 0; i < 4; ++i)
      expected[static_cast<size_t>(Values{5, 7, 13, 15}[static_cast<size_t>(i)])] = held(element, i + 1);
    expect_same(y.values(), expected, "element");
  }
  for (const double index : {-1.0, 4.0}) {
    Tensor x(TF_ELEMENT_INT8, {1}, {1}), indices(TF_ELEMENT_INT64, {1}, {index}), y(TF_ELEMENT_INT8, {4});
    EXPECT_EQ(call(tf_host_max_unpool, nullptr, {}, {&x, &indices, &y}), TF_MODEL_BAD_INDEX);
  }
}

}  // namespace
}  // namespace tf::runtime::host_test
