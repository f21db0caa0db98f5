// Operators that move elements, and transposed convolutions, against plain loops over ONNX's definitions.
#include <algorithm>
#include <numeric>
#include <random>

#include "tests/support/onnx/node_outputs.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using testing::HasSubstr;
using Doubles = std::vector<double>;
using Shape = std::vector<int64_t>;

Doubles ascending(const Shape& shape) {
  Doubles values(
      static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())));
  std::iota(values.begin(), values.end(), 0);
  return values;
}
Operand counted(const Shape& shape, Element element = Element::kFloat32) {
  return {element, shape, ascending(shape)};
}
Operand whole(const Shape& shape, const Doubles& values, bool known = true) {
  return {Element::kInt64, shape, values, known};
}
Operand list(const Doubles& values) {
  return whole({static_cast<int64_t>(values.size())}, values);
}

struct Deconvolution {
  Shape x, w;  // [C, spatial…], [C, M / groups, kernel…] with as many axes, one or two
  Shape strides, dilations, pads, more;
  int64_t groups = 1;
};

// Adds every product where it belongs, along two axes.
Doubles scattered(const Deconvolution& c, const Doubles& x, const Doubles& w, Shape& shape) {
  const int64_t each = c.w[1], m = each * c.groups, in = c.x[0] / c.groups;
  shape = {m};
  for (size_t d = 0; d < 2; ++d)
    shape.push_back(c.strides[d] * (c.x[d + 1] - 1) + c.dilations[d] * (c.w[d + 2] - 1) + 1 + c.more[d] -
                    c.pads[d] - c.pads[d + 2]);
  Doubles y(static_cast<size_t>(shape[0] * shape[1] * shape[2]));
  for (int64_t g = 0; g < c.groups; ++g)
    for (int64_t i = g * in; i < (g + 1) * in; ++i)
      for (int64_t o = 0; o < each; ++o)
        for (int64_t a = 0; a < c.x[1]; ++a)
          for (int64_t b = 0; b < c.x[2]; ++b)
            for (int64_t p = 0; p < c.w[2]; ++p)
              for (int64_t q = 0; q < c.w[3]; ++q) {
                const int64_t u = a * c.strides[0] + p * c.dilations[0] - c.pads[0];
                const int64_t v = b * c.strides[1] + q * c.dilations[1] - c.pads[1];
                if (u < 0 || v < 0 || u >= shape[1] || v >= shape[2]) continue;
                y[static_cast<size_t>(((g * each + o) * shape[1] + u) * shape[2] + v)] +=
                    x[static_cast<size_t>((i * c.x[1] + a) * c.x[2] + b)] *
                    w[static_cast<size_t>(((i * each + o) * c.w[2] + p) * c.w[3] + q)];
              }
  return y;
}

