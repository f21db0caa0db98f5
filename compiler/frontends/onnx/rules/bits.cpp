// Operators of signs, remainders and bits, and conversions to another operand's type.
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/onnx/formula.h"
#include "compiler/frontends/onnx/tensor_proto.h"

namespace tf::onnx {
namespace {

using graph::BinaryKind;
using tensor::Element;
using Result = absl::StatusOr<NodeId>;

Result sign(NodeReader& node) {
  Formula f(node);
  const Term x = f.input(0);
  const Term below = where(x < 0.0, -1.0, x.is_float() ? where(equal(x, 0.0), 0.0, x) : x * 0.0);
  const Term y = tensor::is_unsigned(x.element()) ? x * 0.0 : below;
  return f.result(where(0.0 < x, 1.0, y));
}

Result is_inf(NodeReader& node) {
  Formula f(node);
  const Term x = f.input(0);
  const bool above = f.attribute("detect_positive", int64_t{1}) != 0;
  const bool below = f.attribute("detect_negative", int64_t{1}) != 0;
  if (f.ok() && !x.is_float()) return node.invalid("it needs floating point, not " + to_string(x.type()));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (above && below) return f.result(equal(abs(x), kInfinity));
  if (above || below) return f.result(equal(x, above ? kInfinity : -kInfinity));
  return f.result(expand(f.scalar(0, Element::kBool), x.extents()));
}

Result exclusive_or(NodeReader& node) {
  Formula f(node);
  const auto [a, b] = binary_operands(f);
  if (f.ok() && a.element() != Element::kBool) return node.invalid("it needs bool operands");
  return f.result(!equal(a, b));
}

// With the sign of the dividend (fmod), or, of whole numbers, of the divisor. A whole divisor of zero gives zero.
Result mod(NodeReader& node) {
  Formula f(node);
  const Term a = f.input(0), b = f.input(1);
  const bool of_dividend = f.attribute("fmod", int64_t{0}) != 0;
  if (!f.ok()) return f.status();
  if (a.is_float()) {
    if (!of_dividend) return node.invalid("of floating point needs attribute 'fmod' to be 1");
    return f.result(binary(BinaryKind::kFmod, a, b));
  }
  const Term rest = where(equal(b, 0.0), 0.0, a - (a / b) * b);
  if (of_dividend || tensor::is_unsigned(a.element())) return f.result(rest);
  const Term corrected = either(equal(rest, 0.0), equal(rest < 0.0, b < 0.0));
  return f.result(where(corrected, rest, rest + b));
}

template <BinaryKind kKind>
Result bitwise(NodeReader& node) {
  Formula f(node);
  return f.result(binary(kKind, f.input(0), f.input(1)));
}

Result bitwise_not(NodeReader& node) {
  Formula f(node);
  const Term x = f.input(0);
  if (f.ok() && (x.is_float() || x.element() == Element::kBool))
    return node.invalid("it needs integers, not " + to_string(x.type()));
  return f.result(binary(BinaryKind::kBitXor, x, f.integers({}, {-1}, x.element())));
}

// By as many bits as the second operand says: products and quotients of powers of two, in i64 by up to 62 bits, which
// leave nothing of 32; u64 in its own type. Nothing is left by as many bits as it has, and more.
Result bit_shift(NodeReader& node) {
  Formula f(node);
  const Term a = f.input(0), b = f.input(1);
  const std::string direction = f.attribute("direction", "");
  if (!f.ok()) return f.status();
  if (direction != "LEFT" && direction != "RIGHT")
    return node.invalid(absl::StrCat("attribute 'direction' is '", direction, "'"));
  if (!tensor::is_unsigned(a.element()) || a.element() == Element::kBool)
    return node.invalid("it needs integers without sign, not " + to_string(a.type()));
  const bool is_left = direction == "LEFT", is_widest = a.element() == Element::kUInt64;
  const Element computed = is_widest ? Element::kUInt64 : Element::kInt64;
  const double most = is_widest ? 63 : 62;
  const Term wide = cast(a, computed), places = min(b, most);
  const Term power = cast(pow(f.scalar(2, Element::kInt64), cast(places, Element::kInt64)), computed);
  const Term shifted = cast(is_left ? wide * power : wide / power, a.element());
  return f.result(is_widest ? where(b < most + 1, shifted, 0.0) : shifted);
}

Result cast_like(NodeReader& node) {
  Formula f(node);
  const Term x = f.input(0), like = f.input(1);
  return f.result(unary(graph::UnaryKind::kIdentity, cast(x, like.element())));
}

Result bit_cast(NodeReader& node) {
  Formula f(node);
  const Term x = f.input(0);
  if (f.ok() && !node.has_attribute("to")) return node.invalid("it has no attribute 'to'");
  const auto to = static_cast<int32_t>(f.attribute("to", int64_t{0}));
  if (!f.ok()) return f.status();
  const absl::StatusOr<Element> element = element_from_onnx(to);
  if (!element.ok() || is_four_bits(to))
    return node.unsupported(absl::StrCat("elements of type ", to, " are not supported"));
  if (*element == x.element()) return f.result(identity(x));
  const std::array operands = {x};
  return f.result(f.emit(graph::BitCast{*element}, operands));
}

constexpr std::array kBitRules = {NamedRule{"BitCast", bit_cast},
                                  NamedRule{"BitShift", bit_shift},
                                  NamedRule{"BitwiseAnd", bitwise<BinaryKind::kBitAnd>},
                                  NamedRule{"BitwiseNot", bitwise_not},
                                  NamedRule{"BitwiseOr", bitwise<BinaryKind::kBitOr>},
                                  NamedRule{"BitwiseXor", bitwise<BinaryKind::kBitXor>},
                                  NamedRule{"CastLike", cast_like},
                                  NamedRule{"IsInf", is_inf},
                                  NamedRule{"Mod", mod},
                                  NamedRule{"Sign", sign},
                                  NamedRule{"Xor", exclusive_or}};

}  // namespace

std::span<const NamedRule> bit_rules() {
  return kBitRules;
}

}  // namespace tf::onnx
