// The parts of arithmetic that take more than one LLVM instruction.

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "compiler/backends/llvm/emitter.h"

namespace tf::backends {
namespace {

// AVX-512's own instruction; null where the target or the type does not have it.
llvm::Value* scale_by_power(llvm::IRBuilderBase& b, const target::Target& target, llvm::Value* x,
                            llvm::function_ref<llvm::Value*()> exponent) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!type || !type->getElementType()->isFloatTy() || target.arch != target::Arch::kX86_64 ||
      !target.has("avx512vl"))
    return nullptr;
  const int lanes = static_cast<int>(type->getNumElements()), longest = target.fp32_lanes();
  const int part = lanes % 16 == 0 && longest >= 16 ? 16 : lanes % 8 == 0 ? 8 : lanes % 4 == 0 ? 4 : 0;
  if (part == 0) return nullptr;
  llvm::Value* n = exponent();
  const llvm::Intrinsic::ID id = part == 16  ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                                 : part == 8 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                                             : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
  std::vector<llvm::Value*> parts;
  for (int first = 0; first < lanes; first += part) {
    std::vector<int> range(static_cast<size_t>(part));
    std::iota(range.begin(), range.end(), first);
    llvm::Value* value = b.CreateShuffleVector(x, range);
    std::vector<llvm::Value*> args = {value, b.CreateShuffleVector(n, range), value};
    args.push_back(part == 16 ? b.getInt16(0xffff) : b.getInt8(0xff));
    constexpr uint32_t kCurrentRounding = 4;
    if (part == 16) args.push_back(b.getInt32(kCurrentRounding));
    parts.push_back(b.CreateIntrinsic(id, {}, args));
  }
  return parts.size() == 1 ? parts[0] : llvm::concatenateVectors(b, parts);
}

// IEEE 754 single or double precision, or a vector of them, and the integers of the same width.
struct FloatFormat {
  explicit FloatFormat(llvm::Type* of) : type(of), bits_type(nullptr) {
    const bool is_double = of->getScalarType()->isDoubleTy();
    fraction_bits = is_double ? 52 : 23;
    bias = is_double ? 1023 : 127;
    llvm::Type* scalar = llvm::Type::getIntNTy(of->getContext(), is_double ? 64 : 32);
    auto* vector = llvm::dyn_cast<llvm::VectorType>(of);
    bits_type = vector ? llvm::VectorType::get(scalar, vector->getElementCount()) : scalar;
  }
  llvm::Type* type;
  llvm::Type* bits_type;
  unsigned fraction_bits = 0;
  unsigned bias = 0;
};

// exponent + more, of which the second is a small whole number.
struct ShiftedExponent {
  ir::Expr exponent;
  double more = 0;
};
ShiftedExponent shifted_exponent(const ir::Expr& n) {
  const auto* sum = tensor::as<ir::Binary>(n);
  if (!sum || (sum->op != ir::BinaryOp::kAdd && sum->op != ir::BinaryOp::kSub)) return {n};
  const auto* wide = tensor::as<ir::Broadcast>(sum->b);
  const auto* constant = tensor::as<ir::FloatImm>(wide ? wide->value : sum->b);
  constexpr double kSmall = 64;
  if (!constant || std::fabs(constant->value) > kSmall || std::rint(constant->value) != constant->value)
    return {n};
  return {sum->a, sum->op == ir::BinaryOp::kAdd ? constant->value : -constant->value};
}

}  // namespace

// None in indices, and where bounds exclude them: of a positive constant above all.
Emitter::OddDivisors Emitter::odd_divisors(const ir::Binary& e, llvm::Value* divisor) {
  OddDivisors odd;
  if (!data_.contains(e.a) && !data_.contains(e.b)) return odd;
  const analysis::Interval divisors = range_of(e.b);
  if (divisors.contains(0)) odd.zero = b_.CreateICmpEQ(divisor, integer(divisor, 0));
  const int64_t lowest = analysis::element_range(e.type().element).min;
  if (lowest < 0 && divisors.contains(-1) && range_of(e.a).contains(lowest))
    odd.minus_one = b_.CreateICmpEQ(divisor, llvm::Constant::getAllOnesValue(divisor->getType()));
  return odd;
}

