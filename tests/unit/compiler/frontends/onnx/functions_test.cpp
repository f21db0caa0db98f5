// Functions of elements that rules compose, against the C library in higher precision.
#include <cmath>
#include <limits>

#include "tests/support/onnx/node_outputs.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Doubles = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Values of many sizes and both signs, near to one and zero, and the odd ones.
Doubles samples(Element element) {
  Doubles all = {0.0, -0.0, 1.0, -1.0, kInfinity, -kInfinity, kNaN};
  for (const double size : {1e-30, 1e-12, 1e-5, 0.003, 0.1,  0.4,  0.66,  0.7, 0.999, 1.001, 1.5,
                            2.5,   8.0,   19.9, 20.1,  60.0, 88.9, 700.0, 1e8, 1e10,  1e30})
    for (const double sign : {1.0, -1.0})
      all.push_back(element == Element::kFloat32 ? static_cast<float>(sign * size) : sign * size);
  for (int e = 4; e < 20; e += 3) all.insert(all.end(), {1 - std::ldexp(1, -e), -1 + std::ldexp(1, -e)});
  return all;
}

struct Function {
  const char* op_type;
  long double (*exact)(long double);
  std::function<void(::onnx::NodeProto&)> attributes = {};
  double units_f32 = 8;
};

TEST(Functions, AgreeWithTheMathLibraryToAFewUnits) {
  const Function functions[] = {
      {"Tan", std::tan},
      {"Sinh", std::sinh},
      {"Cosh", std::cosh},
      {"Asin", std::asin},
      {"Acos", std::acos},
      {"Atan", std::atan},
      {"Asinh", std::asinh},
      {"Acosh", std::acosh},
      {"Atanh", std::atanh},
      {"Mish",
       [](long double x) {
         return x == -kInfinity ? kNaN : x > 1e4L ? x : x * std::tanh(std::log1p(std::exp(x)));
       },
       {},
       16},
      {"Swish", [](long double x) { return x == -kInfinity ? kNaN : x / (1 + std::exp(-2 * x)); },
       [](auto& node) { set(node, "alpha", 2.0); }, 400},
      {"Selu", [](long double x) { return 3 * (x > 0 ? x : 0.5L * std::expm1(x)); },
       [](auto& node) { set(node, "alpha", 0.5), set(node, "gamma", 3.0); }},
      {"Celu", [](long double x) { return x > 0 ? x : 2 * std::expm1(x / 2); },
       [](auto& node) { set(node, "alpha", 2.0); }},
      {"ThresholdedRelu", [](long double x) { return x > 0.5L ? x : 0; },
       [](auto& node) { set(node, "alpha", 0.5); }},
      {"Shrink", [](long double x) { return x < -0.5L  ? x + 0.25L
                                            : x > 0.5L ? x - 0.25L
                                                       : 0; },
       [](auto& node) { set(node, "bias", 0.25); }},
      {"Sign", [](long double x) {
         return x > 0 ? 1.0L : x < 0 ? -1.0L : x == 0 ? 0.0L : x;
       }}};
  for (const auto& [op_type, exact, attributes, units] : functions) {
    for (const Element element : {Element::kFloat32, Element::kFloat64}) {
      const Doubles x = samples(element);
      const Doubles y = node_outputs({.op_type = op_type,
                                      .operands = {{element, {static_cast<int64_t>(x.size())}, x}},
                                      .attributes = attributes});
      ASSERT_EQ(y.size(), x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        SCOPED_TRACE(testing::Message()
                     << op_type << " of " << x[i] << " as " << tensor::element_name(element));
        const long double want = exact(x[i]);
        const double rounded =
            element == Element::kFloat32 ? static_cast<float>(want) : static_cast<double>(want);
        if (!(std::fabs(want) < kInfinity) || std::isinf(rounded)) {
          EXPECT_EQ(std::isnan(y[i]), std::isnan(rounded)) << y[i];
          if (std::isinf(rounded)) {
            EXPECT_EQ(y[i], rounded);
          }
          continue;
        }
        if (x[i] == 0) {
          EXPECT_EQ(std::signbit(y[i]), std::signbit(rounded));
        }
        const double unit = element == Element::kFloat32 ? 0x1p-24 * units : 1e-14 * (units > 100 ? 10 : 1);
        const double tiny = element == Element::kFloat32 ? 1e-37 : 1e-300;  // may be flushed
        EXPECT_NEAR(y[i], static_cast<double>(want), unit * std::fabs(static_cast<double>(want)) + tiny);
      }
    }
  }
}

