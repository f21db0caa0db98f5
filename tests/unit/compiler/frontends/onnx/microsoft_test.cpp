// Operators of domain com.microsoft against their formulas.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/onnx/attention_loops.h"
#include "tests/support/onnx/node_outputs.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Doubles = std::vector<double>;
using Attributes = std::function<void(::onnx::NodeProto&)>;

OneNode microsoft(const char* op_type, std::vector<Operand> operands, Attributes attributes = {},
                  int results = 1) {
  return {.op_type = op_type,
          .opset = 13,
          .operands = std::move(operands),
          .attributes = std::move(attributes),
          .outputs = results,
          .domain = "com.microsoft"};
}

Operand floats(std::vector<int64_t> shape, Doubles values) {
  return {Element::kFloat32, std::move(shape), std::move(values)};
}
Operand bytes(std::vector<int64_t> shape, Doubles values, bool known = false) {
  return {Element::kUInt8, std::move(shape), std::move(values), known};
}
Operand known(std::vector<int64_t> shape, Doubles values) {
  return {Element::kFloat32, std::move(shape), std::move(values), true};
}

Doubles mapped(const Doubles& x, const std::function<double(double)>& f) {
  Doubles y;
  for (double v : x) y.push_back(f(v));
  return y;
}
double gelu(double v) {
  return v / 2 * (1 + std::erf(v / std::sqrt(2.0)));
}

TEST(Microsoft, Activations) {
  const Doubles x = drawn(12, -4, 4, 1), bias = {0.5, -1, 2};
  Doubles moved = x;
  for (size_t i = 0; i < x.size(); ++i) moved[i] += bias[i % 3];
  const auto by_tanh = [](double v) {
    return v / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v)));
  };
  expect_values(node_outputs(microsoft("Gelu", {floats({4, 3}, x)})), mapped(x, gelu));
  expect_values(node_outputs(microsoft("BiasGelu", {floats({4, 3}, x), floats({3}, bias)})),
                mapped(moved, gelu));
  expect_values(node_outputs(microsoft("FastGelu", {floats({4, 3}, x), floats({3}, bias)})),
                mapped(moved, by_tanh));
  expect_values(
      node_outputs(microsoft("QuickGelu", {floats({4, 3}, x)}, [](auto& node) { set(node, "alpha", 2.0); })),
      mapped(x, [](double v) { return v / (1 + std::exp(-2 * v)); }));
}

TEST(Microsoft, NormalisationsOfSums) {
  const Doubles x = drawn(6, -2, 2, 1), skip = drawn(6, -2, 2, 2), gamma = {1, 2, 0.5}, beta = {0, 1, -1},
                bias = {0.1, 0.2, 0.3};
  Doubles sum, layer, root, inverse;
  for (size_t i = 0; i < 6; ++i) sum.push_back(x[i] + skip[i] + bias[i % 3]);
  for (size_t row = 0; row < 6; row += 3) {
    const double mean = (sum[row] + sum[row + 1] + sum[row + 2]) / 3;
    double variance = 0, squares = 0;
    for (size_t i = row; i < row + 3; ++i)
      variance += std::pow(sum[i] - mean, 2) / 3, squares += sum[i] * sum[i] / 3;
    for (size_t i = 0; i < 3; ++i) {
      layer.push_back((sum[row + i] - mean) / std::sqrt(variance + 1e-12) * gamma[i] + beta[i]);
      root.push_back(sum[row + i] / std::sqrt(squares + 1e-12) * gamma[i]);
    }
    inverse.push_back(1 / std::sqrt(squares + 1e-5));
  }
  const OneNode with_mean = microsoft(
      "SkipLayerNormalization",
      {floats({2, 3}, x), floats({2, 3}, skip), floats({3}, gamma), floats({3}, beta), floats({3}, bias)}, {},
      4);
  expect_values(node_outputs(with_mean), layer);
  expect_values(node_outputs(with_mean, 3), sum);
  expect_values(
      node_outputs(microsoft("SkipSimplifiedLayerNormalization", {floats({2, 3}, x), floats({2, 3}, skip),
                                                                  floats({3}, gamma), floats({3}, bias)})),
      root);
  OneNode simplified =
      microsoft("SimplifiedLayerNormalization", {floats({2, 3}, sum), floats({3}, gamma)}, {}, 2);
  expect_values(node_outputs(simplified), root, 1e-4);
  simplified.domain = "";
  expect_values(node_outputs(simplified, 1), inverse);
}

