#include "compiler/backends/gpu/helpers.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tf::backends {
namespace {

using tensor::Element;

// In the texts: $T the type, $U the unsigned one of its size, $N the function's name, $F before a function; $L and $H the
// ends of an integer's range; $f behind a function of the library; $Long, $ULong.
constexpr char kMinText[] = "$F $T $N($T a, $T b) { return a < b || a != a ? a : b; }\n";
constexpr char kMaxText[] = "$F $T $N($T a, $T b) { return a > b || a != a ? a : b; }\n";
constexpr char kFloorDivText[] = R"($F $T $N($T a, $T b) {
  if (b == ($T)-1) return ($T)(($U)0 - ($U)a);
  const $T d = b == 0 ? ($T)1 : b;
  return a / d - (a % d != 0 && (a < 0) != (d < 0));
}
)";
constexpr char kFloorDivUnsigned[] = "$F $T $N($T a, $T b) { return a / (b == 0 ? ($T)1 : b); }\n";
constexpr char kFloorModText[] = R"($F $T $N($T a, $T b) {
  const $T d = b == 0 || b == ($T)-1 ? ($T)1 : b;
  const $T r = a % d;
  return r != 0 && (r < 0) != (d < 0) ? r + d : r;
}
)";
constexpr char kFloorModUnsigned[] = "$F $T $N($T a, $T b) { return a % (b == 0 ? ($T)1 : b); }\n";
constexpr char kPowerText[] = R"($F $Long $N($Long x, $Long y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
  $ULong base = x, result = 1;
  for (; y > 0; y /= 2, base *= base)
    if (y % 2 != 0) result *= base;
  return ($Long)result;
}
)";
constexpr char kSigmoidText[] = R"($F $T $N($T x) {
  const $T t = exp$f(-fabs$f(x));
  return (x < 0 ? t : ($T)1) / (($T)1 + t);
}
)";
constexpr char kFromFloatText[] = R"($F $T $N($V x) {
  return x != x ? ($T)0 : x <= ($V)($L) ? ($T)($L) : x >= ($V)($H) ? ($T)($H) : ($T)x;
}
)";
constexpr char kOrZeroText[] = "$F $T $N(int holds, $T x) { return holds ? x : ($T)0; }\n";
constexpr char kBfloatLoad[] = "$F float $N(unsigned short x) { return $floatOf((unsigned)x << 16); }\n";
constexpr char kBfloatStore[] = R"($F unsigned short $N(float x) {
  const unsigned bits = $bitsOf(x);
  if (x != x) return (unsigned short)(bits >> 16 | 64u);
  return (unsigned short)((bits + 32767u + (bits >> 16 & 1u)) >> 16);
}
)";
constexpr char kOddFloatText[] = R"($F float $N(double x) {
  const float nearest = (float)x;
  unsigned bits = $bitsOf(nearest);
  if (x != x || (double)nearest == x || (bits & 1u) != 0 || (bits & 0x7fffffffu) == 0x7f800000u) return nearest;
  bits = fabs((double)nearest) > fabs(x) ? bits - 1 : bits + 1;
  return $floatOf(bits);
}
)";

const char* suffix(Helper helper) {
  switch (helper) {
    case Helper::kMin:
      return "min";
    case Helper::kMax:
      return "max";
    case Helper::kFloorDiv:
      return "floor_div";
    case Helper::kFloorMod:
      return "floor_mod";
    case Helper::kPower:
      return "power";
    case Helper::kSigmoid:
      return "sigmoid";
    case Helper::kFromFloat:
      return "from_float";
    case Helper::kFromDouble:
      return "from_double";
    case Helper::kOrZero:
      return "or_zero";
    case Helper::kLoad:
      return "load";
    case Helper::kStore:
      return "store";
    case Helper::kRound:
      return "round";
    case Helper::kOddFloat:
      return "odd_float";
  }
  __builtin_unreachable();
}

std::string name_of(Helper helper, Element element) {
  return absl::StrCat("tf_", suffix(helper), "_", std::string(tensor::element_name(element)));
}

