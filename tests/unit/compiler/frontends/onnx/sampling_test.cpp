// DeformConv and MaxRoiPool against plain loops over their definitions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/onnx/node_outputs.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using testing::HasSubstr;
using Doubles = std::vector<double>;
using Shape = std::vector<int64_t>;

size_t count_of(const Shape& shape) {
  size_t count = 1;
  for (int64_t extent : shape) count *= static_cast<size_t>(extent);
  return count;
}

// Of two spatial axes.
struct Deformation {
  Shape x, w;
  Shape strides, dilations, pads;
  int64_t groups = 1, offset_groups = 1;
  bool has_mask = false, has_bias = false;
};

struct DeformedOperands {
  Shape result;
  Doubles x, w, offsets, bias, mask;
};

// Linearly interpolated; zero beyond.
double read(const Deformation& c, const Doubles& x, int64_t image, double v, double u) {
  double sum = 0;
  for (const int64_t row : {static_cast<int64_t>(std::floor(v)), static_cast<int64_t>(std::floor(v)) + 1})
    for (const int64_t column :
         {static_cast<int64_t>(std::floor(u)), static_cast<int64_t>(std::floor(u)) + 1})
      if (row >= 0 && column >= 0 && row < c.x[2] && column < c.x[3])
        sum += x[static_cast<size_t>((image * c.x[2] + row) * c.x[3] + column)] *
               (1 - std::fabs(v - static_cast<double>(row))) *
               (1 - std::fabs(u - static_cast<double>(column)));
  return sum;
}

Doubles deformed(const Deformation& c, const DeformedOperands& o) {
  const int64_t taps = c.w[2] * c.w[3], outs = c.w[0] / c.groups, spread = c.x[1] / c.offset_groups;
  Doubles y;
  for (int64_t n = 0; n < c.x[0]; ++n)
    for (int64_t out = 0; out < c.w[0]; ++out)
      for (int64_t a = 0; a < o.result[2]; ++a)
        for (int64_t b = 0; b < o.result[3]; ++b) {
          double sum = c.has_bias ? o.bias[static_cast<size_t>(out)] : 0;
          for (int64_t i = 0; i < c.w[1]; ++i)
            for (int64_t t = 0; t < taps; ++t) {
              const int64_t channel = out / outs * c.w[1] + i, group = channel / spread;
              const auto at = [&](int64_t plane) {
                return static_cast<size_t>((plane * o.result[2] + a) * o.result[3] + b);
              };
              const int64_t tap = (n * c.offset_groups + group) * taps + t;
              const double v =
                  static_cast<double>(a * c.strides[0] - c.pads[0] + t / c.w[3] * c.dilations[0]) +
                  o.offsets[at(2 * tap)];
              const double u =
                  static_cast<double>(b * c.strides[1] - c.pads[1] + t % c.w[3] * c.dilations[1]) +
                  o.offsets[at(2 * tap + 1)];
              sum += o.w[static_cast<size_t>((out * c.w[1] + i) * taps + t)] *
                     (c.has_mask ? o.mask[at(tap)] : 1) * read(c, o.x, n * c.x[1] + channel, v, u);
            }
          y.push_back(sum);
        }
  return y;
}

OneNode deform_conv(const Deformation& c, DeformedOperands& o, Element element = Element::kFloat32) {
  o.result = {c.x[0], c.w[0]};
  for (size_t d = 0; d < 2; ++d)
    o.result.push_back(
        (c.x[d + 2] + c.pads[d] + c.pads[d + 2] - c.dilations[d] * (c.w[d + 2] - 1) - 1) / c.strides[d] + 1);
  Shape mask = o.result;
  mask[1] = c.offset_groups * c.w[2] * c.w[3];
  Shape offsets = mask;
  offsets[1] *= 2;
  o.x = drawn(count_of(c.x), -1, 1, 1), o.w = drawn(count_of(c.w), -1, 1, 2);
  o.offsets = drawn(count_of(offsets), -2.5, 2.5, 3), o.mask = drawn(count_of(mask), 0, 1, 4);
  o.bias = drawn(static_cast<size_t>(c.w[0]), -1, 1, 5);
  OneNode test{.op_type = "DeformConv",
               .opset = 19,
               .operands = {{element, c.x, o.x}, {element, c.w, o.w}, {element, offsets, o.offsets}, {}, {}},
               .attributes = [=](auto& node) {
                 set(node, "strides", c.strides), set(node, "dilations", c.dilations);
                 set(node, "pads", c.pads), set(node, "group", c.groups);
                 set(node, "offset_group", c.offset_groups);
               }};
  if (c.has_bias) test.operands[3] = {element, {c.w[0]}, o.bias};
  if (c.has_mask) test.operands[4] = {element, mask, o.mask};
  return test;
}