TEST(Microsoft, EmbeddingsAreSummedAndNormalised) {
  const Operand words{Element::kInt32, {1, 2}, {1, 0}}, segments{Element::kInt32, {1, 2}, {0, 1}},
      mask{Element::kInt32, {1, 2}, {1, 0}};
  const OneNode test =
      microsoft("EmbedLayerNormalization",
                {words, segments, floats({2, 2}, {1, 2, 3, 5}), floats({3, 2}, {0, 1, 1, 0, 9, 9}),
                 floats({2, 2}, {0, 0, 10, 20}), floats({2}, {1, 2}), floats({2}, {0, 1}), mask},
                {}, 3);
  EXPECT_EQ(node_outputs(test, 2), (Doubles{3, 6, 12, 22}));
  EXPECT_EQ(node_outputs(test, 1), Doubles{1});
  expect_values(node_outputs(test), {-1, 3, -1, 3});
}

TEST(Microsoft, ProductsWithWhatFollows) {
  const Doubles a = {1, 2, 3, 4, 5, 6}, b = {1, -1, 2, 0, 1, 1};
  expect_values(node_outputs(microsoft("FusedMatMul", {floats({3, 2}, a), floats({3, 2}, b)},
                                       [](auto& node) { set(node, "transA", 1), set(node, "alpha", 0.5); })),
                {6, 2, 8, 2});
  expect_values(
      node_outputs(microsoft("FusedGemm", {floats({3, 2}, a), floats({3, 2}, b), floats({3}, {0, -10, 1})},
                             [](auto& node) { set(node, "transB", 1), set(node, "activation", "Relu"); })),
      {0, 0, 4, 0, 0, 8, 0, 0, 12});
  expect_values(node_outputs(microsoft("FusedConv",
                                       {floats({1, 1, 3}, {1, -2, 3}), floats({1, 1, 1}, {2}),
                                        floats({1}, {1}), floats({1, 1, 3}, {0, 0, -10})},
                                       [](auto& node) {
                                         set(node, "activation", "LeakyRelu");
                                         auto& parameters = attribute(node, "activation_params");
                                         parameters.set_type(::onnx::AttributeProto::FLOATS);
                                         parameters.add_floats(0.5f);
                                       })),
                {3, -1.5, -1.5});
}

TEST(Microsoft, WeightsOfFewBits) {
  // K = 32 in two blocks of 16, N = 2.
  for (const int64_t bits : {4, 8}) {
    const int64_t most = (int64_t{1} << bits) - 1;
    std::vector<int64_t> q, zero = {3, 5, 1, 7};
    for (int64_t i = 0; i < 64; ++i) q.push_back(i * 7 % (most + 1));
    const Doubles scale = {0.5, 0.25, 1, 2}, x = drawn(32, -1, 1, 3);
    Doubles want(2), packed, packed_zero;
    for (size_t n = 0; n < 2; ++n)
      for (size_t k = 0; k < 32; ++k)
        want[n] += x[k] * static_cast<double>(q[n * 32 + k] - zero[n * 2 + k / 16]) * scale[n * 2 + k / 16];
    const auto pack = [&](const std::vector<int64_t>& values) {
      Doubles out;
      for (size_t i = 0; i < values.size(); i += bits == 4 ? 2 : 1)
        out.push_back(static_cast<double>(bits == 4 ? values[i] + 16 * values[i + 1] : values[i]));
      return out;
    };
    expect_values(
        node_outputs(microsoft("MatMulNBits",
                               {floats({1, 32}, x), bytes({2, 2, 2 * bits}, pack(q), true), known({4}, scale),
                                bytes({static_cast<int64_t>(pack(zero).size())}, pack(zero), true)},
                               [&](auto& node) {
                                 set(node, "K", 32), set(node, "N", 2), set(node, "block_size", 16);
                                 set(node, "bits", static_cast<int>(bits));
                               })),
        want, 1e-4);
  }
}

