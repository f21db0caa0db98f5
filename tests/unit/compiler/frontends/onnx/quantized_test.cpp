// Quantized operators against the formulas of ONNX's documentation, with integers computed exactly.

#include <cmath>
#include <functional>
#include <random>

#include "compiler/frontends/onnx/import.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/program/evaluate.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::onnx {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;
using graph::HostTensor;
using tensor::Element;

constexpr int kUInt8 = 2, kInt8 = 3, kInt32 = 6;

Element element_of(int type) {
  return type == kUInt8 ? Element::kUInt8 : type == kInt8 ? Element::kInt8 : Element::kInt32;
}

void constant(ModelWriter& model, const std::string& name, const Ints& shape, int type, const Ints& values) {
  auto& tensor = *model.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (int64_t extent : shape) tensor.add_dims(extent);
  for (int64_t v : values) tensor.add_int32_data(static_cast<int32_t>(v));
}

HostTensor value(Element element, const Ints& shape, const Ints& values) {
  return {"", element, shape, std::make_shared<const graph::Blob>(graph::write_integers(element, values))};
}

HostTensor value(const Ints& shape, const Floats& values) {
  return {"", Element::kFloat32, shape, graph::make_blob(values)};
}

// The only output's numbers, after all passes over the graph.
std::vector<double> outputs(const ModelWriter& model, const std::vector<HostTensor>& inputs,
                            size_t which = 0) {
  absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, {});
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  absl::StatusOr<std::vector<HostTensor>> result = graph::evaluate(graph::optimize(*graph, {}), inputs);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  return graph::read_floats((*result)[which].element, (*result)[which].data->bytes());
}

Ints random_integers(size_t count, int64_t low, int64_t high, uint64_t seed) {
  std::mt19937_64 generator(seed);
  Ints values(count);
  for (int64_t& v : values)
    v = low + static_cast<int64_t>(generator() % static_cast<uint64_t>(high - low + 1));
  return values;
}

double saturated(double v, int type) {
  return type == kUInt8 ? std::clamp(v, 0.0, 255.0) : std::clamp(v, -128.0, 127.0);
}

TEST(Quantized, ValuesAreRoundedToEvenAndSaturate) {
  ModelWriter model;
  model.input("x", {6});
  model.floats("scale", {}, {0.5f});
  constant(model, "zero", {}, kInt8, {10});
  model.node("QuantizeLinear", {"x", "scale", "zero"}, "y");
  model.output("y");
  EXPECT_EQ(outputs(model, {value({6}, {0.25f, 0.75f, -0.25f, 1000, -1000, 3})}),
            (std::vector<double>{10, 12, 10, 127, -128, 16}));
}

TEST(Quantized, IntegersOfFourAndSixteenBitsSaturateAtTheirEnds) {
  struct Case {
    int type;  // ONNX's number
    std::vector<double> want;
  } cases[] = {{22, {0, 2, 7, -8, 6}},
               {21, {0, 2, 15, 0, 6}},
               {5, {0, 2, 32767, -32768, 6}},
               {4, {0, 2, 65535, 0, 6}}};
  for (const Case& c : cases) {
    for (const bool by_attribute : {true, false}) {
      ModelWriter model(21);
      model.input("x", {5});
      model.floats("scale", {}, {0.5f});
      std::vector<std::string> operands = {"x", "scale"};
      if (!by_attribute) {
        auto& zero = *model.graph().add_initializer();
        zero.set_name("zero");
        zero.set_data_type(c.type);
        zero.set_raw_data(std::string(c.type > 20 ? 1 : 2, '\0'));
        operands.emplace_back("zero");
      }
      auto& node = model.node("QuantizeLinear", operands, "q");
      if (by_attribute) ModelWriter::set(node, "output_dtype", c.type);
      ModelWriter::set(model.node("Cast", {"q"}, "y"), "to", 6);
      model.output("y");
      EXPECT_EQ(outputs(model, {value({5}, {0.25f, 1, 1e6, -1e6, 3})}), c.want) << c.type << by_attribute;
    }
  }
}

