#pragma once
// Owns: what operators and intrinsics give for numbers, as expr.h defines them: for all who compute values instead of
// making code. Does not know: expressions.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "base/whole_division.h"
#include "compiler/tensor/expr.h"

namespace tf::tensor {

inline double value_of(BinaryOp op, double a, double b) {
  const bool nan = std::isnan(a) || std::isnan(b);
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kMin:
      return nan ? std::nan("") : std::min(a, b);
    case BinaryOp::kMax:
      return nan ? std::nan("") : std::max(a, b);
    case BinaryOp::kEq:
      return a == b;
    case BinaryOp::kNe:
      return a != b;
    case BinaryOp::kLt:
      return a < b;
    case BinaryOp::kLe:
      return a <= b;
    case BinaryOp::kAnd:
      return a != 0 && b != 0;
    case BinaryOp::kOr:
      return a != 0 || b != 0;
    default:
      TF_UNREACHABLE() << "no operation of floats";
  }
}

// Of data: modulo 2^64, and with a divisor of zero as one.
inline int64_t value_of(BinaryOp op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case BinaryOp::kAdd:
      return static_cast<int64_t>(x + y);
    case BinaryOp::kSub:
      return static_cast<int64_t>(x - y);
    case BinaryOp::kMul:
      return static_cast<int64_t>(x * y);
    case BinaryOp::kFloorDiv:
      if (b == -1) return static_cast<int64_t>(0 - x);
      return b == 0 ? a : floor_quotient(a, b);
    case BinaryOp::kFloorMod:
      return b == 0 || b == -1 ? 0 : floor_remainder(a, b);
    case BinaryOp::kMin:
      return std::min(a, b);
    case BinaryOp::kMax:
      return std::max(a, b);
    case BinaryOp::kEq:
      return a == b;
    case BinaryOp::kNe:
      return a != b;
    case BinaryOp::kLt:
      return a < b;
    case BinaryOp::kLe:
      return a <= b;
    case BinaryOp::kAnd:
      return a != 0 && b != 0;
    case BinaryOp::kOr:
      return a != 0 || b != 0;
    default:
      TF_UNREACHABLE() << "no operation of integers";
  }
}

// Of an integer element, the u64 as i64 of the same bits. Modulo 2^64, not yet wrapped to a narrower element.
inline int64_t value_of(BinaryOp op, Element element, int64_t a, int64_t b) {
  if (element != Element::kUInt64) return value_of(op, a, b);
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case BinaryOp::kFloorDiv:
      return y == 0 ? a : static_cast<int64_t>(x / y);
    case BinaryOp::kFloorMod:
      return y == 0 ? 0 : static_cast<int64_t>(x % y);
    case BinaryOp::kMin:
      return x < y ? a : b;
    case BinaryOp::kMax:
      return x < y ? b : a;
    case BinaryOp::kLt:
      return x < y;
    case BinaryOp::kLe:
      return x <= y;
    default:
      return value_of(op, a, b);
  }
}

// The whole number of an integer element, u64 as above, as a double.
inline double real_of(Element element, int64_t value) {
  return element == Element::kUInt64 ? static_cast<double>(static_cast<uint64_t>(value))
                                     : static_cast<double>(value);
}

// Of one or two scalars; kLogb and kSignificand are those of an element, and not here.
inline double value_of(Intrinsic function, double x, double y = 0) {
  switch (function) {
    case Intrinsic::kExp:
      return std::exp(x);
    case Intrinsic::kExpm1:
      return std::expm1(x);
    case Intrinsic::kLog:
      return std::log(x);
    case Intrinsic::kLog1p:
      return std::log1p(x);
    case Intrinsic::kSqrt:
      return std::sqrt(x);
    case Intrinsic::kRsqrt:
      return 1 / std::sqrt(x);
    case Intrinsic::kTanh:
      return std::tanh(x);
    case Intrinsic::kErf:
      return std::erf(x);
    case Intrinsic::kSigmoid: {  // without overflow, so that it is right where the result is denormal
      const double t = std::exp(-std::fabs(x));
      return (x < 0 ? t : 1) / (1 + t);
    }
    case Intrinsic::kPow:
      return std::pow(x, y);
    case Intrinsic::kFloor:
      return std::floor(x);
    case Intrinsic::kCeil:
      return std::ceil(x);
    case Intrinsic::kRound:
      return std::nearbyint(x);  // ties to even
    case Intrinsic::kSin:
      return std::sin(x);
    case Intrinsic::kCos:
      return std::cos(x);
    case Intrinsic::kAtan:
      return std::atan(x);
    case Intrinsic::kFmod:
      return std::fmod(x, y);
    case Intrinsic::kCopysign:
      return std::copysign(x, y);
    case Intrinsic::kLdexp:
      return std::isnan(y) ? y : std::ldexp(x, static_cast<int>(y));
    default:
      TF_UNREACHABLE() << "no function of one or two numbers";
  }
}

}  // namespace tf::tensor
