#include "compiler/ops/elementwise.h"

#include <algorithm>

#include "tests/unit/compiler/ops/host_tensor.h"

namespace tf::ops {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(Unary, EveryFunctionAgreesWithTheMathLibrary) {
  const std::pair<UnaryKind, std::function<double(double)>> cases[] = {
      {UnaryKind::kIdentity, [](double x) { return x; }},
      {UnaryKind::kNeg, [](double x) { return -x; }},
      {UnaryKind::kAbs, [](double x) { return std::fabs(x); }},
      {UnaryKind::kRelu, [](double x) { return std::max(x, 0.0); }},
      {UnaryKind::kSigmoid, sigmoid},
      {UnaryKind::kTanh, [](double x) { return std::tanh(x); }},
      {UnaryKind::kErf, [](double x) { return std::erf(x); }},
      {UnaryKind::kExp, [](double x) { return std::exp(x); }},
      {UnaryKind::kExpm1, [](double x) { return std::expm1(x); }},
      {UnaryKind::kLog, [](double x) { return std::log(x); }},
      {UnaryKind::kLog1p, [](double x) { return std::log1p(x); }},
      {UnaryKind::kSqrt, [](double x) { return std::sqrt(x); }},
      {UnaryKind::kReciprocal, [](double x) { return 1 / x; }},
      {UnaryKind::kFloor, [](double x) { return std::floor(x); }},
      {UnaryKind::kCeil, [](double x) { return std::ceil(x); }},
      {UnaryKind::kRound, [](double x) { return std::nearbyint(x); }},
      {UnaryKind::kSin, [](double x) { return std::sin(x); }},
      {UnaryKind::kCos, [](double x) { return std::cos(x); }},
      {UnaryKind::kAtan, [](double x) { return std::atan(x); }}};
  static_assert(std::size(cases) == static_cast<size_t>(UnaryKind::kNot));  // all but kNot
  for (const auto& [kind, f] : cases) {
    const bool positive = kind == UnaryKind::kLog || kind == UnaryKind::kLog1p || kind == UnaryKind::kSqrt ||
                          kind == UnaryKind::kReciprocal;
    const HostTensor x = random_tensor({3, 17}, 5, positive ? 0.1 : -5, 5);
    Builder b;
    const Buffer input = input_like(b, "x", x);
    SCOPED_TRACE(std::string(name_of(kind)));
    expect_near(run(b, unary(b, kind, input), {x}),
                generate(x.shape, [&](const Shape& i) { return f(x.at(i)); }), 1e-5);
  }
}

TEST(Unary, ParameterisedActivationsAgreeWithTheirFormulas) {
  const HostTensor x = random_tensor({40}, 5, -4, 4);
  const auto check = [&](const std::function<Buffer(Builder&, const Buffer&)>& op,
                         const std::function<double(double)>& f) {
    Builder b;
    const Buffer input = input_like(b, "x", x);
    expect_near(run(b, op(b, input), {x}), generate(x.shape, [&](const Shape& i) { return f(x.at(i)); }),
                1e-5);
  };
  check([](Builder& b, const Buffer& v) { return leaky_relu(b, v, 0.1); },
        [](double v) { return v < 0 ? 0.1 * v : v; });
  check([](Builder& b, const Buffer& v) { return clip(b, v, 0, 2); },
        [](double v) { return std::clamp(v, 0.0, 2.0); });
  check([](Builder& b, const Buffer& v) { return clip(b, v, -INFINITY, 1); },
        [](double v) { return std::min(v, 1.0); });
}

TEST(Unary, ClipLeavesOutBoundsThatNoElementLiesBeyond) {
  const auto clipped = [](Element element, double low, double high) {
    Builder b;
    const Buffer x = b.input("x", element, extents_of({3}));
    return tensor::canonical_text(*b.finish({clip(b, x, low, high)}));
  };
  EXPECT_THAT(clipped(Element::kInt64, 0, 0x1p63), AllOf(HasSubstr("max("), Not(HasSubstr("min("))));
  EXPECT_THAT(clipped(Element::kInt64, -0x1p63, 5), AllOf(Not(HasSubstr("max(")), HasSubstr("min(")));
  EXPECT_THAT(clipped(Element::kInt8, -128, 127), AllOf(Not(HasSubstr("max(")), Not(HasSubstr("min("))));
  EXPECT_THAT(clipped(Element::kUInt8, -3, 254), AllOf(Not(HasSubstr("max(")), HasSubstr("254u8")));
}

TEST(Unary, WhatAFunctionCannotTakeIsNamed) {
  Builder b;
  const Buffer x = b.input("x", Element::kInt32, extents_of({2}));
  EXPECT_THAT(error_of(b, relu(b, unary(b, UnaryKind::kTanh, x))), HasSubstr("tanh: cannot take i32[2]"));
}

TEST(Binary, EveryFunctionAgreesOnFloats) {
  const std::pair<BinaryKind, std::function<double(double, double)>> cases[] = {
      {BinaryKind::kAdd, [](double x, double y) { return x + y; }},
      {BinaryKind::kSub, [](double x, double y) { return x - y; }},
      {BinaryKind::kMul, [](double x, double y) { return x * y; }},
      {BinaryKind::kDiv, [](double x, double y) { return x / y; }},
      {BinaryKind::kPow, [](double x, double y) { return std::pow(x, y); }},
      {BinaryKind::kFmod, [](double x, double y) { return std::fmod(x, y); }},
      {BinaryKind::kMin, [](double x, double y) { return std::min(x, y); }},
      {BinaryKind::kMax, [](double x, double y) { return std::max(x, y); }},
      {BinaryKind::kEqual, [](double x, double y) { return x == y; }},
      {BinaryKind::kLess, [](double x, double y) { return x < y; }},
      {BinaryKind::kLessEqual, [](double x, double y) { return x <= y; }}};
  for (const auto& [kind, f] : cases) {
    HostTensor x = random_tensor({3, 5}, 1, 0.1, 3), y = random_tensor({3, 5}, 2, 0.1, 3);
    y.values[4] = x.values[4];
    Builder b;
    const Buffer xb = input_like(b, "x", x), yb = input_like(b, "y", y);
    SCOPED_TRACE(std::string(name_of(kind)));
    expect_near(run(b, binary(b, kind, xb, yb), {x, y}),
                generate(x.shape, [&](const Shape& i) { return f(x.at(i), y.at(i)); }));
  }
}

TEST(Binary, OperandsBroadcastAsInNumpy) {
  const HostTensor x = random_tensor({2, 1, 3}, 1), y = random_tensor({4, 1}, 2), s = random_tensor({}, 3);
  Builder b;
  const Buffer xb = input_like(b, "x", x), yb = input_like(b, "y", y), sb = input_like(b, "s", s);
  const Buffer sum = binary(b, BinaryKind::kAdd, binary(b, BinaryKind::kMul, xb, yb), sb);
  expect_near(run(b, sum, {x, y, s}), generate({2, 4, 3}, [&](const Shape& i) {
                return x.at({i[0], 0, i[2]}) * y.at({i[1], 0}) + s.at({});
              }));
}

TEST(Binary, AScalarTakesTheElementTypeOfTheOperand) {
  const HostTensor x{{3}, {1, 2, 3}};
  Builder b;
  const Buffer xb = input_like(b, "x", x, Element::kInt32);
  expect_near(run(b, binary(b, BinaryKind::kMul, xb, 3.0), {x}), {{3}, {3, 6, 9}});
  Builder squares;
  const Buffer xs = input_like(squares, "x", x);
  const auto workload = squares.finish({binary(squares, BinaryKind::kPow, xs, 2.0)});
  EXPECT_THAT(tensor::canonical_text(*workload), HasSubstr("p0[i0] * p0[i0]"));  // no logarithm for a square
}

TEST(Binary, IntegersDivideTowardsZero) {
  const HostTensor x{{6}, {7, -7, 7, -7, 0, 5}}, y{{6}, {2, 2, -2, -2, 3, 0}};
  Builder b;
  const Buffer xb = input_like(b, "x", x, Element::kInt32), yb = input_like(b, "y", y, Element::kInt32);
  expect_near(run(b, binary(b, BinaryKind::kDiv, xb, yb), {x, y}), {{6}, {3, -3, -3, 3, 0, 5}});
}

TEST(Binary, IntegersDivideTheLowestValueToo) {
  const auto quotients = [](Element element, const HostTensor& x, const HostTensor& y) {
    Builder b;
    const Buffer xb = input_like(b, "x", x, element), yb = input_like(b, "y", y, element);
    return run(b, binary(b, BinaryKind::kDiv, xb, yb), {x, y});
  };
  expect_near(quotients(Element::kInt8, {{5}, {-128, -128, -128, 127, -127}}, {{5}, {2, -1, -128, -1, 2}}),
              {{5}, {-64, -128, 1, -127, -63}});
  expect_near(quotients(Element::kInt32, {{2}, {-0x1p31, -0x1p31}}, {{2}, {3, -1}}),
              {{2}, {-715827882, -0x1p31}});
  expect_near(quotients(Element::kInt64, {{2}, {-0x1p63, -0x1p63}}, {{2}, {0x1p62, -1}}),
              {{2}, {-2, -0x1p63}});
  expect_near(quotients(Element::kUInt8, {{3}, {255, 200, 5}}, {{3}, {2, 255, 0}}), {{3}, {127, 0, 5}});
}

TEST(Binary, LogicAndWhereTakeBools) {
  const HostTensor p{{4}, {0, 0, 1, 1}}, q{{4}, {0, 1, 0, 1}}, x{{4}, {1, 2, 3, 4}};
  Builder b;
  const Buffer pb = input_like(b, "p", p, Element::kBool), qb = input_like(b, "q", q, Element::kBool),
               xb = input_like(b, "x", x);
  const Buffer both = binary(b, BinaryKind::kAnd, pb, qb);
  const Buffer neither = unary(b, UnaryKind::kNot, binary(b, BinaryKind::kOr, pb, qb));
  const Buffer result =
      where(b, both, xb, where(b, neither, unary(b, UnaryKind::kNeg, xb), cast(b, both, Element::kFloat32)));
  expect_near(run(b, result, {p, q, x}), {{4}, {-1, 0, 0, 4}});
}

TEST(Binary, OperandsThatDoNotFitAreNamed) {
  Builder b;
  const Buffer x = b.input("x", Element::kFloat32, extents_of({2, 3})),
               y = b.input("y", Element::kFloat32, extents_of({2}));
  EXPECT_THAT(error_of(b, binary(b, BinaryKind::kAdd, x, y)),
              HasSubstr("add: cannot take f32[2, 3] and f32[2]"));
  Builder mixed;
  const Buffer f = mixed.input("f", Element::kFloat32, extents_of({2})),
               i = mixed.input("i", Element::kInt32, extents_of({2}));
  EXPECT_THAT(error_of(mixed, binary(mixed, BinaryKind::kAdd, f, i)),
              HasSubstr("add: cannot take f32[2] and i32[2]"));
}

TEST(Bias, IsAddedAlongItsAxis) {
  const HostTensor x = random_tensor({2, 3, 4}, 1), bias = random_tensor({3}, 2);
  Builder b;
  const Buffer xb = input_like(b, "x", x), bb = input_like(b, "bias", bias);
  expect_near(run(b, relu(b, bias_add(b, xb, bb)), {x, bias}),
              generate(x.shape, [&](const Shape& i) { return std::max(0.0, x.at(i) + bias.at({i[1]})); }));
}

TEST(Cast, ConvertsValues) {
  const HostTensor x{{4}, {1.7, -1.7, 0, 300}};
  Builder b;
  const Buffer input = input_like(b, "x", x);
  expect_near(run(b, cast(b, input, Element::kInt32), {x}), {{4}, {1, -1, 0, 300}});
  Builder truth;
  const Buffer same = input_like(truth, "x", x);
  expect_near(run(truth, cast(truth, same, Element::kBool), {x}), {{4}, {1, 1, 0, 1}});
}

TEST(Builder, LabelJoinsTheOperatorsAndFinishLeavesItEmpty) {
  Builder b;
  const Buffer x = b.input("x", Element::kFloat32, extents_of({4}));
  auto workload = b.finish({relu(b, binary(b, BinaryKind::kAdd, x, x))});
  ASSERT_TRUE(workload.ok());
  EXPECT_EQ(workload->label, "add+relu");
  EXPECT_THAT(error_of(b, x), HasSubstr("not computed by a stage"));
}

}  // namespace
}  // namespace tf::ops
