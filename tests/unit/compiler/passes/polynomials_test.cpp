// The error of the functions' polynomials, in units in the last place of f32, against libm in double.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "compiler/passes/expand_math.h"
#include "tests/support/ir/host_memory.h"

namespace tf::passes {
namespace {

using ir::Expr;
using ir::Intrinsic;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// function(x) or function(x, y) for all pairs of values, expanded and interpreted.
std::vector<double> results(Intrinsic function, const std::vector<double>& x,
                            const std::vector<double>& y = {}) {
  const auto n = static_cast<int64_t>(x.size());
  const ir::Buffer in = tensor::buffer("x", ir::Element::kFloat32, {tensor::imm(n)});
  const ir::Buffer second = tensor::buffer("y", ir::Element::kFloat32, {tensor::imm(n)});
  const ir::Buffer out = tensor::buffer("out", ir::Element::kFloat32, {tensor::imm(n)});
  const ir::Var i = tensor::var("i");
  std::vector<Expr> args = {tensor::load(in, {i})};
  if (!y.empty()) args.push_back(tensor::load(second, {i}));
  ir::Function f;
  f.name = "f";
  f.params = {in, second, out};
  f.body = ir::make_for(i, tensor::imm(0), tensor::imm(n), ir::ForKind::kSerial,
                        ir::store(out, {i}, tensor::call(function, args)));
  f = expand_math(f);
  auto values = test::interpret_values(f, {x, y.empty() ? x : y, std::vector<double>(x.size(), 0.0)});
  EXPECT_TRUE(values.ok()) << values.status();
  return (*values)[2];
}

double ulps(double got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInfinity;
  const auto rounded = static_cast<float>(want);
  if (std::isinf(rounded)) return got == rounded ? 0 : kInfinity;
  const double smallest = std::numeric_limits<float>::min();
  if (std::fabs(want) < smallest) return std::fabs(got) <= smallest ? 0 : kInfinity;  // denormals may be 0
  const double unit =
      std::nextafter(std::fabs(rounded), std::numeric_limits<float>::infinity()) - std::fabs(rounded);
  return std::fabs(got - want) / unit;
}

// Values from low to high, evenly and towards zero.
std::vector<double> samples(double low, double high) {
  std::vector<double> out;
  constexpr int kCount = 20000;
  for (int i = 0; i <= kCount; ++i) out.push_back(static_cast<float>(low + (high - low) * i / kCount));
  for (double scale = 1; scale > 1e-30; scale *= 0.37)
    for (double edge : {low, high}) out.push_back(static_cast<float>(edge * scale));
  return out;
}

void expect_close(Intrinsic function, const std::function<double(double)>& reference, double low, double high,
                  double limit) {
  std::vector<double> x = samples(low, high);
  for (double special : {0.0, -0.0, kInfinity, -kInfinity, kNaN, 1.0, -1.0}) x.push_back(special);
  const std::vector<double> got = results(function, x);
  double worst = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const double error = ulps(got[k], reference(x[k]));
    EXPECT_LE(error, limit) << "of " << x[k] << ": " << got[k] << ", not " << reference(x[k]);
    worst = std::max(worst, error);
    if (error > limit) return;
  }
  EXPECT_GT(worst, 0.1) << "a test that sees no rounding sees nothing";
}

TEST(Polynomials, ExpIsWithinTwoUnits) {
  expect_close(
      Intrinsic::kExp, [](double x) { return std::exp(x); }, -110, 95, 2);
}
TEST(Polynomials, LogIsWithinTwoUnits) {
  expect_close(
      Intrinsic::kLog, [](double x) { return std::log(x); }, -3, 1000, 2);
  expect_close(
      Intrinsic::kLog, [](double x) { return std::log(x); }, 0.5, 2, 2);
}
TEST(Polynomials, TanhIsWithinThreeUnits) {
  expect_close(
      Intrinsic::kTanh, [](double x) { return std::tanh(x); }, -12, 12, 3);
}
TEST(Polynomials, ErfIsWithinSixUnits) {
  expect_close(
      Intrinsic::kErf, [](double x) { return std::erf(x); }, -6, 6, 6);
}
TEST(Polynomials, SigmoidIsWithinThreeUnits) {
  expect_close(
      Intrinsic::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80, 3);
}
TEST(Polynomials, SinAndCosAreWithinFourUnitsWhereTheyAreNotTiny) {
  const std::vector<double> x = samples(-1000, 1000);
  const std::vector<double> s = results(Intrinsic::kSin, x), c = results(Intrinsic::kCos, x);
  for (size_t k = 0; k < x.size(); ++k) {
    // Near a zero the absolute error counts.
    EXPECT_LE(std::fabs(s[k] - std::sin(x[k])), 1.2e-7 + 4e-7 * std::fabs(std::sin(x[k]))) << x[k];
    EXPECT_LE(std::fabs(c[k] - std::cos(x[k])), 1.2e-7 + 4e-7 * std::fabs(std::cos(x[k]))) << x[k];
  }
  EXPECT_TRUE(std::isnan(results(Intrinsic::kSin, {kInfinity})[0]));
}
TEST(Polynomials, PowIsWithinAFewUnitsAndKnowsItsSpecialValues) {
  std::vector<double> x, y;
  for (double base : {0.001, 0.3, 0.999, 1.0, 1.0001, 1.7, 10.0, 1e20, -2.0, -0.5})
    for (double power : {-3.5, -2.0, -1.0, -0.1, 0.0, 0.3, 1.0, 2.5, 3.0, 7.0}) {
      x.push_back(static_cast<float>(base));
      y.push_back(static_cast<float>(power));
    }
  for (double base : {0.0, kInfinity, kNaN, 1.0})
    for (double power : {-1.0, 0.0, 2.0, kNaN}) {
      x.push_back(base);
      y.push_back(power);
    }
  const std::vector<double> got = results(Intrinsic::kPow, x, y);
  for (size_t k = 0; k < x.size(); ++k)
    EXPECT_LE(ulps(got[k], std::pow(x[k], y[k])), 4) << x[k] << " to " << y[k] << " is " << got[k];
}

}  // namespace
}  // namespace tf::passes