TEST(Functions, OfInfinitiesAreFound) {
  const Operand x{Element::kFloat32, {4}, {1, kInfinity, -kInfinity, kNaN}};
  const auto found = [&](int above, int below) {
    return node_outputs({.op_type = "IsInf", .operands = {x}, .attributes = [&](auto& node) {
                           set(node, "detect_positive", above), set(node, "detect_negative", below);
                         }});
  };
  EXPECT_EQ(found(1, 1), (Doubles{0, 1, 1, 0}));
  EXPECT_EQ(found(1, 0), (Doubles{0, 1, 0, 0}));
  EXPECT_EQ(found(0, 1), (Doubles{0, 0, 1, 0}));
  EXPECT_EQ(found(0, 0), (Doubles{0, 0, 0, 0}));
}

TEST(Functions, RemaindersHaveTheSignOfTheDivisorOrOfTheDividend) {
  const Doubles a = {7, -7, 7, -7, 6, -6, 5, -128, -128}, b = {3, 3, -3, -3, 3, 3, 0, -1, 100};
  const auto mod = [&](Element element, int of_dividend) {
    return node_outputs({.op_type = "Mod",
                         .operands = {{element, {9}, a}, {element, {9}, b}},
                         .attributes = [&](auto& node) { set(node, "fmod", of_dividend); }});
  };
  for (const Element element : {Element::kInt8, Element::kInt32, Element::kInt64}) {
    EXPECT_EQ(mod(element, 0), (Doubles{1, 2, -2, -1, 0, 0, 0, 0, 72}));
    EXPECT_EQ(mod(element, 1), (Doubles{1, -1, 1, -1, 0, 0, 0, 0, -28}));
  }
  const Doubles real = mod(Element::kFloat16, 1);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(b[i] == 0 ? std::isnan(real[i]) : real[i] == std::fmod(a[i], b[i])) << real[i];
  EXPECT_FALSE(
      run_node({.op_type = "Mod", .operands = {{Element::kFloat32, {1}, {1}}, {Element::kFloat32, {1}, {1}}}})
          .ok());
}

TEST(Functions, OfOldOperatorSetsBroadcastAlongAnAxis) {
  const Operand x{Element::kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6}}, z{Element::kFloat32, {2}, {2, 4}};
  const auto of = [&](const char* op_type) {
    return node_outputs({.op_type = op_type, .opset = 6, .operands = {x, z}, .attributes = [](auto& node) {
                           set(node, "axis", 0), set(node, "broadcast", 1);
                         }});
  };
  EXPECT_EQ(of("Add"), (Doubles{3, 4, 5, 8, 9, 10}));
  EXPECT_EQ(of("Greater"), (Doubles{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(of("Less"), (Doubles{1, 0, 0, 0, 0, 0}));
}

TEST(Functions, BitsAreCombinedAndShifted) {
  for (const Element element : {Element::kInt8, Element::kUInt8, Element::kInt32, Element::kInt64})
    for (const bool known : {false, true}) {
      const bool is_signed = element != Element::kUInt8;
      const Operand a{element, {3}, {is_signed ? -100.0 : 156.0, 5, 127}, known},
          b{element, {3}, {77, 3, 64}, known};
      const auto whole = [](int64_t v) { return static_cast<double>(v); };
      const auto of = [&](const char* op, auto&& f) {
        const Doubles y = node_outputs({.op_type = op, .operands = {a, b}});
        for (size_t i = 0; i < 3; ++i)
          EXPECT_EQ(y[i], whole(f(static_cast<int64_t>(a.values[i]), static_cast<int64_t>(b.values[i]))))
              << op;
      };
      of("BitwiseAnd", [](int64_t x, int64_t y) { return x & y; });
      of("BitwiseOr", [](int64_t x, int64_t y) { return x | y; });
      of("BitwiseXor", [](int64_t x, int64_t y) { return x ^ y; });
      EXPECT_EQ(node_outputs({.op_type = "BitwiseNot", .operands = {a}}),
                is_signed ? (Doubles{99, -6, -128}) : (Doubles{99, 250, 128}));
    }
  const Operand x{Element::kUInt8, {4}, {129, 3, 255, 1}}, by{Element::kUInt8, {4}, {1, 2, 9, 255}};
  const auto shifted = [&](const char* direction) {
    return node_outputs({.op_type = "BitShift", .operands = {x, by}, .attributes = [&](auto& node) {
                           set(node, "direction", direction);
                         }});
  };
  EXPECT_EQ(shifted("LEFT"), (Doubles{2, 12, 0, 0}));
  EXPECT_EQ(shifted("RIGHT"), (Doubles{64, 0, 0, 0}));
}

}  // namespace
}  // namespace tf::onnx