TEST(Quantized, FourBitsAreDequantizedByBlocks) {
  ModelWriter model(21);
  model.input("x", {2, 1});                          // 0, so that the product is not folded
  auto& weights = *model.graph().add_initializer();  // [2, 5]: -8 … 1 in a row
  weights.set_name("w");
  weights.set_data_type(22);
  for (const int64_t extent : {2, 5}) weights.add_dims(extent);
  weights.set_raw_data("\x98\xba\xdc\xfe\x10");
  model.floats("scale", {2, 2}, {1, 10, 100, 1000});  // blocks of 3, the last of 2
  auto& node = model.node("DequantizeLinear", {"w", "scale"}, "d");
  ModelWriter::set(node, "axis", 1);
  ModelWriter::set(node, "block_size", 3);
  model.node("Add", {"d", "x"}, "y");
  model.output("y");
  EXPECT_EQ(outputs(model, {value({2, 1}, {0, 0})}),
            (std::vector<double>{-8, -7, -6, -50, -40, -300, -200, -100, 0, 1000}));
}

TEST(Quantized, CastsToFourBitsAreTheNearestOrTheLowBits) {
  for (const auto& [type, of_float, of_int] :
       {std::tuple(22, std::vector<double>{2, 4, -8, 7, -2}, std::vector<double>{2, -7, -8, 7, -1}),
        {21, {2, 4, 0, 15, 0}, {2, 9, 8, 7, 15}}}) {
    for (const bool whole : {false, true}) {
      ModelWriter model(21);
      model.input("x", {5}, whole ? kInt32 : 1);
      ModelWriter::set(model.node("Cast", {"x"}, "q"), "to", type);
      ModelWriter::set(model.node("Cast", {"q"}, "y"), "to", 6);
      model.output("y");
      const HostTensor x = whole ? value(Element::kInt32, {5}, {2, 25, -8, 7, -1})
                                 : value({5}, {2.4f, 3.6f, -100, 100, -1.5f});
      EXPECT_EQ(outputs(model, {x}), whole ? of_int : of_float) << type;
    }
  }
}

TEST(Quantized, FourBitsAreRefusedWhereTheyWouldBeTakenForBytes) {
  ModelWriter model(21);
  model.input("x", {2});
  ModelWriter::set(model.node("Cast", {"x"}, "q"), "to", 22);
  model.node("Reshape", {"q", "shape"}, "r");
  model.ints("shape", {2, 1});
  model.node("Neg", {"r"}, "y");
  model.output("y");
  EXPECT_THAT(std::string(import_model(model.bytes(), {}, {}).status().message()),
              testing::HasSubstr("of int4 and uint4 is not supported"));
}

TEST(Quantized, WithoutAZeroPointGivesUnsignedBytes) {
  ModelWriter model;
  model.input("x", {3});
  model.floats("scale", {}, {2});
  model.node("QuantizeLinear", {"x", "scale"}, "y");
  model.output("y");
  EXPECT_EQ(outputs(model, {value({3}, {-4, 7, 600})}), (std::vector<double>{0, 4, 255}));
}

TEST(Quantized, ScalesAndZeroPointsStandAlongAnAxis) {
  ModelWriter model;
  model.input("x", {2, 3}, kInt8);
  model.floats("scale", {2}, {0.5f, 2});
  constant(model, "zero", {2}, kInt8, {1, -1});
  ModelWriter::set(model.node("DequantizeLinear", {"x", "scale", "zero"}, "y"), "axis", 0);
  model.output("y");
  EXPECT_EQ(outputs(model, {value(Element::kInt8, {2, 3}, {1, 2, 3, 0, 1, -128})}),
            (std::vector<double>{0, 0.5, 1, 2, 4, -254}));
}