TEST(ConvTranspose, AddsEveryProductWhereItBelongs) {
  const Deconvolution cases[] = {
      {{2, 3, 4}, {2, 3, 4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}},     // phases of one size
      {{2, 3, 4}, {2, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {1, 1}},     // of several
      {{1, 2, 3}, {1, 2, 2, 5}, {3, 2}, {1, 1}, {0, 1, 0, 2}, {2, 0}},     // a kernel smaller than its stride
      {{2, 4, 3}, {2, 2, 3, 2}, {1, 1}, {2, 1}, {3, 0, 1, 1}, {0, 0}},     // dilated, no stride
      {{2, 3, 3}, {2, 2, 3, 2}, {2, 1}, {2, 3}, {0, 0, 0, 0}, {0, 0}},     // dilated and strided
      {{4, 3, 3}, {4, 2, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 1}, 2},  // groups
      {{4, 3, 3}, {4, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}, 4},  // a channel a group
      {{1, 6, 5}, {1, 1, 2, 3}, {1, 2}, {1, 1}, {4, 6, 0, 0}, {0, 0}},     // more padding than kernel
  };
  std::mt19937_64 generator(3);
  for (size_t k = 0; k < std::size(cases); ++k) {
    SCOPED_TRACE(k);
    const Deconvolution& c = cases[k];
    Doubles x = ascending(c.x), w = ascending(c.w);
    for (Doubles* values : {&x, &w})
      for (double& v : *values) v = static_cast<double>(generator() % 9) - 4;
    Shape shape, batch = c.x;
    const Doubles want = scattered(c, x, w, shape);
    batch.insert(batch.begin(), 1);
    const auto y =
        run_node({.op_type = "ConvTranspose",
                  .operands = {{Element::kFloat32, batch, x}, {Element::kFloat32, c.w, w, k % 2 == 0}},
                  .attributes = [&](auto& node) {
                    set(node, "strides", c.strides), set(node, "dilations", c.dilations),
                        set(node, "pads", c.pads);
                    set(node, "output_padding", c.more), ModelWriter::set(node, "group", c.groups);
                  }});
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ((*y)[0].shape, (Shape{1, shape[0], shape[1], shape[2]}));
    EXPECT_EQ(numbers((*y)[0]), want);
  }
}

TEST(ConvTranspose, PadsAsItsOutputShapeSays) {
  const auto first = [](const char* auto_pad) {
    return node_outputs(
        {.op_type = "ConvTranspose",
         .operands = {{Element::kFloat32, {1, 1, 2}, {1, 10}}, {Element::kFloat32, {1, 1, 3}, {1, 2, 3}}},
         .attributes = [&](auto& node) {
           set(node, "output_shape", Shape{3}), set(node, "auto_pad", auto_pad);
         }});
  };
  // All is 1, 12, 23, 30: an odd element is left out at the end, or at the beginning.
  EXPECT_EQ(first("SAME_UPPER"), (Doubles{1, 12, 23}));
  EXPECT_EQ(first("SAME_LOWER"), (Doubles{12, 23, 30}));
}

TEST(Col2Im, AddsOverlappingBlocks) {
  // Blocks of two by one in an image of three by one, each element its number.
  EXPECT_EQ(
      node_outputs(
          {.op_type = "Col2Im", .opset = 18, .operands = {counted({1, 2, 2}), list({3, 1}), list({2, 1})}}),
      (Doubles{0, 1 + 2, 3}));
}

TEST(DepthToSpace, PutsChannelsBetweenElements) {
  const auto of = [](const char* mode) {
    return node_outputs(
        {.op_type = "DepthToSpace", .operands = {counted({1, 8, 1, 1})}, .attributes = [&](auto& node) {
           set(node, "blocksize", 2), set(node, "mode", mode);
         }});
  };
  EXPECT_EQ(of("DCR"), (Doubles{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(of("CRD"), (Doubles{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(node_outputs({.op_type = "SpaceToDepth",
                          .operands = {counted({1, 1, 2, 4})},
                          .attributes = [](auto& node) { set(node, "blocksize", 2); }}),
            (Doubles{0, 2, 1, 3, 4, 6, 5, 7}));
}

TEST(Tile, RepeatsAxes) {
  EXPECT_EQ(node_outputs({.op_type = "Tile", .operands = {counted({2, 2}), list({2, 2})}}),
            (Doubles{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
  const auto none = run_node({.op_type = "Tile", .operands = {counted({2, 3}), list({0, 2})}});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ((*none)[0].shape, (Shape{0, 6}));
}

TEST(Trilu, KeepsOneTriangle) {
  const auto of = [](int upper, double k, bool known) {
    return node_outputs({.op_type = "Trilu",
                         .operands = {counted({2, 3}, Element::kInt64), whole({}, {k}, known)},
                         .attributes = [&](auto& node) { set(node, "upper", upper); }});
  };
  for (const bool known : {false, true}) {
    EXPECT_EQ(of(1, 0, known), (Doubles{0, 1, 2, 0, 4, 5}));
    EXPECT_EQ(of(1, 1, known), (Doubles{0, 1, 2, 0, 0, 5}));
    EXPECT_EQ(of(0, -1, known), (Doubles{0, 0, 0, 3, 0, 0}));
    EXPECT_EQ(of(0, 9e18, known), (Doubles{0, 1, 2, 3, 4, 5}));
  }
}

TEST(EyeLike, HasOnesOnADiagonal) {
  EXPECT_EQ(node_outputs({.op_type = "EyeLike",
                          .operands = {counted({2, 3})},
                          .attributes = [](auto& node) { set(node, "k", 1), set(node, "dtype", 7); }}),
            (Doubles{0, 1, 0, 0, 0, 1}));
}

TEST(OneHot, IsOnWhereTheIndexSays) {
  const auto of = [](int axis) {
    return node_outputs(
        {.op_type = "OneHot",
         .operands = {whole({3}, {1, -1, 7}, false), whole({}, {3}), {Element::kFloat32, {2}, {5, 9}}},
         .attributes = [&](auto& node) { set(node, "axis", axis); }});
  };
  EXPECT_EQ(of(-1), (Doubles{5, 9, 5, 5, 5, 9, 5, 5, 5}));
  EXPECT_EQ(of(0), (Doubles{5, 5, 5, 9, 5, 5, 5, 9, 5}));
}

TEST(Gather, OfElementsAndTuplesChecksEveryIndex) {
  for (const bool known : {false, true}) {
    const auto elements = [&](const Doubles& indices) {
      return run_node({.op_type = "GatherElements",
                       .operands = {counted({2, 3}), whole({1, 2}, indices, known)},
                       .attributes = [](auto& node) { set(node, "axis", 0); }});
    };
    EXPECT_EQ(numbers((*elements({-1, 0}))[0]), (Doubles{3, 1}));
    EXPECT_THAT(std::string(elements({0, 2}).status().message()), HasSubstr("index"));
    const auto tuples = [&](const Doubles& indices) {
      return run_node({.op_type = "GatherND", .operands = {counted({2, 3}), whole({2, 2}, indices, known)}});
    };
    EXPECT_EQ(numbers((*tuples({0, -1, 1, 0}))[0]), (Doubles{2, 3}));
    // Within the tensor, but outside the axis.
    EXPECT_THAT(std::string(tuples({0, 3, 1, 0}).status().message()), HasSubstr("index"));
    EXPECT_EQ(node_outputs({.op_type = "GatherND",
                            .operands = {counted({2, 2, 2}), whole({2, 1}, {1, 0}, known)},
                            .attributes = [](auto& node) { set(node, "batch_dims", 1); }}),
              (Doubles{2, 3, 4, 5}));
  }
}

TEST(ReverseSequence, TurnsTheBeginningOfEachRow) {
  EXPECT_EQ(
      node_outputs({.op_type = "ReverseSequence",
                    .operands = {counted({2, 3}), whole({2}, {3, 2}, false)},
                    .attributes = [](auto& node) { set(node, "batch_axis", 0), set(node, "time_axis", 1); }}),
      (Doubles{2, 1, 0, 4, 3, 5}));
}

TEST(CenterCropPad, KeepsTheMiddle) {
  EXPECT_EQ(node_outputs({.op_type = "CenterCropPad",
                          .operands = {counted({2, 4}), list({5, 1})},
                          .attributes =
                              [](auto& node) {
                                set(node, "axes", Shape{0, -1});
                              }}),
            (Doubles{0, 1, 5, 0, 0}));
}

TEST(Movement, OfNothingGivesNothing) {
  const auto shape_of = [](const OneNode& node) {
    const auto y = run_node(node);
    EXPECT_TRUE(y.ok()) << node.op_type << ": " << y.status();
    return y.ok() ? (*y)[0].shape : Shape{-1};
  };
  EXPECT_EQ(shape_of({.op_type = "Slice", .operands = {counted({3}), list({2}), list({1})}}), (Shape{0}));
  EXPECT_EQ(shape_of({.op_type = "Slice",
                      .operands = {counted({0, 2}), list({-1}), list({-9}), list({0}), list({-1})}}),
            (Shape{0, 2}));
  EXPECT_EQ(shape_of({.op_type = "Expand", .operands = {counted({1, 2}), list({0, 2})}}), (Shape{0, 2}));
  EXPECT_EQ(shape_of({.op_type = "Reshape",
                      .operands = {counted({0, 4}), list({4, 0})},
                      .attributes = [](auto& node) { set(node, "allowzero", 1); }}),
            (Shape{4, 0}));
  EXPECT_EQ(shape_of({.op_type = "Split", .operands = {counted({2}), list({0, 2})}, .outputs = 2}),
            (Shape{0}));
  EXPECT_EQ(shape_of({.op_type = "Pad", .operands = {counted({0}), list({1, 1})}}), (Shape{2}));
}

}  // namespace
}  // namespace tf::onnx