// Two numbers in each byte, the first in its lower half.
Doubles packed(const std::vector<int64_t>& q) {
  Doubles bytes;
  for (size_t i = 0; i < q.size(); i += 2) bytes.push_back(static_cast<double>(q[i] + 16 * q[i + 1]));
  return bytes;
}

TEST(Microsoft, RowsOfFewBits) {
  // A table of 3 rows of 32 numbers in two blocks, of which rows 2 and 0 are read.
  std::vector<int64_t> q;
  for (int64_t i = 0; i < 96; ++i) q.push_back(i * 5 % 16);
  const Doubles scale = {0.5, 0.25, 1, 2, 3, 0.125};
  const std::vector<int64_t> zero = {3, 5, 1, 7, 15, 0};
  for (const bool has_zeros : {false, true}) {
    Doubles want;
    for (size_t row : {2, 0})
      for (size_t i = 0; i < 32; ++i)
        want.push_back(static_cast<double>(q[row * 32 + i] - (has_zeros ? zero[row * 2 + i / 16] : 8)) *
                       scale[row * 2 + i / 16]);
    OneNode test =
        microsoft("GatherBlockQuantized",
                  {bytes({3, 16}, packed(q), true), {Element::kInt64, {2, 1}, {2, -3}}, known({3, 2}, scale)},
                  [](auto& node) { set(node, "block_size", 16); });
    if (has_zeros) test.operands.push_back(bytes({3, 1}, packed(zero), true));
    EXPECT_EQ(node_outputs(test), want);
    EXPECT_EQ((*run_node(test))[0].shape, (std::vector<int64_t>{2, 1, 32}));
  }
}

TEST(Microsoft, WeightsByQuantiles) {
  // K = 3, N = 2: six weights, the first in the upper half of its byte, in blocks of four.
  const auto product = [](int64_t type) {
    return node_outputs(microsoft(
        "MatMulBnb4", {floats({1, 3}, {1, 2, 4}), bytes({3}, {0x07, 0xf3, 0xb8}, true), known({2}, {2, 10})},
        [&](auto& node) {
          set(node, "K", 3), set(node, "N", 2), set(node, "block_size", 4);
          set(node, "quant_type", type);
        }));
  };
  expect_values(product(0), {2 * (0 + 2 * 0.25 + 4 * -0.25), 2 * 1 + 10 * (2 * -1 + 4 * -0.0)});
  expect_values(product(1), {2 * (-1 + 0 + 4 * 1), 2 * -0.39491749 + 10 * (2 * 0.33791524 + 4 * 0.0795803)});
}

TEST(Microsoft, DistancesOfRows) {
  const Operand a = floats({2, 2}, {0, 0, 1, 2}), b = floats({3, 2}, {3, 4, 0, 0, 1, 1});
  expect_values(node_outputs(microsoft("CDist", {a, b})), {25, 0, 2, 8, 5, 1});
  expect_values(
      node_outputs(microsoft("CDist", {a, b}, [](auto& node) { set(node, "metric", "euclidean"); })),
      {5, 0, std::sqrt(2.0), std::sqrt(8.0), std::sqrt(5.0), 1});
}

// The byte nearest to v over the scale, plus the zero point.
double stored(double v, double scale, double zero) {
  return std::clamp(std::nearbyint(v / scale) + zero, 0.0, 255.0);
}