TEST(Quantized, DynamicQuantizationCoversZero) {
  ModelWriter model;
  model.input("x", {4});
  auto& node = model.node("DynamicQuantizeLinear", {"x"}, "y");
  node.add_output("scale");
  node.add_output("zero");
  for (const char* name : {"y", "scale", "zero"}) model.output(name);
  const std::vector<HostTensor> x = {value({4}, {1, 2, 3, 5.1f})};
  EXPECT_NEAR(outputs(model, x, 1)[0], 5.1 / 255, 1e-7);
  EXPECT_EQ(outputs(model, x, 2)[0], 0);
  EXPECT_EQ(outputs(model, x, 0), (std::vector<double>{50, 100, 150, 255}));
  const std::vector<HostTensor> zeros = {value({4}, {0, 0, 0, 0})};
  EXPECT_EQ(outputs(model, zeros, 1)[0], 1);
  EXPECT_EQ(outputs(model, zeros, 0), (std::vector<double>{0, 0, 0, 0}));
}

// x of u8 with one scale, weights of i8 with a scale a channel, a bias of i32: what tools that quantize
// write.
class DequantizedProducts : public ::testing::Test {
 protected:
  static constexpr float kXScale = 0.02f, kYScale = 0.7f;
  static constexpr int64_t kXZero = 120, kYZero = 100, kChannels = 4;

  static float w_scale(int64_t channel) { return 0.01f + 0.005f * static_cast<float>(channel); }
  void add_operands(const Ints& x_shape, const Ints& w_shape, const Ints& w, int64_t w_axis) {
    model.input("x", x_shape, kUInt8);
    model.floats("x_scale", {}, {kXScale});
    constant(model, "x_zero", {}, kUInt8, {kXZero});
    model.node("DequantizeLinear", {"x", "x_scale", "x_zero"}, "x_real");
    constant(model, "w", w_shape, kInt8, w);
    Floats scales;
    for (int64_t m = 0; m < kChannels; ++m) scales.push_back(w_scale(m));
    model.floats("w_scale", {kChannels}, scales);
    ModelWriter::set(model.node("DequantizeLinear", {"w", "w_scale"}, "w_real"), "axis", w_axis);
  }
  void quantize(const std::string& real) {
    model.floats("y_scale", {}, {kYScale});
    constant(model, "y_zero", {}, kUInt8, {kYZero});
    model.node("QuantizeLinear", {real, "y_scale", "y_zero"}, "y");
    model.output("y");
  }
  // The product's own elements: i32 where it is one of integers.
  Element product_element() {
    const absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, {});
    EXPECT_TRUE(graph.ok()) << graph.status();
    for (size_t i = 0; graph.ok() && i < graph->nodes.size(); ++i) {
      const auto& op = graph->nodes[i].op;
      if (std::holds_alternative<graph::Conv>(op) || std::holds_alternative<graph::MatMul>(op))
        return graph->type(graph::NodeId(i)).element;
    }
    return Element::kBool;
  }
  // What the formula gives, and by how much it is from being rounded to another integer.
  static void expect_rounded(double got, double real) {
    const double scaled = real / static_cast<double>(kYScale);
    const double want = saturated(std::nearbyint(scaled) + static_cast<double>(kYZero), kUInt8);
    const bool tie = std::fabs(std::fabs(scaled - std::floor(scaled)) - 0.5) < 1e-3;
    EXPECT_LE(std::fabs(got - want), tie ? 1 : 0) << real;
  }
  // y = alpha * x[3, 7] · w[7, kChannels] + bias, where the operands' integers are x(m, k) and w(k, n).
  static void expect_matrix_product(const std::vector<double>& y,
                                    const std::function<int64_t(int64_t, int64_t)>& x,
                                    const std::function<int64_t(int64_t, int64_t)>& w, double alpha = 1,
                                    const Floats& bias = Floats(kChannels, 0)) {
    ASSERT_EQ(y.size(), static_cast<size_t>(3 * kChannels));
    for (int64_t m = 0; m < 3; ++m) {
      for (int64_t n = 0; n < kChannels; ++n) {
        int64_t sum = 0;
        for (int64_t k = 0; k < 7; ++k) sum += (x(m, k) - kXZero) * w(k, n);
        const double scale = static_cast<double>(kXScale) * static_cast<double>(w_scale(n));
        expect_rounded(
            y[static_cast<size_t>(m * kChannels + n)],
            alpha * static_cast<double>(sum) * scale + static_cast<double>(bias[static_cast<size_t>(n)]));
      }
    }
  }

  ModelWriter model;
};