const char* text_of(Helper helper, Element element) {
  const bool without_sign = tensor::is_unsigned(element);
  switch (helper) {
    case Helper::kMin:
      return kMinText;
    case Helper::kMax:
      return kMaxText;
    case Helper::kFloorDiv:
      return without_sign ? kFloorDivUnsigned : kFloorDivText;
    case Helper::kFloorMod:
      return without_sign ? kFloorModUnsigned : kFloorModText;
    case Helper::kPower:
      return kPowerText;
    case Helper::kSigmoid:
      return kSigmoidText;
    case Helper::kFromFloat:
    case Helper::kFromDouble:
      return kFromFloatText;
    case Helper::kOrZero:
      return kOrZeroText;
    case Helper::kLoad:
      return element == Element::kBFloat16 ? kBfloatLoad : "";
    case Helper::kStore:
      return element == Element::kBFloat16 ? kBfloatStore : "";
    case Helper::kRound:
      return "$F float $N(float x) { return $load($store(x)); }\n";
    case Helper::kOddFloat:
      return kOddFloatText;
  }
  __builtin_unreachable();
}

// A literal of the element's own type. C has none for the lowest number.
std::string literal(const GpuDialect& dialect, Element element, int64_t value) {
  const std::string suffix = std::string(dialect.long_suffix);
  if (element == Element::kUInt64) return absl::StrCat(static_cast<uint64_t>(value), "u", suffix);
  if (element == Element::kInt64 && value == std::numeric_limits<int64_t>::min())
    return absl::StrCat("-9223372036854775807", suffix, " - 1");
  if (element == Element::kInt64) return absl::StrCat(value, suffix);
  if (element == Element::kUInt32) return absl::StrCat(value, "u");
  if (value == std::numeric_limits<int32_t>::min()) return "-2147483647 - 1";
  return absl::StrCat(value);
}

Element unsigned_of(Element element) {
  switch (element) {
    case Element::kInt8:
      return Element::kUInt8;
    case Element::kInt16:
      return Element::kUInt16;
    case Element::kInt32:
      return Element::kUInt32;
    case Element::kInt64:
      return Element::kUInt64;
    default:
      return element;
  }
}

}  // namespace

std::string Helpers::name(Helper helper, Element element) {
  if (helper == Helper::kRound) {
    used_.insert({Helper::kLoad, element});
    used_.insert({Helper::kStore, element});
  }
  doubles_ = doubles_ || element == Element::kFloat64 || helper == Helper::kFromDouble ||
             helper == Helper::kOddFloat;
  used_.insert({helper, element});
  return name_of(helper, element);
}

std::string Helpers::swizzle(const tensor::Swizzle& swizzle) {
  std::string name = absl::StrCat("tf_swizzle_", swizzle.bits, "_", swizzle.base, "_", swizzle.shift);
  swizzles_[name] = absl::StrCat(dialect_.function, " int ", name, "(int x) { return x ^ (x >> ",
                                 swizzle.shift, " & ", swizzle.block() - swizzle.run(), "); }\n");
  return name;
}

std::string Helpers::text() const {
  std::string all = async_copies_ ? dialect_.async_copies : "";
  if (bulk_copies_) all += dialect_.bulk_copies;
  for (const auto& [name, text] : swizzles_) all += text;
  if (used_.contains({Helper::kLoad, Element::kFloat16}) ||
      used_.contains({Helper::kStore, Element::kFloat16}))
    all += dialect_.half_functions;
  for (const auto& [helper, element] : used_) {
    const bool is_whole = !tensor::is_float(element);
    const bool is_plain = dialect_.functions_are_overloaded || element == Element::kFloat64;
    absl::StrAppend(&all,
                    absl::StrReplaceAll(
                        text_of(helper, element),
                        {{"$Long", dialect_.long_type},
                         {"$ULong", dialect_.unsigned_long_type},
                         {"$floatOf", dialect_.float_of_bits},
                         {"$bitsOf", dialect_.bits_of_float},
                         {"$load", name_of(Helper::kLoad, element)},
                         {"$store", name_of(Helper::kStore, element)},
                         {"$T", value_type(dialect_, element)},
                         {"$U", value_type(dialect_, unsigned_of(element))},
                         {"$V", helper == Helper::kFromDouble ? "double" : "float"},
                         {"$L", is_whole ? literal(dialect_, element, tensor::lowest_integer(element)) : ""},
                         {"$H", is_whole ? literal(dialect_, element, tensor::highest_integer(element)) : ""},
                         {"$N", name_of(helper, element)},
                         {"$F", dialect_.function},
                         {"$f", is_plain ? "" : "f"}}));
  }
  return all;
}

}  // namespace tf::backends
