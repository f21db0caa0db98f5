// Imported models of whole numbers, bool and halves, built and run here, and by the reference evaluation:
// whole numbers and bool must be exact.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "compiler/frontends/frontends.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/program/evaluate.h"
#include "tests/support/onnx/model_writer.h"
#include "tests/unit/compiler/driver/built_model.h"

namespace tf::driver {
namespace {

using graph::HostTensor;
using onnx::ModelWriter;
using tensor::Element;
using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

constexpr int kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9, kHalf = 10, kDouble = 11;

HostTensor whole(Element element, const Ints& values) {
  return {"x",
          element,
          {static_cast<int64_t>(values.size())},
          std::make_shared<const graph::Blob>(graph::write_integers(element, values))};
}
HostTensor real(Element element, const Ints& shape, const Floats& values) {
  return {"x", element, shape, std::make_shared<const graph::Blob>(graph::write_floats(element, values))};
}

class ElementTypes : public BuiltModel {
 protected:
  // The only output, by the built model and, which must be the same, by the reference evaluation.
  HostTensor computed(const ModelWriter& model, const std::vector<HostTensor>& inputs) {
    const absl::StatusOr<graph::Graph> network = frontends::import_model(model.bytes(), {});
    EXPECT_TRUE(network.ok()) << network.status();
    if (!network.ok()) return {};
    const auto built = build(*network);
    EXPECT_TRUE(built.ok()) << built.status();
    if (!built.ok()) return {};
    const auto got = (*built)->run(inputs);
    EXPECT_TRUE(got.ok()) << got.status();
    const auto want = graph::evaluate(graph::optimize(*network), inputs);
    EXPECT_TRUE(want.ok()) << want.status();
    if (!got.ok() || !want.ok()) return {};
    EXPECT_EQ((*got)[0].element, (*want)[0].element);
    EXPECT_EQ((*got)[0].data->bytes(), (*want)[0].data->bytes());
    return (*got)[0];
  }
  Ints integers(const ModelWriter& model, const std::vector<HostTensor>& inputs) {
    const HostTensor value = computed(model, inputs);
    return value.data ? graph::read_integers(value.element, value.data->bytes()) : Ints();
  }
  Floats floats(const ModelWriter& model, const std::vector<HostTensor>& inputs) {
    const HostTensor value = computed(model, inputs);
    return value.data ? graph::read_floats(value.element, value.data->bytes()) : Floats();
  }
};

ModelWriter unary_model(const std::string& op, const Ints& shape, int type, int opset = 13) {
  ModelWriter model(opset);
  model.input("x", shape, type);
  model.node(op, {"x"}, "y");
  model.output("y");
  return model;
}

TEST_F(ElementTypes, RaisesWholeNumbersToWholePowersExactlyAndWraps) {
  for (const auto& [type, element] : {std::pair(kInt64, Element::kInt64), {kInt32, Element::kInt32}}) {
    ModelWriter model(15);
    model.input("x", {11}, type);
    model.input("e", {11}, kInt64);
    model.node("Pow", {"x", "e"}, "y");
    model.output("y");
    const Ints bases = {3, -3, 7, 2, 2, 0, 0, 5, 1, -1, -1};
    const Ints exponents = {33, 33, 22, 63, 64, 0, 5, -1, -7, -7, int64_t{1} << 62};
    Ints want = {5559060566555523, -5559060566555523, 3909821048582988049, INT64_MIN, 0, 1, 0, 0, 1, -1, 1};
    if (element == Element::kInt32)
      for (int64_t& value : want) value = tensor::wrap_to_element(element, value);
    EXPECT_EQ(integers(model, {whole(element, bases), whole(Element::kInt64, exponents)}), want);
  }
}

TEST_F(ElementTypes, RaisesWholeNumbersToAnyPowerWithoutSign) {
  ModelWriter model(15);
  model.input("x", {6}, kInt64);
  model.input("e", {6}, 13);
  model.node("Pow", {"x", "e"}, "y");
  model.output("y");
  const int64_t most = -1;  // of u64
  const HostTensor exponents = whole(Element::kUInt64, {most, most, most, INT64_MIN, INT64_MIN, 3});
  // 3^(2^64 - 1) is 1 / 3 modulo 2^64, as 3^(2^62) is 1.
  EXPECT_EQ(integers(model, {whole(Element::kInt64, {-1, 3, 2, -1, 3, -5}), exponents}),
            (Ints{-1, static_cast<int64_t>(0xaaaaaaaaaaaaaaab), 0, 1, 1, -125}));
}

// By repeated multiplication modulo 2^64.
int64_t product(int64_t base, int64_t times) {
  uint64_t result = 1;
  for (int64_t i = 0; i < times; ++i) result *= static_cast<uint64_t>(base);
  return static_cast<int64_t>(result);
}

TEST_F(ElementTypes, RaisesToKnownPowers) {
  for (const int64_t exponent : {0, 1, 2, 5, 39, 70, -2}) {
    ModelWriter model(15);
    model.input("x", {3}, kInt64);
    model.ints("e", {exponent});
    model.node("Pow", {"x", "e"}, "y");
    model.output("y");
    Ints want = {product(3, exponent), product(-7, exponent), product(0, exponent)};
    if (exponent < 0) want = {0, 0, 0};
    EXPECT_EQ(integers(model, {whole(Element::kInt64, {3, -7, 0})}), want) << exponent;
  }
}

TEST_F(ElementTypes, RaisesWholeNumbersToFractionsAndCutsOff) {
  for (const bool known : {true, false}) {
    ModelWriter model(13);
    if (known) {
      model.ints("x", {4, 9, 15});
      model.input("unused", {1});
    } else {
      model.input("x", {3}, kInt64);
    }
    model.floats("e", {}, {0.5f});
    model.node("Pow", {"x", "e"}, "y");
    model.output("y");
    const std::vector<HostTensor> inputs = {known ? real(Element::kFloat32, {1}, {0})
                                                  : whole(Element::kInt64, {4, 9, 15})};
    EXPECT_EQ(integers(model, inputs), (Ints{2, 3, 3})) << known;
  }
  // A whole exponent of floating point is exact, too.
  ModelWriter cube(13);
  cube.input("x", {2}, kInt64);
  cube.floats("e", {}, {3.0f});
  cube.node("Pow", {"x", "e"}, "y");
  cube.output("y");
  EXPECT_EQ(integers(cube, {whole(Element::kInt64, {2000003, -3})}), (Ints{8000036000054000027, -27}));
}

TEST_F(ElementTypes, ComputesShapesWithPowers) {
  ModelWriter model(13);
  model.input("x", {16, 2});
  model.node("Shape", {"x"}, "shape");
  model.floats("e", {}, {0.5f});
  model.node("Pow", {"shape", "e"}, "root");  // 4, 1
  model.ints("rest", {8});
  ModelWriter::set(model.node("Concat", {"root", "rest"}, "target"), "axis", 0);
  model.node("Reshape", {"x", "target"}, "y");
  model.output("y");
  EXPECT_EQ(computed(model, {real(Element::kFloat32, {16, 2}, Floats(32, 1))}).shape, (Ints{4, 1, 8}));
}

TEST_F(ElementTypes, AveragesWholeNumbersTowardsZeroWithoutWrapping) {
  const ModelWriter wide = unary_model("ReduceMean", {5}, kInt64);
  EXPECT_EQ(integers(wide, {whole(Element::kInt64, {1, 2, 3, 4, 9})}), Ints{3});
  EXPECT_EQ(integers(wide, {whole(Element::kInt64, {-1, -2, -3, -4, -9})}), Ints{-3});
  const ModelWriter narrow = unary_model("ReduceMean", {5}, kInt32);
  EXPECT_EQ(
      integers(narrow, {whole(Element::kInt32, {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX})}),
      Ints{INT32_MAX});
}

TEST_F(ElementTypes, ReducesBoolToItsLeastAndGreatest) {
  for (const char* op : {"ReduceMin", "ReduceMax"}) {
    const ModelWriter model = unary_model(op, {3}, kBool, 20);
    const bool any = std::string(op) == "ReduceMax";
    EXPECT_EQ(integers(model, {whole(Element::kBool, {1, 1, 1})}), Ints{1}) << op;
    EXPECT_EQ(integers(model, {whole(Element::kBool, {1, 0, 1})}), Ints{any}) << op;
    EXPECT_EQ(integers(model, {whole(Element::kBool, {0, 0, 0})}), Ints{0}) << op;
  }
}

TEST_F(ElementTypes, KeepsWholeNumbersBeyondWhatADoubleHolds) {
  const int64_t large = (int64_t{1} << 53) + 1;
  const ModelWriter sum = unary_model("ReduceSum", {2}, kInt64);
  EXPECT_EQ(integers(sum, {whole(Element::kInt64, {large, 2})}), Ints{large + 2});
  const ModelWriter most = unary_model("ReduceMax", {2}, kInt64);
  EXPECT_EQ(integers(most, {whole(Element::kInt64, {large, large - 1})}), Ints{large});
  const ModelWriter negative = unary_model("Neg", {2}, kInt64);
  EXPECT_EQ(integers(negative, {whole(Element::kInt64, {large, INT64_MIN})}), (Ints{-large, INT64_MIN}));
  ModelWriter range;
  range.input("x", {3}, kInt64);
  for (const auto& [name, value] : {std::pair("start", large), {"limit", large + 9}, {"step", int64_t{3}}}) {
    auto& bound = *range.graph().add_initializer();
    bound.set_name(name);
    bound.set_data_type(::onnx::TensorProto::INT64);
    bound.add_int64_data(value);
  }
  range.node("Range", {"start", "limit", "step"}, "r");
  range.node("Add", {"x", "r"}, "y");
  range.output("y");
  EXPECT_EQ(integers(range, {whole(Element::kInt64, {0, 0, 1})}), (Ints{large, large + 3, large + 7}));
}

// ONNX's number of each integer type, and that of this project.
template <typename T>
struct IntegerType;
template <>
struct IntegerType<int16_t> {
  static constexpr int kOnnx = 5;
  static constexpr Element kElement = Element::kInt16;
};
template <>
struct IntegerType<uint16_t> {
  static constexpr int kOnnx = 4;
  static constexpr Element kElement = Element::kUInt16;
};
template <>
struct IntegerType<uint32_t> {
  static constexpr int kOnnx = 12;
  static constexpr Element kElement = Element::kUInt32;
};
template <>
struct IntegerType<uint64_t> {
  static constexpr int kOnnx = 13;
  static constexpr Element kElement = Element::kUInt64;
};

template <typename T>
class IntegerTypes : public ElementTypes {
 protected:
  static constexpr int kOnnx = IntegerType<T>::kOnnx;
  static constexpr Element kElement = IntegerType<T>::kElement;
  using Limits = std::numeric_limits<T>;
  // Both ends, their neighbours, the middle, and numbers of no pattern.
  static std::vector<T> numbers() {
    std::vector<T> all = {Limits::min(),
                          Limits::max(),
                          1,
                          7,
                          static_cast<T>(Limits::max() / 2),
                          static_cast<T>(Limits::max() / 2 + 1),
                          static_cast<T>(Limits::max() - 1),
                          100};
    for (uint64_t i = 1; i <= 9; ++i) all.push_back(static_cast<T>(i * 0x9e3779b97f4a7c15));
    return all;
  }
  static HostTensor tensor_of(const std::vector<T>& values) {
    return whole(kElement, Ints(values.begin(), values.end()));
  }
  // op(a, b) of every pair, b as an input and as a constant; want(a, b) gives what is right.
  template <typename F>
  void expect_binary(const std::string& op, F&& want, bool b_may_be_zero = true,
                     const std::string& direction = "") {
    std::vector<T> a, b;
    Ints right;
    for (const T x : numbers()) {
      for (const T y : numbers()) {
        if (y == 0 && !b_may_be_zero) continue;
        a.push_back(x);
        b.push_back(y);
        right.push_back(static_cast<int64_t>(want(x, y)));
      }
    }
    const Ints shape = {static_cast<int64_t>(a.size())};
    ModelWriter model(18);
    for (const char* name : {"a", "b"}) model.input(name, shape, kOnnx);
    auto& node = model.node(op, {"a", "b"}, "y");
    if (!direction.empty()) {
      auto& attribute = *node.add_attribute();
      attribute.set_name("direction");
      attribute.set_type(::onnx::AttributeProto::STRING);
      attribute.set_s(direction);
    }
    model.output("y");
    EXPECT_EQ(this->integers(model, {tensor_of(a), tensor_of(b)}), right) << op << direction;
  }
};

using NewIntegers = ::testing::Types<int16_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(IntegerTypes, NewIntegers);

TYPED_TEST(IntegerTypes, AreComputedWithAndCompared) {
  using T = TypeParam;
  using W = std::make_unsigned_t<T>;
  const auto wide = [](T x) { return static_cast<uint64_t>(x); };
  this->expect_binary("Add", [&](T x, T y) { return static_cast<T>(wide(x) + wide(y)); });
  this->expect_binary("Sub", [&](T x, T y) { return static_cast<T>(wide(x) - wide(y)); });
  this->expect_binary("Mul", [&](T x, T y) { return static_cast<T>(wide(x) * wide(y)); });
  this->expect_binary(
      "Div", [&](T x, T y) { return static_cast<T>(x / y); }, false);
  this->expect_binary("Max", [](T x, T y) { return std::max(x, y); });
  this->expect_binary("Min", [](T x, T y) { return std::min(x, y); });
  this->expect_binary("Less", [](T x, T y) { return x < y; });
  this->expect_binary("GreaterOrEqual", [](T x, T y) { return x >= y; });
  this->expect_binary("Equal", [](T x, T y) { return x == y; });
  this->expect_binary("BitwiseXor", [](T x, T y) { return static_cast<T>(x ^ y); });
  this->expect_binary(
      "Mod",
      [](T x, T y) {
        const T rest = static_cast<T>(x % y);
        return static_cast<T>(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
      },
      false);
  if constexpr (std::is_unsigned_v<T>) {
    const W bits = 8 * sizeof(T);
    const auto left = [&](T x, T y) { return y < bits ? static_cast<T>(wide(x) << y) : T{0}; };
    const auto right = [&](T x, T y) { return y < bits ? static_cast<T>(x >> y) : T{0}; };
    this->expect_binary("BitShift", left, true, "LEFT");
    this->expect_binary("BitShift", right, true, "RIGHT");
  }
}

TYPED_TEST(IntegerTypes, AreConvertedFromAndToFloats) {
  using T = TypeParam;
  using Ends = std::numeric_limits<T>;
  for (const auto& [type, element] : {std::pair(kFloat, Element::kFloat32), {kDouble, Element::kFloat64}}) {
    const std::vector<T> x = this->numbers();
    const Ints shape = {static_cast<int64_t>(x.size())};
    ModelWriter to(13), from(13);
    to.input("x", shape, this->kOnnx);
    ModelWriter::set(to.node("Cast", {"x"}, "y"), "to", type);
    to.output("y");
    Floats right;
    for (const T v : x)
      right.push_back(type == kFloat ? static_cast<double>(static_cast<float>(v)) : static_cast<double>(v));
    EXPECT_EQ(this->floats(to, {this->tensor_of(x)}), right) << type;
    // Beyond the ends: the ends. NaN: 0.
    from.input("x", {8}, type);
    ModelWriter::set(from.node("Cast", {"x"}, "y"), "to", this->kOnnx);
    from.output("y");
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double below = std::is_signed_v<T> ? -7.9 : -0.9;
    const Floats given = {1e30,  -1e30, nan,   0.99,
                          below, 255.5, 16384, std::ldexp(1, 8 * sizeof(T) - 1) - 32768};
    const Ints want = {
        static_cast<int64_t>(Ends::max()),
        static_cast<int64_t>(Ends::min()),
        0,
        0,
        static_cast<int64_t>(below),
        255,
        16384,
        static_cast<int64_t>(static_cast<T>(type == kFloat ? static_cast<float>(given[7]) : given[7]))};
    EXPECT_EQ(this->integers(from, {real(element, {8}, given)}), want) << type;
  }
}

TYPED_TEST(IntegerTypes, AreReducedOrderedAndMoved) {
  using T = TypeParam;
  const std::vector<T> x = this->numbers();
  const auto count = static_cast<int64_t>(x.size());
  const auto reduced = [&](const char* op) {
    return this->integers(unary_model(op, {count}, this->kOnnx, 18), {this->tensor_of(x)});
  };
  uint64_t sum = 0;
  for (const T v : x) sum += static_cast<uint64_t>(v);
  const auto greatest = std::max_element(x.begin(), x.end());
  EXPECT_EQ(reduced("ReduceMax"), Ints{static_cast<int64_t>(*greatest)});
  EXPECT_EQ(reduced("ReduceMin"), Ints{static_cast<int64_t>(*std::min_element(x.begin(), x.end()))});
  EXPECT_EQ(reduced("ReduceSum"), Ints{static_cast<int64_t>(static_cast<T>(sum))});
  EXPECT_EQ(reduced("ArgMax"), Ints{greatest - x.begin()});
  ModelWriter top(11);
  top.input("x", {count}, this->kOnnx);
  top.ints("k", {count});
  top.node("TopK", {"x", "k"}, "y").add_output("places");
  top.output("y");
  std::vector<T> ordered = x;
  std::sort(ordered.begin(), ordered.end(), std::greater<T>());
  EXPECT_EQ(this->integers(top, {this->tensor_of(x)}), Ints(ordered.begin(), ordered.end()));
  ModelWriter gather(13);
  gather.input("x", {count}, this->kOnnx);
  gather.ints("at", {3, 1, 0});
  gather.node("Gather", {"x", "at"}, "y");
  gather.output("y");
  EXPECT_EQ(this->integers(gather, {this->tensor_of(x)}),
            (Ints{static_cast<int64_t>(x[3]), static_cast<int64_t>(x[1]), static_cast<int64_t>(x[0])}));
}

TEST_F(ElementTypes, AveragesHalvesWhoseSumIsNotAHalf) {
  ModelWriter mean;
  for (const char* name : {"a", "b"}) mean.input(name, {2}, kHalf);
  mean.node("Mean", {"a", "b"}, "y");
  mean.output("y");
  const HostTensor large = real(Element::kFloat16, {2}, {60000, -60000});
  EXPECT_EQ(floats(mean, {large, large}), (Floats{60000, -60000}));
  ModelWriter sum;
  for (const char* name : {"a", "b", "c"}) sum.input(name, {2}, kHalf);
  sum.node("Sum", {"a", "b", "c"}, "y");
  sum.output("y");
  EXPECT_EQ(floats(sum, {large, large, real(Element::kFloat16, {2}, {-60000, 60000})}),
            (Floats{60000, -60000}));
}

TEST_F(ElementTypes, ReducesHalvesThatOverflowOnTheWay) {
  const HostTensor large = real(Element::kFloat16, {4}, {60000, 60000, 60000, 60000});
  EXPECT_EQ(floats(unary_model("ReduceMean", {4}, kHalf), {large}), Floats{60000});
  EXPECT_EQ(floats(unary_model("ReduceSum", {4}, kHalf),
                   {real(Element::kFloat16, {4}, {60000, 60000, -60000, -49984})}),
            Floats{10016});
  EXPECT_EQ(floats(unary_model("ReduceProd", {4}, kHalf),
                   {real(Element::kFloat16, {4}, {1024, 1024, 0.0009765625, 0.5})}),
            Floats{512});
  const HostTensor map = real(Element::kFloat16, {1, 1, 2, 2}, {60000, 60000, 60000, 60000});
  EXPECT_EQ(floats(unary_model("GlobalAveragePool", {1, 1, 2, 2}, kHalf), {map}), Floats{60000});
  ModelWriter pool;
  pool.input("x", {1, 1, 2, 2}, kHalf);
  ModelWriter::set(pool.node("AveragePool", {"x"}, "y"), "kernel_shape", Ints{2, 2});
  pool.output("y");
  EXPECT_EQ(floats(pool, {map}), Floats{60000});
  ModelWriter softmax = unary_model("Softmax", {4}, kHalf);
  EXPECT_EQ(floats(softmax, {large}), (Floats{0.25, 0.25, 0.25, 0.25}));
}

// (x - mean) / sqrt(variance) * scale + bias, where x - mean is no half. The parameters are inputs, or f32
// beside a half.
TEST_F(ElementTypes, NormalizesHalvesByStatisticsOfTheirOwnTypeOrWider) {
  for (const bool wide : {false, true}) {
    ModelWriter model(15);
    model.input("x", {2, 1, 2}, kHalf);
    for (const char* name : {"scale", "bias"}) model.input(name, {1}, kHalf);
    for (const char* name : {"mean", "variance"}) model.input(name, {1}, wide ? kFloat : kHalf);
    model.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, "y");
    model.output("y");
    const Element statistic = wide ? Element::kFloat32 : Element::kFloat16;
    const std::vector<HostTensor> inputs = {
        real(Element::kFloat16, {2, 1, 2}, {60000, -60000, 4000, 0}), real(Element::kFloat16, {1}, {0.125}),
        real(Element::kFloat16, {1}, {1}), real(statistic, {1}, {-60000}), real(statistic, {1}, {1})};
    EXPECT_EQ(floats(model, inputs), (Floats{15000, 1, 8000, 7500})) << wide;
  }
  ModelWriter early(13);
  early.input("x", {2, 1, 2}, kHalf);
  for (const char* name : {"scale", "bias", "mean", "variance"}) early.input(name, {1}, kFloat);
  early.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, "y");
  early.output("y");
  EXPECT_THAT(std::string(frontends::import_model(early.bytes(), {}).status().message()),
              testing::HasSubstr("different element types"));
}

TEST_F(ElementTypes, ScalesAProductOfHalvesBeforeItIsRounded) {
  ModelWriter model;
  model.input("a", {1, 2}, kHalf);
  model.input("b", {2, 1}, kHalf);
  auto& node = model.node("Gemm", {"a", "b"}, "y");
  auto& alpha = *node.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(::onnx::AttributeProto::FLOAT);
  alpha.set_f(0.0625);
  model.output("y");
  EXPECT_EQ(floats(model, {real(Element::kFloat16, {1, 2}, {512, 512}),
                           real(Element::kFloat16, {2, 1}, {512, 512})}),
            Floats{32768});
}

TEST_F(ElementTypes, FindsNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const auto& [type, element] :
       {std::pair(kFloat, Element::kFloat32), {kHalf, Element::kFloat16}, {kDouble, Element::kFloat64}})
    EXPECT_EQ(integers(unary_model("IsNaN", {5}, type), {real(element, {5}, {0, nan, inf, -inf, -nan})}),
              (Ints{0, 1, 0, 0, 1}));
}

