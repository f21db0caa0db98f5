// Reductions, normalisations and losses against plain loops.
#include <cmath>
#include <limits>

#include "tests/support/onnx/node_outputs.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Doubles = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Of [2, 3, 4] over axes 0 and 2: f of each row's values.
Doubles folded(const Doubles& x, const std::function<double(const Doubles&)>& f) {
  Doubles result;
  for (size_t j = 0; j < 3; ++j) {
    Doubles row;
    for (size_t i = 0; i < 2; ++i)
      for (size_t k = 0; k < 4; ++k) row.push_back(x[(i * 3 + j) * 4 + k]);
    result.push_back(f(row));
  }
  return result;
}

double sum_of(const Doubles& row, double (*f)(double)) {
  double sum = 0;
  for (double v : row) sum += f(v);
  return sum;
}

TEST(Reductions, AgreeWithTheirFormulas) {
  const std::pair<const char*, std::function<double(const Doubles&)>> cases[] = {
      {"ReduceL1", [](const Doubles& r) { return sum_of(r, [](double v) { return std::fabs(v); }); }},
      {"ReduceL2", [](const Doubles& r) { return std::sqrt(sum_of(r, [](double v) { return v * v; })); }},
      {"ReduceSumSquare", [](const Doubles& r) { return sum_of(r, [](double v) { return v * v; }); }},
      {"ReduceLogSum", [](const Doubles& r) { return std::log(sum_of(r, [](double v) { return v; })); }},
      {"ReduceLogSumExp",
       [](const Doubles& r) { return std::log(sum_of(r, [](double v) { return std::exp(v); })); }}};
  for (const auto& [op_type, f] : cases) {
    SCOPED_TRACE(op_type);
    const Doubles x = drawn(24, 0.5, 9, 1);
    const Operand operand{Element::kFloat32, {2, 3, 4}, x}, axes{Element::kInt64, {2}, {0, -1}, true};
    expect_values(node_outputs({.op_type = op_type, .operands = {operand, axes}}), folded(x, f));
    const auto old = [](auto& node) {
      set(node, "axes", std::vector<int64_t>{0, 2}), set(node, "keepdims", 0);
    };
    expect_values(node_outputs({.op_type = op_type, .opset = 13, .operands = {operand}, .attributes = old}),
                  folded(x, f));
    expect_values(node_outputs({.op_type = op_type, .operands = {operand}}), {f(x)});
    const auto noop = [](auto& node) { set(node, "noop_with_empty_axes", 1); };
    Doubles each;
    for (double v : x) each.push_back(f({v}));
    expect_values(node_outputs({.op_type = op_type, .operands = {operand}, .attributes = noop}), each);
    Doubles whole;
    for (double v : x) whole.push_back(std::floor(v));
    Doubles want = folded(whole, f);
    for (double& v : want) v = std::trunc(v + 1e-9);
    EXPECT_EQ(node_outputs({.op_type = op_type, .operands = {{Element::kInt32, {2, 3, 4}, whole}, axes}}),
              want);
  }
}

TEST(Reductions, LogSumExpNeitherOverflowsNorLosesInfinities) {
  const Operand x{
      Element::kFloat32, {5, 2}, {1000, 1000, -1000, -1000, kInfinity, 1, -kInfinity, -kInfinity, kNaN, 1}};
  const Doubles y =
      node_outputs({.op_type = "ReduceLogSumExp", .operands = {x, {Element::kInt64, {1}, {1}, true}}});
  EXPECT_NEAR(y[0], 1000.6931, 1e-3);
  EXPECT_NEAR(y[1], -999.3069, 1e-3);
  EXPECT_EQ(y[2], kInfinity);
  EXPECT_EQ(y[3], -kInfinity);
  EXPECT_TRUE(std::isnan(y[4]));
}