TEST(DeformConv, ReadsWhereItsOffsetsSay) {
  const Deformation cases[] = {
      {{1, 1, 3, 3}, {1, 1, 2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{2, 4, 5, 6}, {6, 4, 3, 2}, {2, 1}, {1, 2}, {1, 0, 1, 2}, 1, 2, true, true},
      {{1, 4, 4, 4}, {6, 2, 1, 3}, {1, 1}, {1, 1}, {0, 1, 0, 1}, 2, 1, true, false},
      {{2, 4, 4, 3}, {4, 2, 2, 2}, {1, 2}, {2, 1}, {1, 1, 1, 1}, 2, 4, false, true},
  };
  for (const Deformation& c : cases) {
    DeformedOperands o;
    const OneNode test = deform_conv(c, o);
    expect_values(node_outputs(test), deformed(c, o), 1e-5);
    EXPECT_EQ((*run_node(test))[0].shape, o.result);
  }
}

TEST(DeformConv, ComputesHalvesAsFloatsAndRefusesWhatDoesNotFit) {
  const Deformation c = {{1, 2, 3, 4}, {2, 2, 2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}};
  DeformedOperands o;
  OneNode test = deform_conv(c, o, Element::kFloat64);
  expect_values(node_outputs(test), deformed(c, o), 1e-12);
  test = deform_conv(c, o, Element::kFloat16);
  expect_values(node_outputs(test), deformed(c, o), 1e-2);
  test = deform_conv(c, o);
  test.operands[2] = {Element::kFloat32, {1, 8, 3, 3}, Doubles(72)};
  EXPECT_THAT(run_node(test).status().message(), HasSubstr("its offsets are f32[1, 8, 3, 3]"));
  test = deform_conv({{1, 3, 3, 4}, {2, 2, 2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}}, o);
  EXPECT_THAT(run_node(test).status().message(), HasSubstr("do not fit f32[1, 3, 3, 4]"));
  test = deform_conv(c, o);
  test.operands[1] = {Element::kFloat32, {2, 2, 4, 2}, Doubles(32)};
  EXPECT_THAT(run_node(test).status().message(), HasSubstr("larger than axis 2"));
}

TEST(MaxRoiPool, GivesTheLargestElementOfEachBin) {
  const Shape shape = {2, 3, 5, 6};
  const Doubles x = drawn(count_of(shape), -9, -1, 6);
  // Image, left, top, right, bottom: within, partly beyond, all beyond, of no size, and between pixels.
  const Doubles regions = {0,  0,  0, 9, 7, 1, 4, 2, 14, 12, 1,   40, 40,
                           50, 50, 0, 5, 5, 2, 2, 1, -3, 1,  4.9, 9.1};
  const int64_t height = 2, width = 3, count = 5;
  const double scale = 0.5;
  Doubles want;
  const auto nearest = [](double v) { return std::round(v); };  // halves away from zero
  for (int64_t r = 0; r < count; ++r)
    for (int64_t c = 0; c < shape[1]; ++c)
      for (int64_t p = 0; p < height; ++p)
        for (int64_t q = 0; q < width; ++q) {
          const double* region = &regions[static_cast<size_t>(r * 5)];
          const auto range = [&](size_t axis, int64_t bin, int64_t bins) {
            const double first = nearest(region[axis] * scale), last = nearest(region[axis + 2] * scale);
            const double size = std::max(last - first + 1, 1.0) / static_cast<double>(bins);
            return std::pair(std::floor(static_cast<double>(bin) * size) + first,
                             std::ceil(static_cast<double>(bin + 1) * size) + first);
          };
          const auto [top, bottom] = range(2, p, height);
          const auto [left, right] = range(1, q, width);
          double largest = -std::numeric_limits<double>::infinity();
          for (int64_t v = 0; v < shape[2]; ++v)
            for (int64_t u = 0; u < shape[3]; ++u)
              if (static_cast<double>(v) >= top && static_cast<double>(v) < bottom &&
                  static_cast<double>(u) >= left && static_cast<double>(u) < right)
                largest = std::max(
                    largest,
                    x[static_cast<size_t>(
                        ((static_cast<int64_t>(region[0]) * shape[1] + c) * shape[2] + v) * shape[3] + u)]);
          want.push_back(std::isinf(largest) ? 0 : largest);
        }
  OneNode test{.op_type = "MaxRoiPool",
               .operands = {{Element::kFloat32, shape, x}, {Element::kFloat32, {count, 5}, regions}},
               .attributes = [=](auto& node) {
                 set(node, "pooled_shape", Shape{height, width}), set(node, "spatial_scale", scale);
               }};
  EXPECT_EQ(node_outputs(test), want);
  test.operands[1].shape = {25, 1};
  EXPECT_THAT(run_node(test).status().message(), HasSubstr("by regions f32[25, 1]"));
  test.operands[1] = {Element::kFloat32, {1, 5}, {2, 0, 0, 1, 1}};
  EXPECT_THAT(run_node(test).status().message(), HasSubstr("index 2 lies outside axis 0"));
}

}  // namespace
}  // namespace tf::onnx