// Quotients and remainders that round towards minus infinity. Divisions by a constant whose dividend is known
// not to be negative (nearly all indices) are unsigned, and 32 bits wide where the dividend fits: vectors of
// 64-bit quotients have no fast instructions anywhere. Data is divided by one where the divisor is odd, which
// is the answer for zero, and for -1 but for the quotient's sign.
llvm::Value* Emitter::floor_division(const ir::Binary& e) {
  bool modulus = e.op == ir::BinaryOp::kFloorMod;
  tensor::Element element = e.type().element;
  llvm::Value* a = value(e.a);
  llvm::Value* b = value(e.b);
  const OddDivisors odd = odd_divisors(e, b);
  if (odd.zero != nullptr || odd.minus_one != nullptr) {
    llvm::Value* any = odd.zero == nullptr        ? odd.minus_one
                       : odd.minus_one == nullptr ? odd.zero
                                                  : b_.CreateOr(odd.zero, odd.minus_one);
    b = b_.CreateSelect(any, integer(b, 1), b);
  }
  if (tensor::is_unsigned(element)) {
    return modulus ? b_.CreateURem(a, b) : b_.CreateUDiv(a, b);
  }
  analysis::Interval range = range_of(e.a);
  std::optional<int64_t> divisor = tensor::as_int(e.b);
  if (divisor && *divisor > 0 && std::has_single_bit(static_cast<uint64_t>(*divisor))) {
    int shift = std::countr_zero(static_cast<uint64_t>(*divisor));
    return modulus ? b_.CreateAnd(a, integer(a, static_cast<uint64_t>(*divisor) - 1))
                   : b_.CreateAShr(a, integer(a, static_cast<uint64_t>(shift)));
  }
  if (divisor && *divisor > 0 && range.min >= 0) {
    if (element == tensor::Element::kInt64 && range.max <= INT32_MAX && *divisor <= INT32_MAX) {
      llvm::Type* narrow = with_lanes_of(b_.getInt32Ty(), a);
      llvm::Value* x = b_.CreateTrunc(a, narrow);
      llvm::Value* y = b_.CreateTrunc(b, narrow);
      return b_.CreateZExt(modulus ? b_.CreateURem(x, y) : b_.CreateUDiv(x, y), a->getType());
    }
    return modulus ? b_.CreateURem(a, b) : b_.CreateUDiv(a, b);
  }
  // The truncated result, corrected where there is a remainder and the signs differ.
  llvm::Value* zero = integer(a, 0);
  llvm::Value* remainder = b_.CreateSRem(a, b);
  llvm::Value* signs_differ = b_.CreateICmpSLT(b_.CreateXor(remainder, b), zero);
  llvm::Value* wrong = b_.CreateAnd(b_.CreateICmpNE(remainder, zero), signs_differ);
  if (modulus) return b_.CreateAdd(remainder, b_.CreateSelect(wrong, b, zero));
  llvm::Value* quotient = b_.CreateAdd(b_.CreateSDiv(a, b), b_.CreateSExt(wrong, a->getType()));
  return odd.minus_one == nullptr ? quotient : b_.CreateSelect(odd.minus_one, b_.CreateNeg(a), quotient);
}

// NaN if an operand is NaN; which zero of two is not specified. x86's own min and max give the second operand
// if either is NaN, so a constant goes first, and otherwise a NaN in the first one is put back.
llvm::Value* Emitter::min_max(bool is_max, tensor::Element element, llvm::Value* a, llvm::Value* b) {
  if (!tensor::is_float(element)) {
    const bool is_unsigned = tensor::is_unsigned(element);
    llvm::Intrinsic::ID id = is_max ? (is_unsigned ? llvm::Intrinsic::umax : llvm::Intrinsic::smax)
                                    : (is_unsigned ? llvm::Intrinsic::umin : llvm::Intrinsic::smin);
    return b_.CreateBinaryIntrinsic(id, a, b);
  }
  if (target_.arch == target::Arch::kAArch64 || target_.arch == target::Arch::kWasm32) {
    return b_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a, b);
  }
  if (llvm::isa<llvm::Constant>(b)) std::swap(a, b);
  llvm::Value* first = is_max ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b);
  llvm::Value* result = b_.CreateSelect(first, a, b);
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(a); constant && !constant->isNaN()) return result;
  // Frozen, or LLVM would join the two conditions: three instructions in place of the CPU's one.
  return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, b_.CreateFreeze(result));
}

