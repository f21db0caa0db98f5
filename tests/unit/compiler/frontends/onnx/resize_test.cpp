// Resizing, padding, pooling and sampling against plain loops over ONNX's definitions.
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/support/onnx/node_outputs.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Doubles = std::vector<double>;
using Shape = std::vector<int64_t>;

Operand floats(const Shape& shape, const Doubles& values, bool known = false) {
  return {Element::kFloat32, shape, values, known};
}
Operand known_floats(const Doubles& values) {
  return floats({static_cast<int64_t>(values.size())}, values, true);
}
Operand known_ints(const Doubles& values) {
  return {Element::kInt64, {static_cast<int64_t>(values.size())}, values, true};
}
Doubles counting(int64_t count, double first = 0) {
  Doubles values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i);
  return values;
}
Doubles random_values(size_t count, uint64_t seed) {
  std::mt19937_64 generator(seed);
  Doubles values(count);
  for (double& v : values) v = static_cast<double>(generator() % 1024) / 64 - 8;
  return values;
}
void expect_all_near(const Doubles& got, const Doubles& want, double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::fabs(want[i]))) << i;
}

// The place in a row of `from` elements that element o of `to` sees.
using Place = double (*)(double o, double from, double to);

TEST(Resize, NearestPicksTheElementThatEveryModeNames) {
  struct Case {
    const char *coordinates, *rounding;
    Place place;
    double (*rounded)(double);
  };
  const Place half_pixel = [](double o, double from, double to) { return (o + 0.5) * from / to - 0.5; };
  const Place asymmetric = [](double o, double from, double to) { return o * from / to; };
  const Place corners = [](double o, double from, double to) { return o * (from - 1) / (to - 1); };
  const auto prefer_floor = [](double x) { return std::ceil(x - 0.5); };
  const auto prefer_ceil = [](double x) { return std::floor(x + 0.5); };
  const Case cases[] = {{"half_pixel", "round_prefer_floor", half_pixel, prefer_floor},
                        {"half_pixel", "floor", half_pixel, std::floor},
                        {"pytorch_half_pixel", "ceil", half_pixel, std::ceil},
                        {"half_pixel_symmetric", "round_prefer_floor", half_pixel, prefer_floor},
                        {"asymmetric", "round_prefer_ceil", asymmetric, prefer_ceil},
                        {"asymmetric", "floor", asymmetric, std::floor},
                        {"align_corners", "round_prefer_floor", corners, prefer_floor}};
  for (const auto& [coordinates, rounding, place, rounded] : cases) {
    for (const int64_t from : {1, 4, 8}) {
      for (const int64_t to : {2, 4, 8, 16}) {
        SCOPED_TRACE(testing::Message() << coordinates << " " << rounding << " " << from << " to " << to);
        Doubles want;
        for (int64_t o = 0; o < to; ++o) {
          const double at =
              rounded(place(static_cast<double>(o), static_cast<double>(from), static_cast<double>(to)));
          want.push_back(std::clamp(at, 0.0, static_cast<double>(from - 1)));
        }
        EXPECT_EQ(node_outputs({.op_type = "Resize",
                                .opset = 19,
                                .operands = {floats({1, from}, counting(from)),
                                             {},
                                             {},
                                             known_ints({1, static_cast<double>(to)})},
                                .attributes =
                                    [&](auto& node) {
                                      set(node, "coordinate_transformation_mode", coordinates);
                                      set(node, "nearest_mode", rounding);
                                    }}),
                  want);
      }
    }
  }
}

double linear(double t) {
  return std::max(0.0, 1 - std::fabs(t));
}
double cubic(double t) {
  constexpr double a = -0.75;
  t = std::fabs(t);
  if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  return t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
}

// A row by half_pixel: every element of a row that goes on beyond its ends, weighed by its distance.
Doubles interpolated(const Doubles& row, int64_t to, double (*kernel)(double), bool antialias, bool exclude) {
  Doubles result;
  const auto from = static_cast<int64_t>(row.size());
  const double scale = static_cast<double>(to) / static_cast<double>(from),
               shrink = antialias ? std::min(scale, 1.0) : 1;
  for (int64_t o = 0; o < to; ++o) {
    const double x = (static_cast<double>(o) + 0.5) / scale - 0.5;
    double sum = 0, weights = 0;
    for (int64_t i = -40; i < from + 40; ++i) {
      const double weight = kernel((static_cast<double>(i) - x) * shrink);
      if (exclude && (i < 0 || i >= from)) continue;
      sum += weight * row[static_cast<size_t>(std::clamp<int64_t>(i, 0, from - 1))];
      weights += weight;
    }
    result.push_back(sum / weights);
  }
  return result;
}

