// The interpreter's instructions that compute: one function a pair of operation and element type.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "compiler/ir/machine.h"
#include "compiler/ir/machine_lanes.h"
#include "compiler/tensor/arithmetic.h"

namespace tf::ir::machine {
namespace {

// Unsigned arithmetic wraps, as narrow integers do; floats are as they are.
template <typename T>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

template <BinaryOp kOp, typename T>
T arithmetic(T a, T b) {
  using U = Wrapping<T>;
  if constexpr (kOp == BinaryOp::kAdd) return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  if constexpr (kOp == BinaryOp::kSub) return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  if constexpr (kOp == BinaryOp::kMul && std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  if constexpr (kOp == BinaryOp::kMul && !std::is_integral_v<T>) return a * b;
  if constexpr (kOp == BinaryOp::kDiv) return a / b;
  if constexpr (kOp == BinaryOp::kMin) return a != a ? a : b != b ? b : std::min(a, b);
  if constexpr (kOp == BinaryOp::kMax) return a != a ? a : b != b ? b : std::max(a, b);
}

template <BinaryOp kOp, typename T>
bool predicate(T a, T b) {
  if constexpr (kOp == BinaryOp::kEq) return a == b;
  if constexpr (kOp == BinaryOp::kNe) return a != b;
  if constexpr (kOp == BinaryOp::kLt) return a < b;
  if constexpr (kOp == BinaryOp::kLe) return a <= b;
  if constexpr (kOp == BinaryOp::kAnd) return a != 0 && b != 0;
  if constexpr (kOp == BinaryOp::kOr) return a != 0 || b != 0;
}

template <typename L, BinaryOp kOp>
void run_arithmetic(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T* a = m.at<T>(i.a);
  const T* b = m.at<T>(i.b);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) out[l] = L::finish(arithmetic<kOp>(a[l], b[l]));
}

template <typename L, BinaryOp kOp>
void run_predicate(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T* a = m.at<T>(i.a);
  const T* b = m.at<T>(i.b);
  uint8_t* out = m.at<uint8_t>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) out[l] = predicate<kOp>(a[l], b[l]);
}

// A zero divisor counts as one. In an index it is somebody's fault, but for lanes that a select does not
// choose.
template <typename L, bool kModulo>
void run_division(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T* a = m.at<T>(i.a);
  const T* b = m.at<T>(i.b);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) {
    if (b[l] == 0) {
      out[l] = kModulo ? T{0} : a[l];
      if (!i.total && (i.mask < 0 || m.at<uint8_t>(i.mask)[l] != 0))
        m.run->fail(absl::FailedPreconditionError("an index is divided by zero; guard the divisor"));
      continue;
    }
    if (std::is_signed_v<T> && b[l] == static_cast<T>(-1)) {  // the lowest value has no negative
      out[l] = kModulo ? T{0} : arithmetic<BinaryOp::kSub>(T{0}, a[l]);
      continue;
    }
    const auto q = static_cast<T>(a[l] / b[l]);
    const auto r = static_cast<T>(a[l] % b[l]);
    const bool down = r != 0 && (r < 0) != (b[l] < 0);
    out[l] = kModulo ? static_cast<T>(down ? r + b[l] : r) : static_cast<T>(down ? q - 1 : q);
  }
}

template <typename L, BinaryOp kOp>
Kernel pick_arithmetic() {
  if constexpr (kOp == BinaryOp::kDiv && !L::kIsFloat)
    return nullptr;
  else
    return &run_arithmetic<L, kOp>;
}

template <typename L, bool kModulo>
Kernel pick_division() {
  if constexpr (L::kIsFloat)
    return nullptr;
  else
    return &run_division<L, kModulo>;
}

template <typename L, UnaryOp kOp>
void run_unary(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T* a = m.at<T>(i.a);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) {
    if constexpr (kOp == UnaryOp::kNot)
      out[l] = a[l] == 0;
    else if constexpr (L::kIsFloat)
      out[l] = kOp == UnaryOp::kNeg ? -a[l] : std::fabs(a[l]);
    else
      out[l] = kOp == UnaryOp::kNeg || a[l] < 0 ? arithmetic<BinaryOp::kSub>(T{0}, a[l]) : a[l];
  }
}