llvm::Value* Emitter::cast(const ir::Cast& e) {
  tensor::Element from = e.a->type().element;
  tensor::Element to = e.type().element;
  llvm::Value* a = value(e.a);
  llvm::Type* type = value_type(to, e.type().lanes);
  if (from == to) return a;
  if (tensor::is_float(to)) {
    // Indices, nearly always: 32 bits convert in vectors and on every CPU.
    if (from == tensor::Element::kInt64 && analysis::Interval{INT32_MIN, INT32_MAX}.contains(range_of(e.a)))
      a = b_.CreateTrunc(a, with_lanes_of(b_.getInt32Ty(), a));
    // What f32 cannot hold is not rounded to it first: to a half, that would be rounding twice.
    const bool half = to == tensor::Element::kFloat16 || to == tensor::Element::kBFloat16;
    const bool wide =
        from == tensor::Element::kFloat64 || (!tensor::is_float(from) && tensor::element_bytes(from) >= 4);
    llvm::Type* real = half && wide ? with_lanes_of(b_.getDoubleTy(), a) : type;
    llvm::Value* v = tensor::is_float(from)      ? b_.CreateFPCast(a, real)
                     : tensor::is_unsigned(from) ? b_.CreateUIToFP(a, real)
                                                 : b_.CreateSIToFP(a, real);
    return rounded(to, half && wide ? rounded_to_odd(v) : v);
  }
  if (tensor::is_float(from)) {
    if (to == tensor::Element::kBool) {
      return b_.CreateFCmpUNE(a, llvm::Constant::getNullValue(a->getType()));
    }
    // Saturating, so that values out of range are at least the same everywhere.
    llvm::Intrinsic::ID id =
        tensor::is_unsigned(to) ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return b_.CreateIntrinsic(id, {type, a->getType()}, {a});
  }
  if (to == tensor::Element::kBool) return b_.CreateICmpNE(a, integer(a, 0));
  return tensor::is_unsigned(from) ? b_.CreateZExtOrTrunc(a, type) : b_.CreateSExtOrTrunc(a, type);
}

// A tree of halves; what is left of an odd count is folded in at each level.
llvm::Value* Emitter::reduce(tensor::Intrinsic function, const ir::Expr& vector) {
  tensor::Element element = vector->type().element;
  auto combine = [&](llvm::Value* a, llvm::Value* b) -> llvm::Value* {
    if (function == tensor::Intrinsic::kReduceMax) return min_max(true, element, a, b);
    if (function == tensor::Intrinsic::kReduceMin) return min_max(false, element, a, b);
    return tensor::is_float(element) ? rounded(element, b_.CreateFAdd(a, b)) : b_.CreateAdd(a, b);
  };
  llvm::Value* v = value(vector);
  int lanes = vector->type().lanes;
  llvm::Value* odd = nullptr;
  while (lanes > 1) {
    if (lanes % 2 != 0) {
      llvm::Value* last = b_.CreateExtractElement(v, static_cast<uint64_t>(lanes - 1));
      odd = odd ? combine(odd, last) : last;
      --lanes;
    }
    std::vector<int> low(static_cast<size_t>(lanes / 2));
    std::iota(low.begin(), low.end(), 0);
    std::vector<int> high(low.size());
    std::iota(high.begin(), high.end(), lanes / 2);
    v = combine(b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
    lanes /= 2;
  }
  if (v->getType()->isVectorTy()) v = b_.CreateExtractElement(v, uint64_t{0});
  return odd ? combine(v, odd) : v;
}

llvm::Value* Emitter::fma(llvm::Value* a, llvm::Value* b, llvm::Value* c, tensor::Element element) {
  if (target_.vector.fma)
    return rounded(element, b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c}));
  llvm::FastMathFlags contract = b_.getFastMathFlags();
  b_.clearFastMathFlags();
  const bool wide = element == tensor::Element::kFloat64;
  llvm::Value* result = wide ? fma_by_parts(a, b, c) : fma_by_doubles(a, b, c);
  b_.setFastMathFlags(contract);
  return rounded(element, result);
}

