#include <span>
#include <vector>

#include "compiler/passes/math/functions.h"

namespace tf::passes {
namespace {

using namespace formula;  // NOLINT(google-build-using-namespace): these files speak of little else.

// For an argument of at least `from`: 2/pi divided by scale, modulo 4, as a sum. The argument times scale is a
// whole number from there on, so that its product with the sum is the wanted product modulo 4.
struct TwoOverPi {
  double from, scale;
  double parts[4];
};

// Products of the first two parts, of 29 bits, with an f32 are exact in f64.
constexpr TwoOverPi kForF32[] = {
    {0, 1, {0x1.45f306c000000p-1, 0x1.c9c882a000000p-29, 0x1.4fe13abe8fa9ap-59}},
    {0x1p53, 0x1p-30, {0x1.c9c882a000000p+1, 0x1.4fe13aa000000p-29, 0x1.e8fa9a6ee06dbp-57}},
    {0x1p83, 0x1p-60, {0x1.4fe13ab000000p+1, 0x1.d1f534d000000p-28, 0x1.b81b6c52b3279p-57}},
    {0x1p113, 0x1p-90, {0x1.a3ea69b000000p+1, 0x1.7036d8a000000p-28, 0x1.5993c439041fep-58}},
};

// Each part is the f64 nearest to what is left.
constexpr TwoOverPi kForF64[] = {
    {0, 1, {0x1.45f306dc9c883p-1, -0x1.6b01ec5417056p-55, -0x1.6447e493ad4cep-109, 0x1.e21c820ff28b2p-163}},
    {0x1p152,
     0x1p-100,
     {0x1.a9a6ee06db14bp+1, -0x1.9b0ef1bef806cp-54, 0x1.63abdebbc561bp-108, 0x1.c91b8e909374cp-162}},
    {0x1p252,
     0x1p-200,
     {0x1.28b1d5ef5de2bp+1, 0x1.b7246e3a424ddp-56, 0x1.700324977504fp-111, -0x1.cdbc603c429c7p-165}},
    {0x1p352,
     0x1p-300,
     {0x1.ba5c00c925dd4p-1, 0x1.3a32439fc3bd6p-57, 0x1.cb129a73ee882p-112, 0x1.afa975da24275p-167}},
    {0x1p452,
     0x1p-400,
     {0x1.eb1cb129a73efp+0, -0x1.df7282b4512eep-54, 0x1.3a671c09ad17ep-110, -0x1.bec66e29c67cbp-168}},
    {0x1p552,
     0x1p-500,
     {0x1.213a671c09ad1p-2, 0x1.f7e413991d63ap-56, -0x1.f2b3182d8dee8p-110, -0x1.d1081b5f13802p-166}},
    {0x1p652,
     0x1p-600,
     {0x1.1cc1a99cfa4e4p+1, 0x1.17e2ef7e4a0ecp-54, 0x1.ff897ffde0598p-108, 0x1.fde5e2316b415p-165}},
    {0x1p752,
     0x1p-700,
     {0x1.d8ffc4bffef03p+1, -0x1.9fc04343b9d29p-54, -0x1.f592e092c9813p-108, -0x1.b069ec9161738p-165}},
    {0x1p852,
     0x1p-800,
     {0x1.ad05368fb69b4p+1, -0x1.30d834f648b0cp-56, 0x1.8fd9a797fa8b6p-110, -0x1.5b08a7028341dp-165}},
    {0x1p952,
     0x1p-900,
     {0x1.e8c7ecd3cbfd4p-1, 0x1.6ba93dd63f5f3p-55, -0x1.d0985f18c10ebp-113, -0x1.6b68aca025027p-167}},
};

// The scaled argument and the parts of the row for x >= 0.
struct Chosen {
  Expr x;
  std::vector<Expr> parts;
};
Chosen choose(const Expr& x, std::span<const TwoOverPi> rows, int parts, const Bind& bind) {
  std::vector<Expr> reached(1);  // the first row needs none
  for (const TwoOverPi& row : rows.subspan(1)) reached.push_back(bind(number(x, row.from) <= x));
  const auto chosen = [&](auto&& value_of) {
    Expr value = number(x, value_of(rows[0]));
    for (size_t i = 1; i < rows.size(); ++i)
      value = tensor::select(reached[i], number(x, value_of(rows[i])), value);
    return bind(value);
  };
  Chosen result{bind(x * chosen([](const TwoOverPi& row) { return row.scale; })), {}};
  for (int part = 0; part < parts; ++part)
    result.parts.push_back(chosen([&](const TwoOverPi& row) { return row.parts[part]; }));
  return result;
}

Expr modulo_4(const Expr& whole, const Bind& bind) {
  const Expr value = bind(whole);
  return value - floor(value * number(value, 0.25)) * number(value, 4);
}

// A number of quarter turns as a whole number, small enough that sums of a few are exact, the rest, from -1/2
// to 1/2, and what roundings of the rest lost.
struct Turns {
  Expr whole, rest, lost;
};
Turns split(const Expr& turns, const Bind& bind) {
  const Expr value = bind(turns);
  const Expr whole = bind(nearest(value));
  return {modulo_4(whole, bind), bind(value - whole), number(value, 0)};
}
Turns sum_of(const Turns& a, const Turns& b, const Bind& bind) {
  const Expr rest = bind(a.rest + b.rest);
  const Expr of_b = bind(rest - a.rest);  // 2Sum, of D. Knuth
  const Expr lost = (a.rest - (rest - of_b)) + (b.rest - of_b);
  const Expr whole = bind(nearest(rest));
  return {a.whole + b.whole + whole, bind(rest - whole), a.lost + b.lost + lost};
}

// |x| is (4 * turns + quadrant) * pi/2 + angle, |angle| <= pi/4 but for roundings.
struct Reduced {
  Expr angle, quadrant;  // of f64
};
Reduced reduced(const Turns& turns, const Expr& correction, const Bind& bind) {
  const Expr angle = (turns.rest + (turns.lost + correction)) * number(correction, 1.57079632679489662);
  return {angle, modulo_4(turns.whole, bind)};
}
// Of |x| for an x of f32; exact up to the last step.
Reduced reduce_f32(const Expr& x, const Bind& bind) {
  const Expr wide = bind(tensor::abs(tensor::cast({Element::kFloat64, 1}, x)));
  const Chosen c = choose(wide, kForF32, 3, bind);
  const Turns turns = sum_of(split(c.x * c.parts[0], bind), split(c.x * c.parts[1], bind), bind);
  return reduced(turns, c.x * c.parts[2], bind);
}
Reduced reduce_f64(const Expr& x, const Bind& bind) {
  const Chosen c = choose(bind(tensor::abs(x)), kForF64, 4, bind);
  // As fused steps, or a back end might fuse a product into a later difference and count what is lost twice.
  const Expr zero = number(x, 0);
  Turns turns;
  Expr lost;
  for (int part = 0; part < 3; ++part) {
    const Expr product = bind(fma(c.x, c.parts[part], zero));
    lost = bind(fma(c.x, c.parts[part], -product));
    const Turns more = split(product, bind);
    turns = part == 0 ? more : sum_of(turns, more, bind);
    if (part < 2) turns = sum_of(turns, split(lost, bind), bind);
  }
  return reduced(turns, lost + c.x * c.parts[3], bind);
}

Expr sin_reduced(const Expr& r, const Bind& bind) {
  const Expr z = bind(r * r);
  if (is_double(r))
    return polynomial(z, {0x1.5e10c280dcea7p-33, -0x1.ae601e913750bp-26, 0x1.71de37af35646p-19,
                          -0x1.a01a019e9f08cp-13, 0x1.1111111110c7ap-7, -0x1.5555555555555p-3}) *
               (z * r) +
           r;
  return fma(polynomial(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}), z * r, r);
}
Expr cos_reduced(const Expr& r, const Bind& bind) {
  const Expr z = bind(r * r);
  if (is_double(r))
    return polynomial(z, {-0x1.90737ce5676b4p-37, 0x1.1eeb57c9019b6p-29, -0x1.27e4fa02dc336p-22,
                          0x1.a01a019f38357p-16, -0x1.6c16c16c168cap-10, 0x1.5555555555555p-5}) *
               (z * z) +
           (number(r, 1) - z * number(r, 0.5));
  const Expr p = polynomial(z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2});
  return fma(p, z * z, fma(z, -0.5, number(r, 1)));
}