TEST(Reductions, PlacesOfExtremesAreTheFirstOrTheLast) {
  const Operand x{Element::kFloat32, {3, 4}, {1, 5, 5, 2, 3, kNaN, 9, kNaN, -1, -1, -1, -1}};
  const auto place = [&](const char* op_type, int last) {
    return node_outputs({.op_type = op_type, .operands = {x}, .attributes = [&](auto& node) {
                           set(node, "axis", -1), set(node, "select_last_index", last),
                               set(node, "keepdims", 0);
                         }});
  };
  EXPECT_EQ(place("ArgMax", 0), (Doubles{1, 1, 0}));
  EXPECT_EQ(place("ArgMax", 1), (Doubles{2, 3, 3}));
  EXPECT_EQ(place("ArgMin", 0), (Doubles{0, 1, 0}));
  EXPECT_EQ(place("ArgMin", 1), (Doubles{0, 3, 3}));
  EXPECT_EQ(
      node_outputs({.op_type = "Hardmax", .operands = {{Element::kFloat32, {2, 3}, {1, 3, 3, 0, -1, -2}}}}),
      (Doubles{0, 1, 0, 1, 0, 0}));
}

// Mean and variance of rows of `size` in a row.
Doubles standardized(const Doubles& x, size_t size, double epsilon) {
  Doubles y(x.size());
  for (size_t row = 0; row < x.size(); row += size) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < size; ++i) mean += x[row + i] / static_cast<double>(size);
    for (size_t i = 0; i < size; ++i) variance += std::pow(x[row + i] - mean, 2) / static_cast<double>(size);
    for (size_t i = 0; i < size; ++i) y[row + i] = (x[row + i] - mean) / std::sqrt(variance + epsilon);
  }
  return y;
}

TEST(Normalizations, AgreeWithTheirFormulas) {
  const Doubles x = drawn(2 * 4 * 6, -3, 5, 7), scale = drawn(4, 0.5, 2, 8), bias = drawn(4, -1, 1, 9);
  const Operand operand{Element::kFloat32, {2, 4, 3, 2}, x};
  const auto parameters = [](size_t count, const Doubles& v) {
    return Operand{Element::kFloat32,
                   {static_cast<int64_t>(count)},
                   {v.begin(), v.begin() + static_cast<int64_t>(count)}};
  };
  const auto scaled = [&](Doubles y, size_t per_value) {
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = y[i] * scale[i / per_value % (24 / per_value)] + bias[i / per_value % (24 / per_value)];
    return y;
  };
  expect_values(node_outputs({.op_type = "InstanceNormalization",
                              .operands = {operand, parameters(4, scale), parameters(4, bias)}}),
                scaled(standardized(x, 6, 1e-5), 6));
  const auto groups = [](auto& node) { set(node, "num_groups", 2); };
  expect_values(node_outputs({.op_type = "GroupNormalization",
                              .operands = {operand, parameters(4, scale), parameters(4, bias)},
                              .attributes = groups}),
                scaled(standardized(x, 12, 1e-5), 6));
  expect_values(node_outputs({.op_type = "GroupNormalization",
                              .opset = 18,
                              .operands = {operand, parameters(2, scale), parameters(2, bias)},
                              .attributes = groups}),
                scaled(standardized(x, 12, 1e-5), 12));
  expect_values(node_outputs({.op_type = "MeanVarianceNormalization",
                              .operands = {operand},
                              .attributes =
                                  [](auto& node) {
                                    set(node, "axes", std::vector<int64_t>{-2, 3});
                                  }}),
                standardized(x, 6, 0));
  Doubles rms(x), lp(x), lp1(x);
  for (size_t row = 0; row < x.size(); row += 2) {
    const double squares = x[row] * x[row] + x[row + 1] * x[row + 1],
                 sizes = std::fabs(x[row]) + std::fabs(x[row + 1]);
    for (size_t i = row; i < row + 2; ++i) {
      rms[i] = x[i] / std::sqrt(squares / 2 + 1e-5) * scale[i - row];
      lp[i] = x[i] / std::sqrt(squares);
      lp1[i] = x[i] / sizes;
    }
  }
  expect_values(node_outputs({.op_type = "RMSNormalization", .operands = {operand, parameters(2, scale)}}),
                rms);
  expect_values(node_outputs({.op_type = "LpNormalization", .operands = {operand}}), lp);
  expect_values(node_outputs({.op_type = "LpNormalization",
                              .operands = {operand},
                              .attributes = [](auto& node) { set(node, "p", 1); }}),
                lp1);
  EXPECT_EQ(node_outputs({.op_type = "LpNormalization", .operands = {{Element::kFloat32, {3}, {0, 0, 0}}}}),
            (Doubles{0, 0, 0}));
}