TEST(Microsoft, BytesWithScales) {
  const Doubles x = {0, 60, 128, 200, 255, 131}, y = {10, 20, 128, 250, 3, 77};
  const auto real = [](double q) { return (q - 128) * 0.05; };
  const Operand scale = known({}, {0.05}), zero = bytes({}, {128}, true), result_scale = known({}, {0.1}),
                result_zero = bytes({}, {100}, true);
  const std::vector<int64_t> shape = {1, 2, 3};
  const auto unary_of = [&](const char* op_type, const Attributes& attributes,
                            const std::function<double(double)>& f) {
    EXPECT_EQ(node_outputs(
                  microsoft(op_type, {bytes(shape, x), scale, zero, result_scale, result_zero}, attributes)),
              mapped(x, [&](double q) { return stored(f(real(q)), 0.1, 100); }));
  };
  unary_of("QLinearSigmoid", {}, [](double v) { return 1 / (1 + std::exp(-v)); });
  unary_of(
      "QLinearLeakyRelu", [](auto& node) { set(node, "alpha", 0.3); },
      [](double v) { return v < 0 ? 0.3 * v : v; });
  const auto both_of = [&](const char* op_type, const std::function<double(double, double)>& f) {
    Doubles want;
    for (size_t i = 0; i < x.size(); ++i) want.push_back(stored(f(real(x[i]), real(y[i])), 0.1, 100));
    EXPECT_EQ(node_outputs(microsoft(op_type, {bytes(shape, x), scale, zero, bytes(shape, y), scale, zero,
                                               result_scale, result_zero})),
              want);
  };
  both_of("QLinearAdd", [](double a, double b) { return a + b; });
  both_of("QLinearMul", [](double a, double b) { return a * b; });
  Doubles joined = mapped(x, [&](double q) { return stored(real(q), 0.1, 100); });
  for (double q : y) joined.push_back(stored(real(q), 0.1, 100));
  EXPECT_EQ(node_outputs(microsoft(
                "QLinearConcat",
                {result_scale, result_zero, bytes(shape, x), scale, zero, bytes(shape, y), scale, zero},
                [](auto& node) { set(node, "axis", 0); })),
            joined);
  EXPECT_EQ(node_outputs(microsoft("QLinearGlobalAveragePool",
                                   {bytes(shape, x), scale, zero, result_scale, result_zero})),
            (Doubles{stored(0.05 * ((0 + 60 + 128) / 3.0 - 128), 0.1, 100),
                     stored(0.05 * ((200 + 255 + 131) / 3.0 - 128), 0.1, 100)}));
  const auto pairs = [](auto& node) {
    set(node, "kernel_shape", std::vector<int64_t>{2}), set(node, "channels_last", 1);
  };
  EXPECT_EQ(
      node_outputs(microsoft("QLinearAveragePool",
                             {bytes({1, 3, 2}, x), scale, zero, result_scale, result_zero}, pairs)),
      (Doubles{stored((real(0) + real(128)) / 2, 0.1, 100), stored((real(60) + real(200)) / 2, 0.1, 100),
               stored((real(128) + real(255)) / 2, 0.1, 100),
               stored((real(200) + real(131)) / 2, 0.1, 100)}));
  EXPECT_EQ(node_outputs(microsoft("NhwcMaxPool", {bytes({1, 3, 2}, x)},
                                   [](auto& node) { set(node, "kernel_shape", std::vector<int64_t>{3}); })),
            (Doubles{255, 200}));
  const Doubles soft = node_outputs(
      microsoft("QLinearSoftmax",
                {bytes({1, 2}, {128, 148}), scale, zero, known({}, {1.0 / 256}), bytes({}, {0}, true)},
                [](auto& node) { set(node, "opset", 13); }));
  EXPECT_EQ(soft, (Doubles{stored(1 / (1 + std::exp(1.0)), 1.0 / 256, 0),
                           stored(1 / (1 + std::exp(-1.0)), 1.0 / 256, 0)}));
}

TEST(Microsoft, ProductsOfBytes) {
  const Operand a = bytes({2, 2}, {1, 200, 128, 7}), b = bytes({2, 2}, {9, 8, 250, 3}, true);
  const auto sum = [](double a0, double a1, double b0, double b1) {
    return (a0 - 100) * (b0 - 5) + (a1 - 100) * (b1 - 5);
  };
  expect_values(
      node_outputs(microsoft("MatMulIntegerToFloat",
                             {a, b, known({}, {0.5}), known({2}, {0.1, 0.2}), bytes({}, {100}, true),
                              bytes({2}, {5, 5}, true), known({2}, {1, -1})})),
      {sum(1, 200, 9, 250) * 0.05 + 1, sum(1, 200, 8, 3) * 0.1 - 1, sum(128, 7, 9, 250) * 0.05 + 1,
       sum(128, 7, 8, 3) * 0.1 - 1});
  // 0 to 5.1 in steps of 0.02: 1 is 50, 5.1 is 255.
  expect_values(node_outputs(microsoft("DynamicQuantizeMatMul", {floats({1, 2}, {1, 5.1}), b,
                                                                 known({}, {0.5}), bytes({}, {5}, true)})),
                {0.01 * (50 * 4 + 255 * 245), 0.01 * (50 * 3 - 255 * 2)}, 1e-4);
}

