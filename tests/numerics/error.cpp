#include "tests/numerics/error.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

namespace tf::test {
namespace {

constexpr double kWrong = std::numeric_limits<double>::infinity();

struct Range {
  int fraction_bits, lowest, highest;
};
Range range_of(Element element) {
  switch (element) {
    case Element::kFloat16:
      return {10, -14, 15};
    case Element::kBFloat16:
      return {7, -126, 127};
    case Element::kFloat64:
      return {52, -1022, 1023};
    default:
      return {23, -126, 127};
  }
}

// The distance of one unit in the last place at x.
Real unit_at(const Range& range, Real x) {
  const int exponent = x == 0 ? range.lowest : std::max(std::ilogb(x), range.lowest);
  return std::ldexp(Real{1}, std::min(exponent, range.highest) - range.fraction_bits);
}

// Infinity, and whatever rounds to it, counts as the number after the largest.
Real finite(const Range& range, Real x) {
  const Real end = std::ldexp(Real{1}, range.highest + 1);
  return std::isnan(x) ? x : std::min(std::max(x, -end), end);
}

}  // namespace

Worst worst_error(const ElementFunction& function, Element element, const Arguments& arguments,
                  const std::vector<double>& results, Judgement judgement) {
  const Range range = range_of(element);
  const Real smallest = std::ldexp(Real{1}, range.lowest);
  const double allowed = element == Element::kFloat64 ? function.ulps_f64 : function.ulps;
  Worst worst;
  for (size_t i = 0; i < results.size(); ++i) {
    const Real x = arguments.x[i], y = arguments.y[i];
    if (judgement.flushes && ((x != 0 && std::fabs(x) < smallest) || (y != 0 && std::fabs(y) < smallest)))
      continue;
    const Real exact = function.exact(x, y);
    const Real want = finite(range, exact), got = finite(range, results[i]);
    if (judgement.flushes && std::fabs(want) < smallest && std::fabs(got) <= smallest) continue;
    const Real unit = unit_at(range, want);
    double ulps = 0, part = 0;
    if (std::isnan(want) || std::isnan(got)) {
      ulps = part = std::isnan(want) == std::isnan(got) ? 0 : kWrong;
    } else {
      const Real error = std::fabs(got - want);
      ulps = static_cast<double>(error / unit);
      Real limit = std::max(Real{allowed}, Real{1e-9L}) * unit;
      if (function.largest_term)
        limit = std::max(limit, std::ldexp(finite(range, function.largest_term(x, y)), -range.fraction_bits));
      part = static_cast<double>(error / limit);
      const bool zero = got == 0 || want == 0;
      const bool matters = (got != 0 && want != 0) || function.has_zero_sign;
      if (zero ? matters && std::signbit(got) != std::signbit(want) && function.has_zero_sign
               : std::signbit(got) != std::signbit(want))
        ulps = part = kWrong;
    }
    const auto place = [&] {
      const std::string second = function.operands == 2 ? absl::StrFormat(", %.9Lg", y) : "";
      return absl::StrFormat("%s(%.9Lg%s) is %.17g, not %.17Lg", function.name, x, second, results[i], exact);
    };
    if (ulps > worst.ulps) {
      worst.ulps = ulps;
      worst.place = place();
    }
    if (part > worst.over) {
      worst.over = part;
      worst.fault = place();
    }
  }
  return worst;
}

}  // namespace tf::test