enum class Circular { kSin, kCos };
Expr circular(Circular function, const Expr& x, const Bind& bind) {
  const bool wide = is_double(x);
  Reduced r = wide ? reduce_f64(x, bind) : reduce_f32(x, bind);
  if (!wide)
    r = {tensor::cast({Element::kFloat32, 1}, r.angle), tensor::cast({Element::kFloat32, 1}, r.quadrant)};
  const Expr angle = bind(r.angle);
  // cos(x) = sin(x + pi/2): one quadrant on, of at most four.
  const bool is_cos = function == Circular::kCos;
  const Expr quadrant = bind(is_cos ? r.quadrant + number(x, 1) : r.quadrant);
  const Expr is_odd =
      tensor::logical_or(tensor::equal(quadrant, number(x, 1)), tensor::equal(quadrant, number(x, 3)));
  const Expr value = bind(tensor::select(is_odd, cos_reduced(angle, bind), sin_reduced(angle, bind)));
  const Expr negative = is_cos ? tensor::logical_or(tensor::equal(quadrant, number(x, 2)),
                                                    tensor::equal(quadrant, number(x, 3)))
                               : number(x, 2) <= quadrant;
  const Expr of_size = tensor::select(negative, -value, value);
  if (is_cos) return of_size;
  return bind(of_size) * copysign(number(x, 1), x);  // sin(-x) = -sin(x), of zeros too
}

}  // namespace

Expr sin(const Expr& x, const Bind& bind) {
  return circular(Circular::kSin, x, bind);
}

Expr cos(const Expr& x, const Bind& bind) {
  return circular(Circular::kCos, x, bind);
}

}  // namespace tf::passes
