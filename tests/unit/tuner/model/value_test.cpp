#include "tuner/model/formulas/value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "tuner/model/formulas/log2.h"
#include "tuner/model/formulas/point_program.h"

namespace tf::model {
namespace {

space::Sketch two_parameters() {
  space::Sketch sketch("two parameters", {});
  sketch.parameters = {{"a", {{1, 7}, {2, 5}, {4, 3}, {8, 9}}}, {"b", {{3}, {6}, {10}}}};
  return sketch;
}

std::vector<int64_t> values_of(const space::Parameter& parameter, size_t part) {
  std::vector<int64_t> values;
  for (const std::vector<int64_t>& choice : parameter.choices) values.push_back(choice[part]);
  return values;
}

TEST(Log2, IsRightToSevenDigitsAndExactForPowersOfTwo) {
  for (double x = 1e-30; x < 1e30; x *= 1.37) EXPECT_NEAR(fast_log2(x), std::log2(x), 1e-7) << x;
  for (int e = -50; e <= 50; ++e) EXPECT_EQ(fast_log2(std::ldexp(1.0, e)), e);
}

TEST(Value, IsOneNodeForEqualFormulas) {
  const space::Sketch sketch = two_parameters();
  Formulas formulas;
  const Value a = formulas.part(0, 0, values_of(sketch.parameters[0], 0));
  const Value b = formulas.part(1, 0, values_of(sketch.parameters[1], 0));
  const Value sum = a + b;
  const size_t nodes = formulas.nodes().size();
  EXPECT_EQ((b + a).node(), sum.node());
  EXPECT_EQ(formulas.nodes().size(), nodes);
}

TEST(Value, FoldsConstantsAndWhatRangesDecide) {
  const space::Sketch sketch = two_parameters();
  Formulas formulas;
  const Value a = formulas.part(0, 0, values_of(sketch.parameters[0], 0));  // 1 to 8
  EXPECT_EQ((Value(3) * 4 + 1).constant(), 13);
  EXPECT_EQ((a * 1).node(), a.node());
  EXPECT_EQ((a - a).constant(), 0);
  EXPECT_EQ(max(a, 1).node(), a.node());
  EXPECT_EQ(min(a, 1).constant(), 1);
  EXPECT_EQ(less(a, 9).constant(), 1);
  EXPECT_EQ(less(a, 1).constant(), 0);
  EXPECT_EQ(equal(a, 11).constant(), 0);
  EXPECT_FALSE(less(a, 4).is_constant());
  EXPECT_EQ(formulas.part(1, 0, std::vector<int64_t>{5, 5}).constant(), 5);
}

// A formula of every operation, as numbers and as values.
template <typename T>
T formula(const T& a, const T& b, const T& c) {
  using std::ceil;
  using std::floor;
  using std::max;
  using std::min;
  if constexpr (std::is_same_v<T, Value>) {
    const T rest = a - floor(a / b) * b;
    return select(less(rest, c), log2(1 + a * c), ceil(b / c)) + min(a, b) * max(b, c) + equal(a, c);
  } else {
    const T rest = a - floor(a / b) * b;
    return (rest < c ? fast_log2(1 + a * c) : ceil(b / c)) + min(a, b) * max(b, c) + (a == c ? 1 : 0);
  }
}

TEST(PointProgram, ComputesItsOutputsForEveryPoint) {
  const space::Sketch sketch = two_parameters();
  Formulas formulas;
  const Value a = formulas.part(0, 0, values_of(sketch.parameters[0], 0)),
              b = formulas.part(0, 1, values_of(sketch.parameters[0], 1)),
              c = formulas.part(1, 0, values_of(sketch.parameters[1], 0));
  const Value wanted = formula(a, b, c);
  // Constants, a part and one value twice may be outputs, too.
  const std::vector<Value> outputs = {wanted, 42, a, wanted, wanted + 1};
  const PointProgram program(sketch, formulas, outputs);
  std::mt19937 random(3);
  std::vector<space::Point> points;
  for (int i = 0; i < 150; ++i)
    points.push_back({static_cast<uint32_t>(random() % 4), static_cast<uint32_t>(random() % 3)});
  std::vector<const space::Point*> pointers;
  for (const space::Point& point : points) pointers.push_back(&point);
  std::vector<double> results(points.size() * outputs.size());
  program.run(pointers, results);
  for (size_t p = 0; p < points.size(); ++p) {
    const std::vector<int64_t>& first = sketch.parameters[0].choices[points[p][0]];
    const double expected =
        formula<double>(static_cast<double>(first[0]), static_cast<double>(first[1]),
                        static_cast<double>(sketch.parameters[1].choices[points[p][1]][0]));
    const double* row = &results[p * outputs.size()];
    EXPECT_EQ(row[0], expected);
    EXPECT_EQ(row[1], 42);
    EXPECT_EQ(row[2], static_cast<double>(first[0]));
    EXPECT_EQ(row[3], expected);
    EXPECT_EQ(row[4], expected + 1);
  }
}

// Three batches of points: a parameter's register must be what it was after each.
TEST(PointProgram, TakesItsParametersWhenItRuns) {
  const space::Sketch sketch = two_parameters();
  Formulas formulas;
  const Value a = formulas.part(0, 0, values_of(sketch.parameters[0], 0));
  const Value rate = formulas.parameter(1), other = formulas.parameter(0);
  EXPECT_EQ(formulas.parameter(1).node(), rate.node());
  EXPECT_FALSE(less(rate, 1e9).is_constant());
  const std::vector<Value> outputs = {a / rate, max(a, rate) * (a + 1), rate, other};
  const PointProgram program(sketch, formulas, outputs);
  const space::Point point = {3, 0};  // a is 8
  const std::vector<const space::Point*> points(150, &point);
  std::vector<double> results(points.size() * outputs.size());
  for (const double value : {2.0, 16.0}) {
    program.run(points, results, std::array{1.5, value});
    for (size_t p = 0; p < points.size(); ++p) {
      const double* row = &results[p * outputs.size()];
      EXPECT_EQ(row[0], 8 / value);
      EXPECT_EQ(row[1], std::max(8.0, value) * 9);
      EXPECT_EQ(row[2], value);
      EXPECT_EQ(row[3], 1.5);
    }
  }
}

}  // namespace
}  // namespace tf::model
