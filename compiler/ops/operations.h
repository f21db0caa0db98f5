#pragma once
// Owns: which operation of expressions an element-wise kind is. Does not know: kinds that are several operations, or
// another one for integers than for floats.

#include <optional>

#include "compiler/ops/kind.h"
#include "compiler/tensor/expr.h"

namespace tf::ops {

// Nothing for kIdentity, kNeg, kAbs, kRelu, kReciprocal and kNot.
inline std::optional<tensor::Intrinsic> intrinsic_of(UnaryKind kind) {
  using F = tensor::Intrinsic;
  constexpr auto kNone = std::nullopt;
  static constexpr std::array<std::optional<F>, kUnaryNames.size()> kOf = {
      kNone,     kNone,    kNone, kNone,     F::kSigmoid, F::kTanh,  F::kErf, F::kExp, F::kExpm1, F::kLog,
      F::kLog1p, F::kSqrt, kNone, F::kFloor, F::kCeil,    F::kRound, F::kSin, F::kCos, kNone};
  return kOf[static_cast<size_t>(kind)];
}

// Nothing for kDiv and kPow.
inline std::optional<tensor::BinaryOp> operation_of(BinaryKind kind) {
  using Op = tensor::BinaryOp;
  static constexpr std::array<std::optional<Op>, kBinaryNames.size()> kOf = {
      Op::kAdd, Op::kSub, Op::kMul, std::nullopt, std::nullopt, Op::kMin,
      Op::kMax, Op::kEq,  Op::kLt,  Op::kLe,      Op::kAnd,     Op::kOr};
  return kOf[static_cast<size_t>(kind)];
}

}  // namespace tf::ops