TEST(Microsoft, ProductsOfBytesQuantizedAgain) {
  const Operand a = bytes({2, 2}, {1, 200, 128, 7}), b = bytes({2, 2}, {9, 250, 8, 3}, true),
                bias{Element::kInt32, {2}, {1000, -50}, true};
  const auto sums = [](double a0, double a1, double b0, double b1, double c) {
    return (a0 - 100) * (b0 - 5) + (a1 - 100) * (b1 - 5) + c;
  };
  Doubles want = {sums(1, 200, 9, 250, 1000), sums(1, 200, 8, 3, -50), sums(128, 7, 9, 250, 1000),
                  sums(128, 7, 8, 3, -50)};
  for (double& v : want) v *= 2 * 0.5 * 0.125;
  OneNode test = microsoft("QGemm",
                           {a, known({}, {0.5}), bytes({}, {100}, true), b, known({2}, {0.125, 0.125}),
                            bytes({2}, {5, 5}, true), bias},
                           [](auto& node) { set(node, "transB", 1), set(node, "alpha", 2.0); });
  EXPECT_EQ(node_outputs(test), want);
  test.operands.push_back(known({}, {40}));
  test.operands.push_back(bytes({}, {90}, true));
  EXPECT_EQ(node_outputs(test), mapped(want, [](double v) { return stored(v, 40, 90); }));
}

TEST(Microsoft, BytesByACondition) {
  const Operand condition{Element::kBool, {3, 1}, {1, 0, 1}};
  EXPECT_EQ(node_outputs(microsoft("QLinearWhere",
                                   {condition, bytes({3, 2}, {0, 60, 128, 200, 255, 131}), known({}, {0.5}),
                                    bytes({}, {128}, true), bytes({1, 2}, {7, 250}), known({}, {0.25}),
                                    bytes({}, {10}, true), known({}, {1}), bytes({}, {100}, true)})),
            (Doubles{36, 66, 99, 160, 164, 102}));
}

TEST(Microsoft, ConvolutionOfBytesWithChannelsLast) {
  // One tap a channel: y = x · w + bias at every other pixel.
  const Doubles x = {1, 2, 3, 4, 5, 6, 7, 8};
  const OneNode test =
      microsoft("QLinearConv",
                {bytes({1, 2, 2, 2}, x),
                 known({}, {1}),
                 bytes({}, {1}, true),
                 {Element::kInt8, {3, 2, 1, 1}, {1, 0, 0, 1, 1, -1}, true},
                 known({}, {2}),
                 {Element::kInt8, {1}, {0}, true},
                 known({}, {1}),
                 bytes({}, {10}, true),
                 {Element::kInt32, {3}, {0, 3, 0}, true}},
                [](auto& node) {
                  set(node, "channels_last", 1), set(node, "strides", std::vector<int64_t>{1, 2});
                });
  EXPECT_EQ(node_outputs(test), (Doubles{10, 18, 8, 18, 26, 8}));
  EXPECT_EQ((*run_node(test))[0].shape, (std::vector<int64_t>{1, 2, 1, 3}));
}