// The exponent field without its bias.
template <typename T>
T exponent_of(T x) {
  using Limits = std::numeric_limits<T>;
  if (!std::isfinite(x)) return T{Limits::max_exponent};
  return std::fabs(x) < Limits::min() ? T{Limits::min_exponent - 2} : std::logb(x);
}

template <typename L>
void run_logb(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T* a = m.at<T>(i.a);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) out[l] = exponent_of(a[l]);
}

// The fraction's bits below the exponent of 1.
float significand_of(float x) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(x) & 0x007fffffU) | 0x3f800000U);
}
double significand_of(double x) {
  return std::bit_cast<double>((std::bit_cast<uint64_t>(x) & 0x000fffffffffffffU) | 0x3ff0000000000000U);
}

template <typename L>
void run_significand(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T* a = m.at<T>(i.a);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) out[l] = significand_of(a[l]);
}

template <typename L, Intrinsic kFunction>
void run_call(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T* a = m.at<T>(i.a);
  constexpr bool kTakesTwo = kFunction == Intrinsic::kPow || kFunction == Intrinsic::kFmod ||
                             kFunction == Intrinsic::kLdexp || kFunction == Intrinsic::kCopysign;
  const T* b = m.at<T>(kTakesTwo ? i.b : i.a);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) {
    const double value = tensor::value_of(kFunction, static_cast<double>(a[l]), static_cast<double>(b[l]));
    if constexpr (L::kElement == Element::kFloat16 || L::kElement == Element::kBFloat16)
      out[l] = L::finish(value);
    else
      out[l] = static_cast<T>(value);
  }
}

template <typename L, Intrinsic kFunction>
void run_whole_call(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T *a = m.at<T>(i.a), *b = m.at<T>(i.b);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) {
    const auto x = static_cast<int64_t>(a[l]), y = static_cast<int64_t>(b[l]);
    out[l] = static_cast<T>(tensor::whole_value(kFunction, x, y));
  }
}

template <typename L>
void run_fma(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T *a = m.at<T>(i.a), *b = m.at<T>(i.b), *c = m.at<T>(i.c);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) {
    if constexpr (L::kElement == Element::kFloat16 || L::kElement == Element::kBFloat16)
      out[l] = L::finish(std::fma(double{a[l]}, double{b[l]}, double{c[l]}));
    else
      out[l] = std::fma(a[l], b[l], c[l]);
  }
}

template <typename L, BinaryOp kOp>
void run_reduce(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T* a = m.at<T>(i.a);
  T sum = a[0];
  for (int32_t l = 1; l < i.lanes; ++l) sum = L::finish(arithmetic<kOp>(sum, a[l]));
  *m.at<T>(i.target) = sum;
}

template <typename L>
Kernel pick_call(Intrinsic function) {
  switch (function) {
    case Intrinsic::kReduceAdd:
      return &run_reduce<L, BinaryOp::kAdd>;
    case Intrinsic::kReduceMax:
      return &run_reduce<L, BinaryOp::kMax>;
    case Intrinsic::kReduceMin:
      return &run_reduce<L, BinaryOp::kMin>;
    default:
      break;
  }
  if constexpr (L::kElement == Element::kInt64) {
    if (function == Intrinsic::kPow) return &run_whole_call<L, Intrinsic::kPow>;
  }
  if constexpr (!L::kIsFloat) {
    if (function == Intrinsic::kBitAnd) return &run_whole_call<L, Intrinsic::kBitAnd>;
    if (function == Intrinsic::kBitOr) return &run_whole_call<L, Intrinsic::kBitOr>;
    if (function == Intrinsic::kBitXor) return &run_whole_call<L, Intrinsic::kBitXor>;
  }
  if constexpr (L::kIsFloat) {
    switch (function) {
#define TF_CASE(name)   \
  case Intrinsic::name: \
    return &run_call<L, Intrinsic::name>
      TF_CASE(kExp);
      TF_CASE(kExpm1);
      TF_CASE(kLog);
      TF_CASE(kLog1p);
      TF_CASE(kSqrt);
      TF_CASE(kRsqrt);
      TF_CASE(kTanh);
      TF_CASE(kErf);
      TF_CASE(kSigmoid);
      TF_CASE(kPow);
      TF_CASE(kFloor);
      TF_CASE(kCeil);
      TF_CASE(kRound);
      TF_CASE(kSin);
      TF_CASE(kCos);
      TF_CASE(kAtan);
      TF_CASE(kFmod);
      TF_CASE(kCopysign);
      TF_CASE(kLdexp);
#undef TF_CASE
      case Intrinsic::kFma:
        return &run_fma<L>;
      case Intrinsic::kLogb:
        return &run_logb<L>;
      case Intrinsic::kSignificand:
        return &run_significand<L>;
      default:
        break;
    }
  }
  return nullptr;
}