TEST_F(DequantizedProducts, ConvolveIntegersWithPaddingAndABias) {
  const Ints w = random_integers(kChannels * 2 * 9, -128, 127, 3);
  const Ints x = random_integers(2 * 5 * 6, 0, 255, 4);
  add_operands({1, 2, 5, 6}, {kChannels, 2, 3, 3}, w, 0);
  const Floats bias = {1.5f, -2, 0, 30};
  model.floats("bias", {kChannels}, bias);
  ModelWriter::set(model.node("Conv", {"x_real", "w_real", "bias"}, "y_real"), "pads", Ints{1, 1, 1, 1});
  quantize("y_real");
  EXPECT_EQ(product_element(), Element::kInt32);
  const std::vector<double> y = outputs(model, {value(Element::kUInt8, {1, 2, 5, 6}, x)});
  ASSERT_EQ(y.size(), static_cast<size_t>(kChannels * 5 * 6));
  for (int64_t m = 0; m < kChannels; ++m) {
    for (int64_t h = 0; h < 5; ++h) {
      for (int64_t v = 0; v < 6; ++v) {
        int64_t sum = 0;
        for (int64_t c = 0; c < 2; ++c)
          for (int64_t i = 0; i < 3; ++i)
            for (int64_t j = 0; j < 3; ++j) {
              const int64_t row = h + i - 1, column = v + j - 1;
              if (row < 0 || row >= 5 || column < 0 || column >= 6) continue;
              sum += (x[static_cast<size_t>((c * 5 + row) * 6 + column)] - kXZero) *
                     w[static_cast<size_t>(((m * 2 + c) * 3 + i) * 3 + j)];
            }
        const double scale = static_cast<double>(kXScale) * static_cast<double>(w_scale(m));
        expect_rounded(y[static_cast<size_t>((m * 5 + h) * 6 + v)],
                       static_cast<double>(sum) * scale + static_cast<double>(bias[static_cast<size_t>(m)]));
      }
    }
  }
}

TEST_F(DequantizedProducts, MultiplyMatricesOfIntegers) {
  const Ints w = random_integers(7 * kChannels, -128, 127, 5);
  const Ints x = random_integers(3 * 7, 0, 255, 6);
  add_operands({3, 7}, {7, kChannels}, w, 1);
  model.node("MatMul", {"x_real", "w_real"}, "y_real");
  quantize("y_real");
  EXPECT_EQ(product_element(), Element::kInt32);
  expect_matrix_product(
      outputs(model, {value(Element::kUInt8, {3, 7}, x)}),
      [&](int64_t m, int64_t k) { return x[static_cast<size_t>(m * 7 + k)]; },
      [&](int64_t k, int64_t n) { return w[static_cast<size_t>(k * kChannels + n)]; });
}

// As a fully connected layer is exported: filters in rows, a bias of i32 in the product's scale.
TEST_F(DequantizedProducts, MultiplyAndAddIntegersOfATransposedMatrix) {
  const Ints w = random_integers(kChannels * 7, -128, 127, 5), x = random_integers(3 * 7, 0, 255, 6);
  add_operands({3, 7}, {kChannels, 7}, w, 0);
  const Floats c = {4, -8, 0, 12};
  model.floats("c", {kChannels}, c);
  auto& node = model.node("Gemm", {"x_real", "w_real", "c"}, "y_real");
  ModelWriter::set(node, "transB", 1);
  auto& alpha = *node.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(::onnx::AttributeProto::FLOAT);
  alpha.set_f(0.5f);
  quantize("y_real");
  EXPECT_EQ(product_element(), Element::kInt32);
  expect_matrix_product(
      outputs(model, {value(Element::kUInt8, {3, 7}, x)}),
      [&](int64_t m, int64_t k) { return x[static_cast<size_t>(m * 7 + k)]; },
      [&](int64_t k, int64_t n) { return w[static_cast<size_t>(n * 7 + k)]; }, 0.5, c);
}