TEST(Resize, InterpolatesAsTheKernelsSay) {
  for (const bool is_cubic : {false, true}) {
    for (const bool antialias : {false, true}) {
      for (const bool exclude : {false, true}) {
        for (const int64_t to : {1, 2, 3, 7, 14, 30}) {
          SCOPED_TRACE(testing::Message() << is_cubic << antialias << exclude << " to " << to);
          const Doubles row = random_values(7, 5);
          // Two axes: the rows are resized as the columns are, one of which there is.
          expect_all_near(
              node_outputs(
                  {.op_type = "Resize",
                   .opset = 18,
                   .operands = {floats({1, 1, 1, 7}, row), {}, {}, known_ints({static_cast<double>(to)})},
                   .attributes =
                       [&](auto& node) {
                         set(node, "mode", is_cubic ? "cubic" : "linear");
                         set(node, "antialias", antialias);
                         set(node, "exclude_outside", exclude);
                         set(node, "axes", Shape{-1});
                       }}),
              interpolated(row, to, is_cubic ? cubic : linear, antialias, exclude));
        }
      }
    }
  }
}

TEST(Resize, CropsAndExtrapolates) {
  // Places from 0.5 to 4.5 of a row of five: the last lies outside.
  const Doubles y =
      node_outputs({.op_type = "Resize",
                    .opset = 18,
                    .operands = {floats({5}, counting(5)), known_floats({0.125, 1.125}), {}, known_ints({5})},
                    .attributes = [](auto& node) {
                      set(node, "mode", "linear");
                      set(node, "coordinate_transformation_mode", "tf_crop_and_resize");
                      set(node, "extrapolation_value", 9.0);
                    }});
  expect_all_near(y, {0.5, 1.5, 2.5, 3.5, 9});
}

TEST(Resize, RefusesCornersOfExtentsThatAreRounded) {
  const auto resized = [](double scale) {
    return run_node(
        {.op_type = "Resize",
         .operands = {floats({5}, counting(5)), {}, known_floats({scale})},
         .attributes = [](auto& node) { set(node, "coordinate_transformation_mode", "align_corners"); }});
  };
  EXPECT_TRUE(resized(0.6).ok());
  EXPECT_THAT(std::string(resized(0.5).status().message()), testing::HasSubstr("give sizes"));
}

TEST(Resize, KeepsAspectRatios) {
  const auto shape_of = [](const char* policy) {
    const auto y =
        run_node({.op_type = "Resize",
                  .opset = 18,
                  .operands = {floats({2, 4}, counting(8)), {}, {}, known_ints({7, 8})},
                  .attributes = [&](auto& node) { set(node, "keep_aspect_ratio_policy", policy); }});
    return y.ok() ? (*y)[0].shape : Shape{};
  };
  EXPECT_EQ(shape_of("not_larger"), (Shape{4, 8}));
  EXPECT_EQ(shape_of("not_smaller"), (Shape{7, 14}));
  EXPECT_EQ(shape_of("stretch"), (Shape{7, 8}));
  EXPECT_EQ(shape_of("none"), (Shape{}));
}

TEST(Pad, GoesOnAroundTheBorders) {
  struct Case {
    const char* mode;
    Doubles pads, want;
  };
  const Case cases[] = {{"reflect", {2, 3}, {2, 1, 0, 1, 2, 3, 2, 1, 0}},
                        {"reflect", {5, 0}, {1, 2, 3, 2, 1, 0, 1, 2, 3}},
                        {"edge", {2, 1}, {0, 0, 0, 1, 2, 3, 3}},
                        {"wrap", {1, 5}, {3, 0, 1, 2, 3, 0, 1, 2, 3, 0}},
                        {"constant", {1, 1}, {7, 0, 1, 2, 3, 7}},
                        {"constant", {-1, 2}, {1, 2, 3, 7, 7}},
                        {"edge", {2, -2}, {0, 0, 0, 1}},
                        {"constant", {-2, -2}, {}}};
  for (const auto& [mode, pads, want] : cases) {
    for (const Element element : {Element::kFloat32, Element::kInt64, Element::kUInt8}) {
      for (const bool known : {false, true}) {
        SCOPED_TRACE(testing::Message() << mode << " of " << tensor::element_name(element) << known);
        EXPECT_EQ(
            node_outputs(
                {.op_type = "Pad",
                 .operands = {{element, {4}, counting(4)}, known_ints(pads), {element, {1}, {7}, known}},
                 .attributes = [&](auto& node) { set(node, "mode", mode); }}),
            want);
      }
    }
  }
}

