#pragma once
// Owns: the kinds of element-wise operators and reductions, which networks and workloads share, and their
// names. Does not know: how they are computed.

#include <array>
#include <cstdint>
#include <string_view>

namespace tf::ops {

enum class UnaryKind : uint8_t {
  kIdentity,
  kNeg,
  kAbs,
  kRelu,
  kSigmoid,
  kTanh,
  kErf,
  kExp,
  kExpm1,  // exp(x) - 1
  kLog,
  kLog1p,  // log(1 + x)
  kSqrt,
  kReciprocal,
  kFloor,
  kCeil,
  kRound,  // ties to even
  kSin,
  kCos,
  kAtan,
  kNot  // of bool
};
inline constexpr std::array<std::string_view, 20> kUnaryNames = {
    "identity", "neg",  "abs",        "relu",  "sigmoid", "tanh",  "erf", "exp", "expm1", "log",
    "log1p",    "sqrt", "reciprocal", "floor", "ceil",    "round", "sin", "cos", "atan",  "not"};
static_assert(kUnaryNames.size() == static_cast<size_t>(UnaryKind::kNot) + 1);

enum class BinaryKind : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,  // of integers: towards zero; a zero divisor counts as one
  kPow,
  kFmod,    // of floats: x - y * trunc(x / y), exact
  kBitAnd,  // of integers, as the next two
  kBitOr,
  kBitXor,
  kMin,
  kMax,
  kEqual,  // from here on of bool
  kLess,
  kLessEqual,
  kAnd,
  kOr
};
inline constexpr std::array<std::string_view, 16> kBinaryNames = {
    "add",     "sub", "mul", "div",   "pow",  "fmod",       "bit_and", "bit_or",
    "bit_xor", "min", "max", "equal", "less", "less_equal", "and",     "or"};
static_assert(kBinaryNames.size() == static_cast<size_t>(BinaryKind::kOr) + 1);

enum class ReduceKind : uint8_t { kSum, kMean, kMax, kMin, kProd };
inline constexpr std::array<std::string_view, 5> kReduceNames = {"reduce_sum", "reduce_mean", "reduce_max",
                                                                 "reduce_min", "reduce_prod"};
static_assert(kReduceNames.size() == static_cast<size_t>(ReduceKind::kProd) + 1);

constexpr std::string_view name_of(UnaryKind kind) {
  return kUnaryNames[static_cast<size_t>(kind)];
}
constexpr std::string_view name_of(BinaryKind kind) {
  return kBinaryNames[static_cast<size_t>(kind)];
}
constexpr std::string_view name_of(ReduceKind kind) {
  return kReduceNames[static_cast<size_t>(kind)];
}

}  // namespace tf::ops
