// Operators that host functions of the runtime compute: the forms that import knows, against values by hand.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "tests/support/onnx/node_outputs.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using testing::HasSubstr;
using Doubles = std::vector<double>;

constexpr auto kF32 = Element::kFloat32;
constexpr auto kI32 = Element::kInt32;
constexpr auto kI64 = Element::kInt64;

std::string refusal(const OneNode& test) {
  return std::string(run_node(test).status().message());
}

std::vector<int64_t> shape_of(const OneNode& test, size_t i = 0) {
  const auto all = run_node(test);
  EXPECT_TRUE(all.ok()) << all.status();
  return all.ok() ? (*all)[i].shape : std::vector<int64_t>{-1};
}

OneNode scatter(const char* op_type, int opset, Element index, const char* reduction = nullptr,
                int axis = 0) {
  return {.op_type = op_type,
          .opset = opset,
          .operands = {{kF32, {3, 3}, Doubles(9, 2)},
                       {index, {2, 3}, {1, 0, 2, 0, 2, 1}},
                       {kF32, {2, 3}, {1, 10, 12, 20, -1, 22}}},
          .attributes = [=](auto& node) {
            if (reduction) set(node, "reduction", reduction);
            if (axis != 0) set(node, "axis", axis);
          }};
}

TEST(HostFunctions, ScatterElementsAlongAnAxis) {
  const Doubles put = {20, 10, 2, 1, 2, 22, 2, -1, 12};
  EXPECT_EQ(node_outputs(scatter("Scatter", 9, kI64)), put);
  EXPECT_EQ(node_outputs(scatter("ScatterElements", 11, kI32)), put);
  EXPECT_EQ(node_outputs(scatter("ScatterElements", 16, kI64, "none")), put);
  EXPECT_EQ(node_outputs(scatter("ScatterElements", 16, kI64, "add")),
            (Doubles{22, 12, 2, 3, 2, 24, 2, 1, 14}));
  EXPECT_EQ(node_outputs(scatter("ScatterElements", 16, kI64, "mul")),
            (Doubles{40, 20, 2, 2, 2, 44, 2, -2, 24}));
  EXPECT_EQ(node_outputs(scatter("ScatterElements", 18, kI64, "min")), (Doubles{2, 2, 2, 1, 2, 2, 2, -1, 2}));
  EXPECT_EQ(node_outputs(scatter("ScatterElements", 18, kI64, "max")),
            (Doubles{20, 10, 2, 2, 2, 22, 2, 2, 12}));
  EXPECT_EQ(node_outputs(scatter("ScatterElements", 18, kI64, nullptr, -1)),
            (Doubles{10, 1, 12, 20, 22, -1, 2, 2, 2}));
}

TEST(HostFunctions, ScatterElementsInTheOrderOfUpdates) {
  OneNode test = {
      .op_type = "ScatterElements",
      .operands = {{kI64, {1, 5}, {1, 2, 3, 4, 5}}, {kI64, {1, 3}, {1, -4, 1}}, {kI64, {1, 3}, {7, 8, 9}}},
      .attributes = [](auto& node) { set(node, "axis", 1); }};
  EXPECT_EQ(node_outputs(test), (Doubles{1, 9, 3, 4, 5}));
  for (Operand& operand : test.operands) operand.known = true;  // computed when the model is read
  EXPECT_EQ(node_outputs(test), (Doubles{1, 9, 3, 4, 5}));
}

