// The functions that only parts of networks' operators reach: tests/numerics has the others.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "compiler/passes/passes.h"
#include "tests/support/ir/host_memory.h"

namespace tf::passes {
namespace {

using ir::Element;
using ir::Intrinsic;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// function(x) for all values, expanded and interpreted.
std::vector<double> results(Element element, const std::vector<double>& x,
                            const std::function<ir::Expr(const ir::Expr&)>& function) {
  const auto n = static_cast<int64_t>(x.size());
  const ir::Buffer in = tensor::buffer("x", element, {tensor::imm(n)});
  const ir::Buffer out = tensor::buffer("out", element, {tensor::imm(n)});
  const ir::Var i = tensor::var("i");
  ir::Function f;
  f.name = "f";
  f.params = {in, out};
  f.body = ir::make_for(i, tensor::imm(0), tensor::imm(n), ir::ForKind::kSerial,
                        ir::store(out, {i}, function(tensor::load(in, {i}))));
  f = expand_math(f);
  auto values = test::interpret_values(f, {x, std::vector<double>(x.size(), 0.0)});
  EXPECT_TRUE(values.ok()) << values.status();
  return (*values)[1];
}

// Values of every exponent and sign, zeros, infinities, NaN, and those around -1.
std::vector<double> samples(Element element) {
  const bool wide = element == Element::kFloat64;
  std::vector<double> all = {0.0, -0.0, kInfinity, -kInfinity, std::nan(""), -1.0};
  for (int e = wide ? -1074 : -149; e <= (wide ? 1023 : 127); ++e)
    for (const double fraction : {1.0, 1.25, 1.4375, 1.9375})
      for (const double sign : {1.0, -1.0}) {
        const double value = sign * std::ldexp(fraction, e);
        all.push_back(wide ? value : static_cast<float>(value));
      }
  for (int e = 1; e <= (wide ? 53 : 24); ++e) all.push_back(-1 + std::ldexp(1, -e));
  for (int k = -400; k < 400; ++k) all.push_back(k * 0.25);
  return all;
}

void expect_close(Intrinsic function, long double (*exact)(long double)) {
  for (const Element element : {Element::kFloat32, Element::kFloat64}) {
    const bool wide = element == Element::kFloat64;
    const std::vector<double> x = samples(element);
    const std::vector<double> got =
        results(element, x, [&](const ir::Expr& value) { return tensor::call(function, {value}); });
    for (size_t k = 0; k < x.size(); ++k) {
      const long double want = exact(x[k]);
      const double rounded = wide ? static_cast<double>(want) : static_cast<float>(want);
      SCOPED_TRACE(x[k]);
      EXPECT_EQ(std::isnan(got[k]), std::isnan(rounded));
      if (std::isnan(rounded)) continue;
      EXPECT_EQ(std::signbit(got[k]), std::signbit(rounded));
      if (std::isinf(rounded) || rounded == 0) {
        EXPECT_EQ(got[k], rounded);
        continue;
      }
      const int exponent = std::max(std::ilogb(rounded), wide ? -1022 : -126);
      EXPECT_LE(std::fabs(got[k] - want), 3 * std::ldexp(1.0L, exponent - (wide ? 52 : 23))) << got[k];
    }
  }
}

TEST(Polynomials, Expm1IsWithinThreeUnitsEverywhere) {
  expect_close(Intrinsic::kExpm1, [](long double x) { return std::expm1(x); });
}
TEST(Polynomials, Log1pIsWithinThreeUnitsEverywhere) {
  expect_close(Intrinsic::kLog1p, [](long double x) { return std::log1p(x); });
}
TEST(Polynomials, AtanIsWithinThreeUnitsEverywhere) {
  expect_close(Intrinsic::kAtan, [](long double x) { return std::atan(x); });
}

TEST(Polynomials, RemaindersAreExact) {
  for (const Element element : {Element::kFloat32, Element::kFloat64}) {
    const bool wide = element == Element::kFloat64;
    const std::vector<double> all = samples(element);
    for (const double divisor : {1.0, -0.7, 3.0, 1e-30, 1e30, 0.0, kInfinity, wide ? 1e-300 : 1e-37}) {
      const double y = wide ? divisor : static_cast<float>(divisor);
      const std::vector<double> got = results(element, all, [&](const ir::Expr& x) {
        return tensor::call(Intrinsic::kFmod, {x, tensor::imm(x->type(), y)});
      });
      for (size_t k = 0; k < all.size(); ++k) {
        const double want = std::fmod(all[k], y);
        EXPECT_TRUE(std::isnan(want) ? std::isnan(got[k])
                                     : got[k] == want && std::signbit(got[k]) == std::signbit(want))
            << all[k] << " by " << y << " leaves " << want << ", not " << got[k];
      }
    }
  }
}

}  // namespace
}  // namespace tf::passes