// floor, ceil and round (half to even). Without an instruction: through the integers where the value has a
// fraction.
llvm::Value* Emitter::rounding(tensor::Intrinsic function, llvm::Value* a) {
  bool native = target_.arch == target::Arch::kAArch64 || target_.arch == target::Arch::kWasm32 ||
                (is_x86() && target_.has("sse4.2"));
  llvm::Intrinsic::ID id = function == tensor::Intrinsic::kFloor  ? llvm::Intrinsic::floor
                           : function == tensor::Intrinsic::kCeil ? llvm::Intrinsic::ceil
                                                                  : llvm::Intrinsic::roundeven;
  if (native) return b_.CreateUnaryIntrinsic(id, a);
  bool is_double = a->getType()->getScalarType()->isDoubleTy();
  llvm::Type* type = a->getType();
  // 2^23 (2^52) and above have no fraction; adding and subtracting it rounds anything below to even.
  llvm::Value* limit = llvm::ConstantFP::get(type, is_double ? 4503599627370496.0 : 8388608.0);
  llvm::FastMathFlags contract = b_.getFastMathFlags();
  b_.clearFastMathFlags();
  llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  llvm::Value* nearest = b_.CreateFSub(b_.CreateFAdd(magnitude, limit), limit);
  nearest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, nearest, a);
  llvm::Value* one = llvm::ConstantFP::get(type, 1.0);
  llvm::Value* result = nearest;
  if (function == tensor::Intrinsic::kFloor) {
    result = b_.CreateSelect(b_.CreateFCmpOGT(nearest, a), b_.CreateFSub(nearest, one), nearest);
  } else if (function == tensor::Intrinsic::kCeil) {
    result = b_.CreateSelect(b_.CreateFCmpOLT(nearest, a), b_.CreateFAdd(nearest, one), nearest);
    result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, a);  // -0 of what is above -1
  }
  b_.setFastMathFlags(contract);
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, limit), result, a);
}

// One factor where 2^n is sure to be a normal number, else two: x * 2^n may be one where 2^n is not.
llvm::Value* Emitter::ldexp(const ir::Call& e) {
  llvm::Value* x = value(e.args[0]);
  if (llvm::Value* scaled = scale_by_power(b_, target_, x, [&] { return value(e.args[1]); })) return scaled;
  const FloatFormat format(x->getType());
  llvm::FastMathFlags contract = b_.getFastMathFlags();
  b_.clearFastMathFlags();
  // Adding 1.5 * 2^fraction puts a small whole number into the low bits of the sum: no conversion, which
  // would be undefined for NaN. The bias comes along, and the shift drops what is above the exponent.
  auto power = [&](llvm::Value* exponent, double more) {
    const double shift_in = std::ldexp(1.5, static_cast<int>(format.fraction_bits)) + format.bias + more;
    llvm::Value* sum = b_.CreateFAdd(exponent, llvm::ConstantFP::get(format.type, shift_in));
    llvm::Value* bits = b_.CreateBitCast(sum, format.bits_type);
    return b_.CreateBitCast(b_.CreateShl(bits, format.fraction_bits), format.type);
  };
  llvm::Value* scaled = nullptr;
  const analysis::FloatInterval range = analysis::float_interval_of(e.args[1], float_ranges_);
  if (std::ceil(range.min) > -static_cast<double>(format.bias) && std::floor(range.max) <= format.bias) {
    const ShiftedExponent n = shifted_exponent(e.args[1]);
    scaled = b_.CreateFMul(x, power(value(n.exponent), n.more));
  } else {
    llvm::Value* n = value(e.args[1]);
    llvm::Value* half =
        rounding(tensor::Intrinsic::kFloor, b_.CreateFMul(n, llvm::ConstantFP::get(format.type, 0.5)));
    scaled = b_.CreateFMul(x, power(half, 0));
    scaled = b_.CreateFMul(scaled, power(b_.CreateFSub(n, half), 0));
  }
  b_.setFastMathFlags(contract);
  return scaled;
}

llvm::Value* Emitter::logb(llvm::Value* x) {
  const FloatFormat format(x->getType());
  llvm::Value* bits = b_.CreateLShr(b_.CreateBitCast(x, format.bits_type), format.fraction_bits);
  bits = b_.CreateAnd(bits, llvm::ConstantInt::get(format.bits_type, 2 * format.bias + 1));
  // The field is below 2^11, so that the unbiased value is exact. 32 bits convert in vectors on every CPU.
  bits = b_.CreateTrunc(bits, with_lanes_of(b_.getInt32Ty(), x));
  return b_.CreateFSub(b_.CreateSIToFP(bits, format.type), llvm::ConstantFP::get(format.type, format.bias));
}

llvm::Value* Emitter::significand(llvm::Value* x) {
  const FloatFormat format(x->getType());
  llvm::Value* bits = b_.CreateBitCast(x, format.bits_type);
  bits = b_.CreateAnd(bits, integer(bits, (uint64_t{1} << format.fraction_bits) - 1));
  bits = b_.CreateOr(bits, integer(bits, uint64_t{format.bias} << format.fraction_bits));
  return b_.CreateBitCast(bits, format.type);
}

}  // namespace tf::backends