TEST(HostFunctions, ScatterRefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal(scatter("ScatterElements", 16, kI64, "min")),
              HasSubstr("set 16 has no reduction 'min'"));
  EXPECT_THAT(refusal(scatter("ScatterElements", 18, kI64, "sum")), HasSubstr("has no reduction 'sum'"));
  EXPECT_THAT(refusal(scatter("ScatterElements", 18, kF32)), HasSubstr("not i32 or i64"));
  EXPECT_THAT(refusal(scatter("ScatterElements", 18, kI64, nullptr, 2)),
              HasSubstr("axis 2 of a tensor of rank 2"));
  OneNode test = scatter("ScatterElements", 18, kI64);
  test.operands[0] = {kF32, {3, 2}, Doubles(6, 0)};
  EXPECT_THAT(refusal(test), HasSubstr("longer along axis 1 than the data"));
  test.operands[0] = {kF32, {3}, Doubles(3, 0)};
  EXPECT_THAT(refusal(test), HasSubstr("indices have rank 2, the data 1"));
  test.operands[0] = {kI32, {3, 3}, Doubles(9, 0)};
  EXPECT_THAT(refusal(test), HasSubstr("updates are f32[2, 3], the data i32[3, 3]"));
  test = scatter("ScatterElements", 18, kI64);
  test.operands[1].values[0] = 3;
  EXPECT_THAT(refusal(test), HasSubstr("an index lies outside the axis"));
}

