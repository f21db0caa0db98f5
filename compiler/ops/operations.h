#pragma once
// Owns: which operation of expressions an element-wise kind is. Does not know: kinds that are several operations, or
// another one for integers than for floats.

#include <optional>

#include "compiler/ops/kind.h"
#include "compiler/tensor/expr.h"

namespace tf::ops {

inline std::optional<tensor::Intrinsic> intrinsic_of(UnaryKind kind) {
  using F = tensor::Intrinsic;
  switch (kind) {
    case UnaryKind::kSigmoid:
      return F::kSigmoid;
    case UnaryKind::kTanh:
      return F::kTanh;
    case UnaryKind::kErf:
      return F::kErf;
    case UnaryKind::kExp:
      return F::kExp;
    case UnaryKind::kExpm1:
      return F::kExpm1;
    case UnaryKind::kLog:
      return F::kLog;
    case UnaryKind::kLog1p:
      return F::kLog1p;
    case UnaryKind::kSqrt:
      return F::kSqrt;
    case UnaryKind::kFloor:
      return F::kFloor;
    case UnaryKind::kCeil:
      return F::kCeil;
    case UnaryKind::kRound:
      return F::kRound;
    case UnaryKind::kSin:
      return F::kSin;
    case UnaryKind::kCos:
      return F::kCos;
    case UnaryKind::kAtan:
      return F::kAtan;
    case UnaryKind::kIdentity:
    case UnaryKind::kNeg:
    case UnaryKind::kAbs:
    case UnaryKind::kRelu:
    case UnaryKind::kReciprocal:
    case UnaryKind::kNot:
      return std::nullopt;
  }
  return std::nullopt;
}

inline std::optional<tensor::BinaryOp> operation_of(BinaryKind kind) {
  using Op = tensor::BinaryOp;
  switch (kind) {
    case BinaryKind::kAdd:
      return Op::kAdd;
    case BinaryKind::kSub:
      return Op::kSub;
    case BinaryKind::kMul:
      return Op::kMul;
    case BinaryKind::kMin:
      return Op::kMin;
    case BinaryKind::kMax:
      return Op::kMax;
    case BinaryKind::kEqual:
      return Op::kEq;
    case BinaryKind::kLess:
      return Op::kLt;
    case BinaryKind::kLessEqual:
      return Op::kLe;
    case BinaryKind::kAnd:
      return Op::kAnd;
    case BinaryKind::kOr:
      return Op::kOr;
    case BinaryKind::kDiv:
    case BinaryKind::kPow:
    case BinaryKind::kFmod:
    case BinaryKind::kBitAnd:
    case BinaryKind::kBitOr:
    case BinaryKind::kBitXor:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tf::ops