TEST(Pool, SaysWhereTheGreatestLies) {
  const Operand x = floats({1, 1, 3, 3}, {1, 5, 2, 5, 0, 3, 4, 4, 9});
  const auto places = [&](int order) {
    return node_outputs({.op_type = "MaxPool",
                         .operands = {x},
                         .attributes =
                             [&](auto& node) {
                               set(node, "kernel_shape", Shape{2, 2});
                               set(node, "pads", Shape{1, 0, 0, 0});
                               set(node, "storage_order", order);
                             },
                         .outputs = 2},
                        1);
  };
  EXPECT_EQ(places(0), (Doubles{1, 1, 1, 1, 3, 8}));
  EXPECT_EQ(places(1), (Doubles{3, 3, 3, 3, 1, 8}));
}

TEST(Pool, TakesNorms) {
  const Operand x = floats({1, 1, 4}, {3, -4, 1, 2});
  const auto norm = [&](const char* op, int p) {
    return node_outputs({.op_type = op, .operands = {x}, .attributes = [&](auto& node) {
                           set(node, "p", p);
                           if (std::string(op) == "LpPool")
                             set(node, "kernel_shape", Shape{2}), set(node, "strides", Shape{2});
                         }});
  };
  expect_all_near(norm("LpPool", 1), {7, 3});
  expect_all_near(norm("LpPool", 2), {5, std::sqrt(5.0)});
  expect_all_near(norm("LpPool", 3), {std::cbrt(91.0), std::cbrt(9.0)});
  expect_all_near(norm("GlobalLpPool", 2), {std::sqrt(30.0)});
}

TEST(GridSample, ReadsBetweenElementsAndBeyondBorders) {
  // One row; with align_corners, -1 and 1 are the first and the last element, so place = (v + 1) * 1.5.
  const auto sample = [](const char* mode, const char* padding, const Doubles& places) {
    Doubles grid;
    for (double place : places) grid.insert(grid.end(), {place / 1.5 - 1, 0});
    return node_outputs({.op_type = "GridSample",
                         .opset = 20,
                         .operands = {floats({1, 1, 1, 4}, {10, 20, 40, 80}),
                                      floats({1, 1, static_cast<int64_t>(places.size()), 2}, grid)},
                         .attributes = [&](auto& node) {
                           set(node, "mode", mode);
                           set(node, "padding_mode", padding);
                           set(node, "align_corners", 1);
                         }});
  };
  expect_all_near(sample("linear", "zeros", {0, 0.5, 2.25, -0.5, 3.75, -2}), {10, 15, 50, 5, 20, 0}, 1e-5);
  expect_all_near(sample("linear", "border", {-0.5, 3.75, -9}), {10, 80, 10}, 1e-5);
  expect_all_near(sample("linear", "reflection", {-0.5, 3.5, -3.5, 6.5}), {15, 60, 60, 15}, 1e-5);
  expect_all_near(sample("nearest", "zeros", {0.25, 1.75, -0.75}), {10, 40, 0}, 1e-5);
  EXPECT_FALSE(run_node({.op_type = "GridSample",
                         .opset = 20,
                         .operands = {floats({1, 1, 1, 4}, {1, 2, 3, 4}), floats({1, 1, 1, 3}, {0, 0, 0})}})
                   .ok());
}

TEST(AffineGrid, TurnsPlacesByMatrices) {
  const Doubles y =
      node_outputs({.op_type = "AffineGrid",
                    .opset = 20,
                    .operands = {floats({1, 2, 3}, {2, 0, 0.5, 0, 1, 0}), known_ints({1, 1, 2, 2})},
                    .attributes = [](auto& node) { set(node, "align_corners", 1); }});
  expect_all_near(y, {-1.5, -1, 2.5, -1, -1.5, 1, 2.5, 1});
}

}  // namespace
}  // namespace tf::onnx