TEST(Microsoft, TakesWhatOnnxHasToo) {
  EXPECT_EQ(node_outputs(microsoft(
                "QuantizeLinear",
                {floats({3}, {-1, 0.5, 400}), known({}, {0.01}), {Element::kUInt16, {1}, {200}, true}})),
            (Doubles{100, 250, 40200}));
  EXPECT_EQ(node_outputs(microsoft(
                "DequantizeLinear",
                {{Element::kInt16, {2}, {-300, 7}}, known({}, {0.5}), {Element::kInt16, {1}, {-100}, true}})),
            (Doubles{-100, 53.5}));
  EXPECT_EQ(node_outputs(microsoft("Trilu", {floats({2, 2}, {1, 2, 3, 4})},
                                   [](auto& node) { set(node, "upper", 0); })),
            (Doubles{1, 0, 3, 4}));
  EXPECT_EQ(node_outputs(microsoft("TransposeMatMul", {floats({2, 1}, {1, 2}), floats({2, 1}, {3, 4})},
                                   [](auto& node) { set(node, "transA", 1); })),
            Doubles{11});
}

// [batch, heads, rows, size] → [batch, rows, heads * size].
Doubles side_by_side(const Doubles& x, size_t heads, size_t rows) {
  Doubles y(x.size());
  for (size_t b = 0; b < kBatch; ++b)
    for (size_t h = 0; h < heads; ++h)
      for (size_t r = 0; r < rows; ++r)
        for (size_t d = 0; d < kSize; ++d)
          y[((b * rows + r) * heads + h) * kSize + d] = x[((b * heads + h) * rows + r) * kSize + d];
  return y;
}

TEST(Microsoft, AttentionOfHeads) {
  const size_t heads = 2;
  const Doubles q = drawn(kBatch * heads * kRows * kSize, -1, 1, 1), k = drawn(q.size(), -1, 1, 2),
                v = drawn(q.size(), -1, 1, 3);
  const auto by_loops = [&](const std::function<double(size_t, size_t, size_t, size_t)>& bias) {
    return side_by_side(attention_by_loops(q, k, v, heads, heads, kRows, 0.5, 0, bias), heads, kRows);
  };
  const Attributes attributes = [](auto& node) { set(node, "num_heads", 2); };
  const std::vector<int64_t> shape = {2, 3, 8};
  const Operand query = floats(shape, side_by_side(q, heads, kRows)),
                key = floats(shape, side_by_side(k, heads, kRows)),
                value = floats(shape, side_by_side(v, heads, kRows));
  expect_values(node_outputs(microsoft("MultiHeadAttention", {query, key, value}, attributes)),
                by_loops([](auto...) { return 0; }));
  const Operand mask{Element::kInt32, {2, 3}, {1, 1, 0, 0, 1, 1}}, lengths{Element::kInt32, {2}, {2, 3}};
  expect_values(node_outputs(microsoft("MultiHeadAttention", {query, key, value, {}, mask}, attributes)),
                by_loops([](size_t b, size_t, size_t, size_t j) {
                  return (b == 0 && j == 2) || (b == 1 && j == 0) ? -10000 : 0;
                }));
  expect_values(node_outputs(microsoft("MultiHeadAttention", {query, key, value, {}, lengths}, attributes)),
                by_loops([](size_t b, size_t, size_t, size_t j) { return b == 0 && j == 2 ? -10000 : 0; }));

  // The same by one projection: x has q, k and v side by side, which the identity keeps.
  Doubles x, identity(24 * 24);
  for (size_t row = 0; row < 6; ++row)
    for (const Doubles* part : {&query.values, &key.values, &value.values})
      x.insert(x.end(), part->begin() + static_cast<int64_t>(row * 8),
               part->begin() + static_cast<int64_t>(row * 8 + 8));
  for (size_t i = 0; i < 24; ++i) identity[i * 24 + i] = 1;
  const Operand input = floats({2, 3, 24}, x), weights = floats({24, 24}, identity),
                bias = floats({24}, Doubles(24, 0.0));
  expect_values(
      node_outputs(microsoft("Attention", {input, weights, bias},
                             [](auto& node) { set(node, "num_heads", 2), set(node, "unidirectional", 1); })),
      by_loops([](size_t, size_t, size_t i, size_t j) { return j > i ? -1e9 : 0; }));
  expect_values(node_outputs(microsoft("Attention", {input, weights, bias, mask}, attributes)),
                by_loops([](size_t b, size_t, size_t, size_t j) {
                  return (b == 0 && j == 2) || (b == 1 && j == 0) ? -10000 : 0;
                }));
}