TEST_F(ElementTypes, MasksRowsOfSoftmaxThatAreNaN) {
  ModelWriter model(20);
  model.input("x", {2, 2});
  model.floats("zero", {}, {0});
  ModelWriter::set(model.node("Softmax", {"x"}, "s"), "axis", -1);
  model.node("IsNaN", {"s"}, "n");
  model.node("Where", {"n", "zero", "s"}, "y");
  model.output("y");
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(floats(model, {real(Element::kFloat32, {2, 2}, {-inf, -inf, 1, -inf})}), (Floats{0, 0, 1, 0}));
}

TEST_F(ElementTypes, GivesTheMaskOfADropoutThatDropsNothing) {
  ModelWriter model;
  model.input("x", {3});
  model.node("Dropout", {"x"}, "d").add_output("y");
  model.output("y");
  EXPECT_EQ(integers(model, {real(Element::kFloat32, {3}, {1, 2, 3})}), (Ints{1, 1, 1}));
}

TEST_F(ElementTypes, DividesAnOverhangingWindowByItsTapsInThePaddedInput) {
  ModelWriter model(19);
  model.input("x", {1, 1, 4});
  auto& node = model.node("AveragePool", {"x"}, "y");
  ModelWriter::set(node, "kernel_shape", Ints{3});
  ModelWriter::set(node, "strides", Ints{2});
  ModelWriter::set(node, "pads", Ints{1, 1});
  ModelWriter::set(node, "ceil_mode", 1);
  ModelWriter::set(node, "count_include_pad", 1);
  model.output("y");
  // Windows at -1, 1 and 3 of [-1, 5): (0, 3, 6), (6, 9, 12), (12, 0).
  EXPECT_EQ(floats(model, {real(Element::kFloat32, {1, 1, 4}, {3, 6, 9, 12})}), (Floats{3, 9, 6}));
}

TEST_F(ElementTypes, TakesAnEmptyNameForAnAbsentBias) {
  ModelWriter model;
  model.input("x", {1, 1, 3});
  model.floats("w", {1, 1, 1}, {2});
  model.node("Conv", {"x", "w", ""}, "y");
  model.output("y");
  EXPECT_EQ(floats(model, {real(Element::kFloat32, {1, 1, 3}, {1, 2, 3})}), (Floats{2, 4, 6}));
}

}  // namespace
}  // namespace tf::driver