TEST(HostFunctions, ScatterSlices) {
  const auto nd = [](std::vector<int64_t> shape, Doubles indices, std::vector<int64_t> updates,
                     const char* reduction) {
    const int64_t count = std::accumulate(updates.begin(), updates.end(), int64_t{1}, std::multiplies<>());
    Doubles values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(10 + i));
    return OneNode{
        .op_type = "ScatterND",
        .opset = 18,
        .operands = {{kF32, {3, 2}, {1, 2, 3, 4, 5, 6}}, {kI64, shape, indices}, {kF32, updates, values}},
        .attributes = [=](auto& node) {
          if (reduction) set(node, "reduction", reduction);
        }};
  };
  EXPECT_EQ(node_outputs(nd({2, 1}, {2, 0}, {2, 2}, nullptr)), (Doubles{12, 13, 3, 4, 10, 11}));
  EXPECT_EQ(node_outputs(nd({2, 1}, {-1, -1}, {2, 2}, "add")), (Doubles{1, 2, 3, 4, 27, 30}));
  EXPECT_EQ(node_outputs(nd({2, 2}, {2, 0, 0, 1}, {2}, "mul")), (Doubles{1, 22, 3, 4, 50, 6}));
  EXPECT_EQ(node_outputs(nd({2, 2}, {2, 0, 0, 1}, {2}, "min")), (Doubles{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(node_outputs(nd({1, 1, 2}, {0, 0}, {1, 1}, "max")), (Doubles{10, 2, 3, 4, 5, 6}));
  EXPECT_THAT(refusal(nd({2, 1}, {0, 0}, {2}, nullptr)), HasSubstr("updates are f32[2], not f32[2, 2]"));
  EXPECT_THAT(refusal(nd({1, 3}, {0, 0, 0}, {1}, nullptr)), HasSubstr("3 indices of an element of rank 2"));
  EXPECT_THAT(refusal(nd({1, 2}, {0, 2}, {1}, nullptr)), HasSubstr("an index lies outside the axis"));
}

// Whatever operator: of constants only, nothing is left to compute.
TEST(Constants, AreFoldedByEveryOperator) {
  const Operand matrix{kF32, {2, 2}, {1, 2, 3, 4}, true}, image{kF32, {1, 1, 2, 2}, {1, 2, 3, 4}, true},
      weights{kF32, {1, 1, 1, 1}, {2}, true}, place{kI64, {1, 2}, {0, 1}, true}, scale{kF32, {}, {0.5}, true},
      row{kF32, {2}, {1, 2}, true};
  const auto list = [](Doubles values) {
    return Operand{kI64, {std::ssize(values)}, std::move(values), true};
  };
  const auto axis = [](const char* name, int value) { return [=](auto& node) { set(node, name, value); }; };
  const OneNode cases[] = {
      {.op_type = "Trilu", .operands = {matrix}},
      {.op_type = "Tile", .operands = {matrix, list({2, 2})}},
      {.op_type = "Mod", .operands = {matrix, scale}, .attributes = axis("fmod", 1)},
      {.op_type = "ScatterND", .operands = {matrix, place, {kF32, {1}, {9}, true}}},
      {.op_type = "ScatterElements",
       .operands = {matrix, {kI64, {1, 2}, {0, 1}, true}, {kF32, {1, 2}, {8, 9}, true}}},
      {.op_type = "GatherND", .operands = {matrix, place}},
      {.op_type = "GatherElements", .operands = {matrix, place}},
      {.op_type = "CumSum", .operands = {matrix, {kI64, {}, {0}, true}}},
      {.op_type = "Resize", .operands = {image, {}, {kF32, {4}, {1, 1, 2, 2}, true}}},
      {.op_type = "Einsum",
       .operands = {matrix, matrix},
       .attributes = [](auto& node) { set(node, "equation", "ij,jk->ik"); }},
      {.op_type = "Conv", .operands = {image, weights}},
      {.op_type = "ConvTranspose", .operands = {image, weights}},
      {.op_type = "MaxPool",
       .operands = {image},
       .attributes =
           [](auto& node) {
             set(node, "kernel_shape", std::vector<int64_t>{2, 2});
           }},
      {.op_type = "Softmax", .operands = {matrix}},
      {.op_type = "LayerNormalization", .operands = {matrix, row}},
      {.op_type = "ArgMax", .operands = {matrix}},
      {.op_type = "OneHot", .operands = {list({0, 2}), {kI64, {}, {3}, true}, row}},
      {.op_type = "QuantizeLinear", .operands = {matrix, scale}},
      {.op_type = "NonZero", .operands = {matrix}},
      {.op_type = "Unique", .operands = {matrix}},
      {.op_type = "Det", .operands = {matrix}},
      {.op_type = "BitShift",
       .operands = {{Element::kUInt8, {2}, {1, 2}, true}, {Element::kUInt8, {2}, {3, 4}, true}},
       .attributes = [](auto& node) { set(node, "direction", "LEFT"); }},
      {.op_type = "DepthToSpace",
       .operands = {{kF32, {1, 4, 1, 1}, {1, 2, 3, 4}, true}},
       .attributes = axis("blocksize", 2)},
  };
  for (const OneNode& test : cases) {
    const absl::StatusOr<graph::Graph> graph = optimized_node(test);
    ASSERT_TRUE(graph.ok()) << test.op_type << ": " << graph.status();
    for (const graph::Node& node : graph->nodes)
      EXPECT_TRUE(graph::as<graph::Constant>(node)) << test.op_type << " leaves " << graph::op_name(node.op);
  }
}

OneNode cumulative(Element element, double axis, bool exclusive, bool reverse) {
  return {.op_type = "CumSum",
          .operands = {{element, {2, 3}, {1, 2, 3, 4, 5, 6}}, {kI32, {}, {axis}, true}},
          .attributes = [=](auto& node) {
            set(node, "exclusive", exclusive ? 1 : 0), set(node, "reverse", reverse ? 1 : 0);
          }};
}

TEST(HostFunctions, CumulativeSums) {
  for (const Element element : {kF32, Element::kFloat64, Element::kFloat16, kI32, kI64}) {
    EXPECT_EQ(node_outputs(cumulative(element, 1, false, false)), (Doubles{1, 3, 6, 4, 9, 15}));
    EXPECT_EQ(node_outputs(cumulative(element, -2, false, false)), (Doubles{1, 2, 3, 5, 7, 9}));
    EXPECT_EQ(node_outputs(cumulative(element, -1, true, false)), (Doubles{0, 1, 3, 0, 4, 9}));
    EXPECT_EQ(node_outputs(cumulative(element, 1, false, true)), (Doubles{6, 5, 3, 15, 11, 6}));
    EXPECT_EQ(node_outputs(cumulative(element, 0, true, true)), (Doubles{4, 5, 6, 0, 0, 0}));
  }
  OneNode test = cumulative(kF32, 0, false, false);
  test.operands[1].known = false;
  EXPECT_THAT(refusal(test), HasSubstr("axis"));
  EXPECT_THAT(refusal(cumulative(kF32, 2, false, false)), HasSubstr("axis 2 of a tensor of rank 2"));
  EXPECT_THAT(refusal(cumulative(Element::kInt8, 0, false, false)), HasSubstr("takes no i8"));
}

TEST(HostFunctions, CumulativeProducts) {
  for (const Element element : {kF32, Element::kFloat64, Element::kFloat16, kI32, kI64}) {
    const auto products = [&](double axis, bool exclusive, bool reverse, bool known = false) {
      OneNode test = cumulative(element, axis, exclusive, reverse);
      test.op_type = "CumProd", test.opset = 26;
      test.operands[0].known = known;  // then it is computed when the model is read
      return node_outputs(test);
    };
    EXPECT_EQ(products(1, false, false), (Doubles{1, 2, 6, 4, 20, 120}));
    EXPECT_EQ(products(-2, false, false, true), (Doubles{1, 2, 3, 4, 10, 18}));
    EXPECT_EQ(products(1, true, true), (Doubles{6, 3, 1, 30, 6, 1}));
  }
}

TEST(HostFunctions, BitCastKeepsBits) {
  const auto bits = [](Operand x, Element to) {
    return OneNode{
        .op_type = "BitCast", .opset = 26, .operands = {std::move(x)}, .attributes = [=](auto& node) {
          set(node, "to", onnx_type(to));
        }};
  };
  for (const bool known : {false, true}) {
    EXPECT_EQ(node_outputs(bits({kF32, {2}, {1, -2}, known}, Element::kUInt32)),
              (Doubles{0x3f800000, 0xc0000000}));
    EXPECT_EQ(node_outputs(bits({kI64, {1}, {0x3ff8000000000000}, known}, Element::kFloat64)), Doubles{1.5});
    EXPECT_EQ(node_outputs(bits({Element::kUInt16, {1}, {0xffff}, known}, Element::kInt16)), Doubles{-1});
  }
  EXPECT_THAT(refusal(bits({kF32, {2}, {1, 2}}, kI64)), HasSubstr("whose elements have another size"));
}

TEST(HostFunctions, TensorScatterPutsRowsIntoACache) {
  const auto cache = [](std::optional<Doubles> places, const char* mode, int axis,
                        std::vector<int64_t> update) {
    Doubles values(static_cast<size_t>(update[0] * update[1] * update[2]));
    std::iota(values.begin(), values.end(), 1);
    OneNode test{.op_type = "TensorScatter",
                 .operands = {{kF32, {2, 3, 2}, Doubles(12)}, {kF32, update, values}},
                 .attributes = [=](auto& node) { set(node, "mode", mode), set(node, "axis", axis); }};
    if (places) test.operands.push_back({kI64, {2}, *places});
    return test;
  };
  EXPECT_EQ(node_outputs(cache(Doubles{1, 0}, "linear", -2, {2, 2, 2})),
            (Doubles{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0}));
  EXPECT_EQ(node_outputs(cache(Doubles{2, 1}, "circular", 1, {2, 2, 2})),
            (Doubles{3, 4, 0, 0, 1, 2, 0, 0, 5, 6, 7, 8}));
  EXPECT_EQ(node_outputs(cache({}, "linear", 2, {2, 3, 1})), (Doubles{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}));
  EXPECT_THAT(refusal(cache(Doubles{2, 1}, "linear", 1, {2, 2, 2})), HasSubstr("an index lies outside"));
  EXPECT_THAT(refusal(cache({}, "linear", 0, {2, 3, 2})), HasSubstr("along axis 0"));
  EXPECT_THAT(refusal(cache({}, "ring", 1, {2, 3, 2})), HasSubstr("its mode is 'ring'"));
  EXPECT_THAT(refusal(cache({}, "linear", 1, {2, 3, 1})), HasSubstr("its update is f32[2, 3, 1]"));
}

TEST(HostFunctions, Determinants) {
  EXPECT_EQ(node_outputs({.op_type = "Det", .operands = {{kF32, {2, 2, 2}, {1, 2, 3, 4, 2, 0, 0, 3}}}}),
            (Doubles{-2, 6}));
  Doubles upper(36);
  for (size_t row = 0; row < 6; ++row)
    for (size_t column = row; column < 6; ++column) upper[row * 6 + column] = column == row ? 2 : 1;
  EXPECT_EQ(node_outputs({.op_type = "Det", .operands = {{Element::kFloat64, {6, 6}, upper}}}), Doubles{64});
  EXPECT_THAT(refusal({.op_type = "Det", .operands = {{kF32, {2, 3}, Doubles(6, 1)}}}),
              HasSubstr("square matrices"));
}

TEST(HostFunctions, TopK) {
  const Operand x = {kF32, {2, 3}, {1, 3, 2, 5, 5, 4}}, k = {kI64, {1}, {2}, true};
  const auto top = [&](int axis, int largest) {
    return OneNode{.op_type = "TopK",
                   .operands = {x, k},
                   .attributes = [=](auto& node) { set(node, "axis", axis), set(node, "largest", largest); },
                   .outputs = 2};
  };
  EXPECT_EQ(node_outputs(top(1, 1)), (Doubles{3, 2, 5, 5}));
  EXPECT_EQ(node_outputs(top(1, 1), 1), (Doubles{1, 2, 0, 1}));
  EXPECT_EQ(node_outputs(top(-1, 0), 1), (Doubles{0, 2, 2, 0}));
  EXPECT_EQ(node_outputs(top(0, 0)), (Doubles{1, 3, 2, 5, 5, 4}));
  EXPECT_EQ(node_outputs({.op_type = "TopK",
                          .opset = 1,
                          .operands = {x},
                          .attributes = [](auto& node) { set(node, "k", 1); }}),
            (Doubles{3, 5}));
}

// The image's elements are their columns, so that a sample is where it is taken.
OneNode regions(int opset, Doubles corners, std::function<void(::onnx::NodeProto&)> attributes) {
  Doubles columns;
  for (int i = 0; i < 32; ++i) columns.push_back(i % 4 + 4 * (i / 16));
  return {.op_type = "RoiAlign",
          .opset = opset,
          .operands = {{kF32, {2, 1, 4, 4}, columns}, {kF32, {1, 4}, std::move(corners)}, {kI64, {1}, {1}}},
          .attributes = std::move(attributes)};
}

TEST(HostFunctions, RoiAlign) {
  const auto bins = [](auto& node) { set(node, "output_width", 2), set(node, "sampling_ratio", 1); };
  EXPECT_EQ(node_outputs(regions(16, {0.5, 0.5, 2.5, 2.5}, bins)), (Doubles{4.5, 5.5}));
  EXPECT_EQ(node_outputs(regions(10, {0.5, 0.5, 2.5, 2.5}, bins)), (Doubles{5, 6}));
  EXPECT_EQ(node_outputs(regions(16, {0.5, 0.5, 2.5, 2.5},
                                 [&](auto& node) {
                                   bins(node),
                                       set(node, "coordinate_transformation_mode", "output_half_pixel");
                                 })),
            (Doubles{5, 6}));
  EXPECT_EQ(node_outputs(
                regions(22, {1, 1, 5, 5}, [&](auto& node) { bins(node), set(node, "spatial_scale", 0.5); })),
            (Doubles{4.5, 5.5}));
  // As many samples as pixels: at columns 0.5 and 1.5.
  EXPECT_EQ(node_outputs(regions(16, {0.5, 0.5, 2.5, 2.5}, [](auto&) {})), Doubles{5});
  // The largest of the four weighted corners: a quarter of column 2 of row 1.
  EXPECT_EQ(node_outputs(regions(16, {1.5, 1, 2.5, 2}, [](auto& node) { set(node, "mode", "max"); })),
            Doubles{6 * 0.5});
  EXPECT_THAT(refusal(regions(16, {0, 0, 1, 1}, [](auto& node) { set(node, "mode", "sum"); })),
              HasSubstr("its mode is 'sum'"));
  OneNode test = regions(16, {0, 0, 1, 1}, bins);
  test.operands[2].values = {2};
  EXPECT_THAT(refusal(test), HasSubstr("an index lies outside"));
}

TEST(HostFunctions, MaxUnpool) {
  OneNode test = {.op_type = "MaxUnpool",
                  .operands = {{kF32, {1, 1, 2, 2}, {1, 2, 3, 4}}, {kI64, {1, 1, 2, 2}, {5, 7, 13, 15}}},
                  .attributes = [](auto& node) {
                    set(node, "kernel_shape", std::vector<int64_t>{2, 2}),
                        set(node, "strides", std::vector<int64_t>{2, 2});
                  }};
  EXPECT_EQ(node_outputs(test), (Doubles{0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4}));
  // Indices are those of the smallest shape that pooling maps to the operand's.
  test.operands.push_back({kI64, {4}, {1, 1, 5, 4}, true});
  EXPECT_EQ(node_outputs(test), (Doubles{0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0}));
  test.operands[2].values = {1, 1, 3, 4};
  EXPECT_THAT(refusal(test), HasSubstr("axis 2 of its output_shape is 3, below 4"));
}

TEST(HostFunctions, SelectionsOfKnownValues) {
  const OneNode nonzero = {.op_type = "NonZero", .operands = {{kF32, {2, 2}, {1, 0, 1, 1}, true}}};
  EXPECT_EQ(node_outputs(nonzero), (Doubles{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(shape_of(nonzero), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(shape_of({.op_type = "NonZero", .operands = {{kF32, {}, {1}, true}}}),
            (std::vector<int64_t>{0, 1}));

  OneNode compress = {
      .op_type = "Compress",
      .operands = {{kF32, {3, 2}, {1, 2, 3, 4, 5, 6}}, {Element::kBool, {3}, {0, 1, 1}, true}}};
  EXPECT_EQ(node_outputs(compress), (Doubles{2, 3}));
  compress.attributes = [](auto& node) { set(node, "axis", -2); };
  EXPECT_EQ(node_outputs(compress), (Doubles{3, 4, 5, 6}));
  compress.operands[1] = {Element::kBool, {2}, {0, 1}, true};
  EXPECT_EQ(node_outputs(compress), (Doubles{3, 4}));
}

TEST(HostFunctions, UniqueOfKnownValues) {
  const auto unique = [](int sorted, std::optional<int> axis, std::vector<int64_t> shape, Doubles values) {
    return OneNode{.op_type = "Unique",
                   .operands = {{kF32, std::move(shape), std::move(values), true}},
                   .attributes =
                       [=](auto& node) {
                         set(node, "sorted", sorted);
                         if (axis) set(node, "axis", *axis);
                       },
                   .outputs = 4};
  };
  const auto expect = [&](const OneNode& test, const std::vector<Doubles>& all) {
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(node_outputs(test, i), all[i]) << i;
  };
  expect(unique(1, {}, {6}, {2, 1, 1, 3, 4, 3}),
         {{1, 2, 3, 4}, {1, 0, 3, 4}, {1, 0, 0, 2, 3, 2}, {2, 1, 2, 1}});
  expect(unique(0, {}, {2, 3}, {2, 1, 1, 3, 4, 3}),
         {{2, 1, 3, 4}, {0, 1, 3, 4}, {0, 1, 1, 2, 3, 2}, {1, 2, 2, 1}});
  expect(unique(1, 0, {3, 2}, {9, 9, 2, 3, 9, 9}), {{2, 3, 9, 9}, {1, 0}, {1, 0, 1}, {1, 2}});
  expect(unique(0, -1, {2, 3}, {4, 1, 4, 4, 1, 4}), {{4, 1, 4, 1}, {0, 1}, {0, 1, 0}, {2, 1}});
}

TEST(HostFunctions, NonMaxSuppressionOfKnownValues) {
  // Three boxes, of which the second overlaps the first by more than a half.
  const Operand boxes = {kF32, {1, 3, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 10, 1, 11}, true},
                scores = {kF32, {1, 1, 3}, {0.9, 0.75, 0.6}, true}, most = {kI64, {1}, {3}, true},
                half = {kF32, {1}, {0.5}, true}, threshold = {kF32, {1}, {0.7}, true};
  const auto selected = [](std::vector<Operand> operands) {
    return OneNode{.op_type = "NonMaxSuppression", .operands = std::move(operands)};
  };
  EXPECT_EQ(node_outputs(selected({boxes, scores, most, half})), (Doubles{0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(node_outputs(selected({boxes, scores, most, half, threshold})), (Doubles{0, 0, 0}));
  EXPECT_EQ(node_outputs(selected({boxes, scores, most, {}, threshold})), (Doubles{0, 0, 0}));
  EXPECT_EQ(shape_of(selected({boxes, scores})), (std::vector<int64_t>{0, 3}));
  EXPECT_THAT(refusal(selected({boxes, {kF32, {1, 3}, {1, 2, 3}, true}, most})),
              HasSubstr("boxes and scores are f32[1, 3, 4] and f32[1, 3], not"));
}

double mean(const Doubles& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

OneNode random_numbers(const char* op_type, std::optional<double> seed, int dtype = 1) {
  return {.op_type = op_type, .attributes = [=](auto& node) {
            set(node, "shape", std::vector<int64_t>{40, 100}), set(node, "dtype", dtype);
            if (seed) set(node, "seed", *seed);
            if (std::string_view(op_type) == "RandomUniform")
              set(node, "low", -1.0), set(node, "high", 3.0);
            else
              set(node, "mean", 1.0), set(node, "scale", 0.25);
          }};
}

TEST(HostFunctions, RandomNumbers) {
  for (const char* op_type : {"RandomUniform", "RandomNormal"}) {
    for (const int dtype : {1, 10, 11}) {
      const Doubles found = node_outputs(random_numbers(op_type, 7, dtype));
      ASSERT_EQ(found.size(), 4000);
      EXPECT_NEAR(mean(found), 1, 0.08) << op_type;
      EXPECT_LE(*std::max_element(found.begin(), found.end()), 3);
    }
    EXPECT_EQ(node_outputs(random_numbers(op_type, 7)), node_outputs(random_numbers(op_type, 7)));
    EXPECT_NE(node_outputs(random_numbers(op_type, 7)), node_outputs(random_numbers(op_type, 8)));
    EXPECT_NE(node_outputs(random_numbers(op_type, 7)), node_outputs(random_numbers(op_type, {})));
    EXPECT_THAT(refusal(random_numbers(op_type, 7, 6)), HasSubstr("needs floating point, not i32"));
  }
  const Operand like = {Element::kFloat16, {2, 3}, Doubles(6, 0)};
  for (const char* op_type : {"RandomUniformLike", "RandomNormalLike"}) {
    const auto found = run_node({.op_type = op_type, .operands = {like}});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ((*found)[0].element, Element::kFloat16);
    EXPECT_EQ((*found)[0].shape, (std::vector<int64_t>{2, 3}));
    EXPECT_THAT(refusal({.op_type = op_type, .operands = {{kI32, {2}, {0, 0}}}}),
                HasSubstr("neither a dtype"));
  }
}

TEST(HostFunctions, RandomDraws) {
  Doubles probabilities(3000);
  for (size_t i = 0; i < probabilities.size(); ++i) probabilities[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 0.25;
  const Doubles drawn = node_outputs(
      {.op_type = "Bernoulli", .operands = {{kF32, {3000}, probabilities}}, .attributes = [](auto& node) {
         set(node, "dtype", 6), set(node, "seed", 5.0);
       }});
  double sums[3] = {};
  for (size_t i = 0; i < drawn.size(); ++i) sums[i % 3] += drawn[i];
  EXPECT_EQ(sums[0], 0);
  EXPECT_EQ(sums[1], 1000);
  EXPECT_NEAR(sums[2], 250, 70);
  // Logarithms of 1, 3 and 0.
  const double none = -std::numeric_limits<double>::infinity();
  const Doubles classes =
      node_outputs({.op_type = "Multinomial",
                    .operands = {{kF32, {1, 3}, {0, std::log(3.0), none}}},
                    .attributes = [](auto& node) { set(node, "sample_size", 4000), set(node, "dtype", 7); }});
  ASSERT_EQ(classes.size(), 4000);
  EXPECT_NEAR(mean(classes), 0.75, 0.04);
  EXPECT_EQ(*std::max_element(classes.begin(), classes.end()), 1);
}

}  // namespace
}  // namespace tf::onnx