TEST(Microsoft, QueriesOfAGroupShareKeysWithAPast) {
  // A batch of one: 4 heads of queries, 2 of keys, 3 rows behind a past of 2, in a buffer of 6.
  const Doubles q = drawn(4 * 3 * 4, -1, 1, 1), k = drawn(2 * 3 * 4, -1, 1, 2),
                v = drawn(2 * 3 * 4, -1, 1, 3), past_k = drawn(2 * 6 * 4, -1, 1, 4),
                past_v = drawn(2 * 6 * 4, -1, 1, 5);
  const auto rows = [](const Doubles& x, size_t heads) {
    Doubles y;
    for (size_t r = 0; r < 3; ++r)
      for (size_t h = 0; h < heads; ++h)
        for (size_t d = 0; d < 4; ++d) y.push_back(x[(h * 3 + r) * 4 + d]);
    return y;
  };
  const auto joined = [](const Doubles& past, const Doubles& x) {  // 5 keys of each head
    Doubles y;
    for (size_t h = 0; h < 2; ++h) {
      y.insert(y.end(), past.begin() + static_cast<int64_t>(h * 24),
               past.begin() + static_cast<int64_t>(h * 24 + 8));
      y.insert(y.end(), x.begin() + static_cast<int64_t>(h * 12),
               x.begin() + static_cast<int64_t>(h * 12 + 12));
    }
    return y;
  };
  for (const int window : {-1, 2}) {
    const OneNode test = microsoft(
        "GroupQueryAttention",
        {floats({1, 3, 16}, rows(q, 4)),
         floats({1, 3, 8}, rows(k, 2)),
         floats({1, 3, 8}, rows(v, 2)),
         floats({1, 2, 6, 4}, past_k),
         floats({1, 2, 6, 4}, past_v),
         {Element::kInt32, {1}, {4}},
         {Element::kInt32, {}, {5}, true}},
        [&](auto& node) {
          set(node, "num_heads", 4), set(node, "kv_num_heads", 2);
          set(node, "local_window_size", window);
        },
        3);
    // The loops have a batch of two: the second is the same again.
    const auto twice = [](const Doubles& x) {
      Doubles y = x;
      y.insert(y.end(), x.begin(), x.end());
      return y;
    };
    Doubles want = attention_by_loops(twice(q), twice(joined(past_k, k)), twice(joined(past_v, v)), 4, 2, 5,
                                      0.5, 0, [&](size_t, size_t, size_t i, size_t j) {
                                        const bool seen = j <= i + 2 && (window < 0 || i + 2 < j + 2);
                                        return seen ? 0 : -std::numeric_limits<double>::infinity();
                                      });
    want.resize(want.size() / 2);
    expect_values(node_outputs(test), rows(want, 4));
    const Doubles present = node_outputs(test, 1), with_new = joined(past_k, k);
    for (size_t h = 0; h < 2; ++h)
      for (size_t i = 0; i < 24; ++i)
        EXPECT_EQ(present[h * 24 + i], i < 20 ? with_new[h * 20 + i] : past_k[h * 24 + i]);
  }
}

TEST(Microsoft, RotaryEmbeddingStartsAtAPosition) {
  const Doubles x = drawn(8, -1, 1, 1), cos = drawn(6, -1, 1, 2), sin = drawn(6, -1, 1, 3);
  Doubles want;
  for (size_t row = 0; row < 2; ++row) {
    const size_t angle = (row + 1) * 2;
    for (size_t i = 0; i < 2; ++i)
      want.push_back(x[row * 4 + i] * cos[angle + i] - x[row * 4 + 2 + i] * sin[angle + i]);
    for (size_t i = 0; i < 2; ++i)
      want.push_back(x[row * 4 + i] * sin[angle + i] + x[row * 4 + 2 + i] * cos[angle + i]);
  }
  expect_values(
      node_outputs(microsoft(
          "RotaryEmbedding",
          {floats({1, 2, 4}, x), {Element::kInt64, {1}, {1}}, floats({3, 2}, cos), floats({3, 2}, sin)})),
      want);
}

}  // namespace
}  // namespace tf::onnx