TEST(Normalizations, BatchStatisticsAreMixedIntoTheRunningOnes) {
  const Doubles x = {1, 2, 3, 4, 5, 6, 7, 8};  // [2, 2, 2]: channels 1 2 5 6 and 3 4 7 8
  const OneNode test{.op_type = "BatchNormalization",
                     .operands = {{Element::kFloat32, {2, 2, 2}, x},
                                  {Element::kFloat32, {2}, {1, 2}},
                                  {Element::kFloat32, {2}, {0, 1}},
                                  {Element::kFloat32, {2}, {10, 20}},
                                  {Element::kFloat32, {2}, {1, 3}}},
                     .attributes =
                         [](auto& node) {
                           set(node, "training_mode", 1), set(node, "momentum", 0.75),
                               set(node, "epsilon", 0.0);
                         },
                     .outputs = 3};
  const double d = std::sqrt(4.25);
  expect_values(node_outputs(test),
                {-2.5 / d, -1.5 / d, -5 / d + 1, -3 / d + 1, 1.5 / d, 2.5 / d, 3 / d + 1, 5 / d + 1});
  expect_values(node_outputs(test, 1), {0.75 * 10 + 0.25 * 3.5, 0.75 * 20 + 0.25 * 5.5});
  expect_values(node_outputs(test, 2), {0.75 + 0.25 * 4.25, 2.25 + 0.25 * 4.25});
}

TEST(Losses, AreWeightedReducedAndIgnored) {
  const Doubles x = drawn(2 * 3 * 2, -2, 2, 3), weights = {0.5, 2, 3};
  const std::vector<int64_t> target = {2, 0, 1, 2};
  for (const bool softmax : {false, true}) {
    for (const bool weighs : {false, true}) {
      for (const int ignored : {-1, 2, 7}) {
        for (const char* reduction : {"none", "sum", "mean"}) {
          Doubles losses;
          double total = 0, weight_total = 0;
          for (size_t n = 0; n < 2; ++n) {
            for (size_t d = 0; d < 2; ++d) {
              const auto t = static_cast<size_t>(target[n * 2 + d]);
              double sum = 0;
              for (size_t c = 0; c < 3; ++c) sum += std::exp(x[(n * 3 + c) * 2 + d]);
              const double score = x[(n * 3 + t) * 2 + d] - (softmax ? std::log(sum) : 0);
              const double weight = static_cast<int64_t>(t) == ignored ? 0 : weighs ? weights[t] : 1;
              losses.push_back(-score * weight);
              total += losses.back();
              weight_total += weight;
            }
          }
          const std::string kind = reduction;
          const Doubles want =
              kind == "none" ? losses : Doubles{kind == "sum" ? total : total / weight_total};
          OneNode test{
              .op_type = softmax ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss",
              .operands = {{Element::kFloat32, {2, 3, 2}, x}, {Element::kInt64, {2, 2}, {2, 0, 1, 2}}},
              .attributes = [&](auto& node) {
                set(node, "reduction", reduction);
                if (ignored >= 0) set(node, "ignore_index", ignored);
              }};
          if (weighs) test.operands.push_back({Element::kFloat32, {3}, weights});
          expect_values(node_outputs(test), want);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tf::onnx