// The first matrix given by columns.
TEST_F(DequantizedProducts, MultiplyIntegersOfATransposedActivation) {
  const Ints w = random_integers(7 * kChannels, -128, 127, 5), x = random_integers(7 * 3, 0, 255, 6);
  add_operands({7, 3}, {7, kChannels}, w, 1);
  ModelWriter::set(model.node("Gemm", {"x_real", "w_real"}, "y_real"), "transA", 1);
  quantize("y_real");
  EXPECT_EQ(product_element(), Element::kInt32);
  expect_matrix_product(
      outputs(model, {value(Element::kUInt8, {7, 3}, x)}),
      [&](int64_t m, int64_t k) { return x[static_cast<size_t>(k * 3 + m)]; },
      [&](int64_t k, int64_t n) { return w[static_cast<size_t>(k * kChannels + n)]; });
}

TEST_F(DequantizedProducts, StayRealWhereScalesStandAlongAnotherAxisThanChannels) {
  add_operands({3, kChannels}, {kChannels, 5}, random_integers(kChannels * 5, -128, 127, 7), 0);
  model.node("MatMul", {"x_real", "w_real"}, "y");
  model.output("y");
  EXPECT_EQ(product_element(), Element::kFloat32);
}

struct ProductCase {
  const char* name;
  int a, b;  // element types
  int64_t a_zero;
  Ints b_zero;  // one, or one a channel
};
void PrintTo(const ProductCase& each, std::ostream* out) {
  *out << each.name;
}

class QuantizedProducts : public ::testing::TestWithParam<ProductCase> {
 protected:
  static Ints random(int type, size_t count, uint64_t seed) {
    return type == kUInt8 ? random_integers(count, 0, 255, seed) : random_integers(count, -128, 127, seed);
  }
  // Operands 1 to 7 of both QLinear operators: scales, zero points and b.
  static void add_operands(ModelWriter& model, const Ints& shape, const Ints& b, int64_t channels) {
    const ProductCase& c = GetParam();
    model.floats("a_scale", {}, {0.02f});
    constant(model, "a_zero", {}, c.a, {c.a_zero});
    constant(model, "b", shape, c.b, b);
    Floats scales;
    for (int64_t m = 0; m < channels; ++m) scales.push_back(0.01f + 0.005f * static_cast<float>(m));
    model.floats("b_scale", {channels}, scales);
    const Ints zero_shape = c.b_zero.size() == 1 ? Ints{} : Ints{channels};
    constant(model, "b_zero", zero_shape, c.b, c.b_zero);
    model.floats("y_scale", {}, {0.7f});
    constant(model, "y_zero", {}, kUInt8, {100});
  }
  static int64_t b_zero(int64_t channel) {
    const Ints& zeros = GetParam().b_zero;
    return zeros[static_cast<size_t>(channel) % zeros.size()];
  }
  static double expected(int64_t sum, int64_t channel) {
    const float scale = 0.02f * (0.01f + 0.005f * static_cast<float>(channel)) / 0.7f;
    return saturated(std::nearbyint(static_cast<float>(sum) * scale) + 100, kUInt8);
  }
  // A factor that is folded may round once less, so that a value half way may fall to the other side.
  static void expect_close(const std::vector<double>& got, const std::vector<double>& want) {
    ASSERT_EQ(got.size(), want.size());
    int apart = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_LE(std::abs(got[i] - want[i]), 1) << i;
      apart += got[i] != want[i];
    }
    EXPECT_LE(apart * 50, static_cast<int>(got.size()));
  }
};