template <typename Sum, typename A, typename B>
void run_dot(Machine& m, const Instruction& i) {
  using T = typename Sum::Lane;
  const T* c = m.at<T>(i.c);
  const auto* a = m.at<typename A::Lane>(i.a);
  const auto* b = m.at<typename B::Lane>(i.b);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) {
    T sum = c[l];
    for (int32_t k = 0; k < i.group; ++k) {
      const T x = static_cast<T>(a[(i.shared ? 0 : l * i.group) + k]);
      sum =
          arithmetic<BinaryOp::kAdd>(sum, arithmetic<BinaryOp::kMul>(x, static_cast<T>(b[l * i.group + k])));
    }
    out[l] = sum;
  }
}

template <typename To, typename From>
void run_cast(Machine& m, const Instruction& i) {
  const auto* a = m.at<typename From::Lane>(i.a);
  auto* out = m.at<typename To::Lane>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) out[l] = convert<To, From>(a[l]);
}

}  // namespace

Kernel binary_kernel(BinaryOp op, Element element) {
  return with_lane(element, [&](auto lane) -> Kernel {
    using L = decltype(lane);
    switch (op) {
#define TF_CASE(name)  \
  case BinaryOp::name: \
    return pick_arithmetic<L, BinaryOp::name>()
      TF_CASE(kAdd);
      TF_CASE(kSub);
      TF_CASE(kMul);
      TF_CASE(kDiv);
      TF_CASE(kMin);
      TF_CASE(kMax);
#undef TF_CASE
#define TF_CASE(name)  \
  case BinaryOp::name: \
    return &run_predicate<L, BinaryOp::name>
      TF_CASE(kEq);
      TF_CASE(kNe);
      TF_CASE(kLt);
      TF_CASE(kLe);
      TF_CASE(kAnd);
      TF_CASE(kOr);
#undef TF_CASE
      case BinaryOp::kFloorDiv:
        return pick_division<L, false>();
      case BinaryOp::kFloorMod:
        return pick_division<L, true>();
    }
    return nullptr;
  });
}

Kernel unary_kernel(UnaryOp op, Element element) {
  return with_lane(element, [&](auto lane) -> Kernel {
    using L = decltype(lane);
    switch (op) {
      case UnaryOp::kNeg:
        return &run_unary<L, UnaryOp::kNeg>;
      case UnaryOp::kAbs:
        return &run_unary<L, UnaryOp::kAbs>;
      case UnaryOp::kNot:
        return &run_unary<L, UnaryOp::kNot>;
    }
    return nullptr;
  });
}

Kernel call_kernel(Intrinsic function, Element element) {
  return with_lane(element, [&](auto lane) { return pick_call<decltype(lane)>(function); });
}

Kernel dot_kernel(Element sum, Element a, Element b) {
  return with_lane(sum, [&](auto s) {
    return with_lane(a, [&](auto x) {
      return with_lane(b, [&](auto y) -> Kernel {
        using S = decltype(s);
        using A = decltype(x);
        using B = decltype(y);
        constexpr bool kInts = S::kElement == Element::kInt32 &&
                               (A::kElement == Element::kInt8 || A::kElement == Element::kUInt8) &&
                               (B::kElement == Element::kInt8 || B::kElement == Element::kUInt8);
        constexpr bool kFloats = S::kElement == Element::kFloat32 && A::kElement == B::kElement &&
                                 (A::kElement == Element::kFloat16 || A::kElement == Element::kBFloat16);
        if constexpr (kInts || kFloats) return &run_dot<S, A, B>;
        return nullptr;
      });
    });
  });
}

Kernel cast_kernel(Element to, Element from) {
  return with_lane(to, [&](auto t) {
    return with_lane(from, [](auto f) -> Kernel { return &run_cast<decltype(t), decltype(f)>; });
  });
}

}  // namespace tf::ir::machine
