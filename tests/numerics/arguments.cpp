#include "tests/numerics/arguments.h"

#include <cmath>
#include <limits>
#include <random>

#include "compiler/tensor/half.h"

namespace tf::test {
namespace {

using tensor::Element;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Format {
  int fraction_bits, lowest_exponent, highest_exponent;  // of normal numbers
};
Format format_of(Element element) {
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

double rounded(Element element, double x) {
  return element == Element::kFloat64 ? x : tensor::round_to_element(element, x);
}

std::vector<double> specials(Element element) {
  const Format f = format_of(element);
  const double smallest = std::ldexp(1, f.lowest_exponent), least = std::ldexp(smallest, -f.fraction_bits);
  const double largest = std::ldexp(2 - std::ldexp(1, -f.fraction_bits), f.highest_exponent);
  std::vector<double> all = {kNaN};
  for (const double size : {0.0, least, 3 * least, smallest - least, smallest, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0,
                            5.65, 20.0, 101.0, largest, kInfinity}) {
    all.push_back(rounded(element, size));
    all.push_back(-rounded(element, size));
  }
  return all;
}

// A number and those around it.
void add_around(std::vector<double>& out, Element element, double x) {
  const double step = std::ldexp(1, std::ilogb(x == 0 ? 1 : x) - format_of(element).fraction_bits);
  for (int k = -4; k <= 4; ++k)
    for (const double sign : {1.0, -1.0}) out.push_back(rounded(element, sign * (x + k * step)));
}

std::vector<double> every_half(Element element) {
  std::vector<double> all;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    all.push_back(element == Element::kFloat16 ? tensor::float16_value(half) : tensor::bfloat16_value(half));
  }
  return all;
}

}  // namespace

Arguments unary_arguments(Element element, int mantissas) {
  if (element == Element::kFloat16 || element == Element::kBFloat16) {
    Arguments halves{every_half(element), {}};
    halves.y = halves.x;
    return halves;
  }
  const Format f = format_of(element);
  std::mt19937_64 random(5);
  std::vector<double> x = specials(element);
  for (int e = f.lowest_exponent - f.fraction_bits; e <= f.highest_exponent; ++e)
    for (int k = 0; k < mantissas; ++k) {
      const double fraction = k == 0   ? 0
                              : k == 1 ? std::ldexp(1, -f.fraction_bits)
                              : k == 2 ? 1 - std::ldexp(1, -f.fraction_bits)
                                       : static_cast<double>(random() >> 11) * 0x1p-53;
      const double size = rounded(element, std::ldexp(1 + fraction, e));
      x.push_back(size);
      x.push_back(-size);
    }
  for (int k = 1; k < 200; ++k) add_around(x, element, k * 1.57079632679489662);
  for (int e = 8; e < 120; ++e) add_around(x, element, std::ldexp(1.57079632679489662, e));
  add_around(x, element, std::ldexp(16367173, 72));  // of all f32 the nearest to a multiple of pi/2
  for (const double place :
       {0.25, 0.35, 0.41421356, 0.5,   0.625, 0.70710678, 1.0,   1.41421356, 2.0,    3.0,
        3.92, 4.0,  5.65,       5.92,  6.0,   9.0,        10.0,  15.9,       17.3,   20.0,
        22.0, 36.7, 87.3,       88.02, 88.7,  103.97,     104.0, 708.4,      709.78, 745.13})
    add_around(x, element, place);
  for (int k = 1; k < 60; ++k) add_around(x, element, (k - 0.5) * 0.693147180559945309);
  for (int k = 0; k < 400 * mantissas; ++k)  // most arguments of networks
    x.push_back(rounded(element, (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) * 40));
  return {x, x};
}

Arguments binary_arguments(Element element, int mantissas) {
  Arguments all;
  const auto add = [&](double x, double y) {
    all.x.push_back(rounded(element, x));
    all.y.push_back(rounded(element, y));
  };
  const std::vector<double> special = specials(element);
  for (const double x : special)
    for (const double y : special) add(x, y);
  // Where the logarithm of Pow is least exact, and its exponent makes the most of that.
  add(1.429355398804677, -1870.7730775027392);
  add(1.4036393357405326, 2093.3299661545839);
  const Format f = format_of(element);
  std::mt19937_64 random(6);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int e = f.lowest_exponent - f.fraction_bits; e <= f.highest_exponent; ++e)
    for (int k = 0; k < mantissas; ++k) {
      const double x = rounded(element, std::ldexp(1 + unit(), e));
      // An exponent whose power is in range.
      add(x, (unit() - 0.5) * 2.1 * f.highest_exponent / std::log2(x));
      add(-x, std::round((unit() - 0.5) * 16));
      add(x, std::ldexp(unit() - 0.5, static_cast<int>(random() % 12)));
      add(1 + std::ldexp(unit() - 0.5, -static_cast<int>(random() % 20)),
          std::ldexp(unit() - 0.5, static_cast<int>(random() % 24)));
    }
  return all;
}

}  // namespace tf::test
