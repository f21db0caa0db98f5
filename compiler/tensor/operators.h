#pragma once
// Owns: how the text of expressions writes operators of two operands: infix symbols and how tightly they bind. Does not
// know: functions and unary operators.

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/tensor/expr.h"

namespace tf::tensor {

// Higher binds tighter. Comparisons do not chain; all else associates to the left.
enum Precedence { kOrLevel = 1, kAndLevel, kCompareLevel, kAddLevel, kMulLevel, kUnaryLevel, kPrimaryLevel };

struct InfixOperator {
  BinaryOp op;
  std::string_view symbol;  // empty: written as a call
  int level;
};

inline constexpr std::array kInfixOperators = {
    InfixOperator{BinaryOp::kOr, "||", kOrLevel},        InfixOperator{BinaryOp::kAnd, "&&", kAndLevel},
    InfixOperator{BinaryOp::kEq, "==", kCompareLevel},   InfixOperator{BinaryOp::kNe, "!=", kCompareLevel},
    InfixOperator{BinaryOp::kLt, "<", kCompareLevel},    InfixOperator{BinaryOp::kLe, "<=", kCompareLevel},
    InfixOperator{BinaryOp::kAdd, "+", kAddLevel},       InfixOperator{BinaryOp::kSub, "-", kAddLevel},
    InfixOperator{BinaryOp::kMul, "*", kMulLevel},       InfixOperator{BinaryOp::kDiv, "/", kMulLevel},
    InfixOperator{BinaryOp::kFloorDiv, "//", kMulLevel}, InfixOperator{BinaryOp::kFloorMod, "%", kMulLevel},
    InfixOperator{BinaryOp::kMin, "", kPrimaryLevel},    InfixOperator{BinaryOp::kMax, "", kPrimaryLevel},
};

inline const InfixOperator& operator_of(BinaryOp op) {
  return *std::ranges::find(kInfixOperators, op, &InfixOperator::op);
}

}  // namespace tf::tensor