TEST_P(QuantizedProducts, OfMatricesAgree) {
  const ProductCase& c = GetParam();
  constexpr int64_t kM = 5, kK = 12, kN = 3;
  const Ints a = random(c.a, kM * kK, 1), b = random(c.b, kK * kN, 2);
  ModelWriter model;
  model.input("a", {kM, kK}, c.a);
  add_operands(model, {kK, kN}, b, kN);
  model.node("QLinearMatMul", {"a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"}, "y");
  model.output("y");
  std::vector<double> want;
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t n = 0; n < kN; ++n) {
      int64_t sum = 0;
      for (int64_t k = 0; k < kK; ++k)
        sum += (a[static_cast<size_t>(m * kK + k)] - c.a_zero) *
               (b[static_cast<size_t>(k * kN + n)] - b_zero(n));
      want.push_back(expected(sum, n));
    }
  expect_close(outputs(model, {value(element_of(c.a), {kM, kK}, a)}), want);
}

TEST_P(QuantizedProducts, OfConvolutionsWithPaddingAndBiasAgree) {
  const ProductCase& c = GetParam();
  constexpr int64_t kC = 4, kSize = 5, kM = 3;
  const Ints a = random(c.a, kC * kSize * kSize, 3), b = random(c.b, kM * kC * 9, 4);
  const Ints bias = random_integers(kM, -500, 500, 5);
  ModelWriter model;
  model.input("a", {1, kC, kSize, kSize}, c.a);
  add_operands(model, {kM, kC, 3, 3}, b, kM);
  constant(model, "bias", {kM}, kInt32, bias);
  auto& node = model.node(
      "QLinearConv", {"a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero", "bias"}, "y");
  ModelWriter::set(node, "pads", Ints{1, 1, 1, 1});
  model.output("y");
  std::vector<double> want;
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t y = 0; y < kSize; ++y)
      for (int64_t x = 0; x < kSize; ++x) {
        int64_t sum = bias[static_cast<size_t>(m)];
        for (int64_t i = 0; i < kC * 9; ++i) {
          const int64_t row = y + i / 3 % 3 - 1, column = x + i % 3 - 1;
          if (row < 0 || row >= kSize || column < 0 || column >= kSize) continue;
          sum += (a[static_cast<size_t>((i / 9 * kSize + row) * kSize + column)] - c.a_zero) *
                 (b[static_cast<size_t>(m * kC * 9 + i)] - b_zero(m));
        }
        want.push_back(expected(sum, m));
      }
  expect_close(outputs(model, {value(element_of(c.a), {1, kC, kSize, kSize}, a)}), want);
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedProducts,
                         ::testing::Values(ProductCase{"symmetric_weights", kUInt8, kInt8, 0, {0}},
                                           ProductCase{"zero_point_of_activations", kUInt8, kInt8, 117, {0}},
                                           ProductCase{
                                               "unsigned_weights_around_128", kUInt8, kUInt8, 3, {128}},
                                           ProductCase{"zero_points_a_channel", kUInt8, kInt8, 9, {-3, 0, 5}},
                                           ProductCase{"unsigned_weights", kUInt8, kUInt8, 50, {7}},
                                           ProductCase{"signed_activations", kInt8, kInt8, -20, {0}}),
                         [](const auto& param) { return param.param.name; });

TEST(Quantized, RefusesWhatItDoesNotKnowInOneLine) {
  ModelWriter model(21);
  model.input("x", {4, 4});
  model.floats("scale", {2, 4}, Floats(8, 1));
  ModelWriter::set(model.node("QuantizeLinear", {"x", "scale"}, "y"), "block_size", 2);
  model.output("y");
  absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, {});
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(std::string(graph.status().message()),
              testing::HasSubstr("not one for each block of 2 along axis 1"));
}

}  // namespace
}  // namespace tf::onnx
