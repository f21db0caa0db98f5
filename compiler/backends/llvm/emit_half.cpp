// f16 and bf16: conversions between their bits in memory and the floats that stand for them.

#include "compiler/backends/llvm/emitter.h"

namespace tf::backends {
namespace {

// Where LLVM converts f16 by instructions instead of calls into a runtime library.
bool has_half_conversions(const target::Target& target) {
  switch (target.arch) {
    case target::Arch::kX86_64:
      return target.has("f16c");
    case target::Arch::kAArch64:
      return true;
    case target::Arch::kArmV7:
      return target.has("vfp4");
    default:
      return false;
  }
}

// Vectors that LLVM rounds to bf16 by one instruction a register (vcvtneps2bf16: to nearest even, whatever
// the mode; a NaN stays one, denormals count as zero). Narrower ones it would round by a call.
bool has_bfloat_rounding(const target::Target& target, int lanes) {
  return target.arch == target::Arch::kX86_64 && target.has("avx512bf16") && target.has("avx512vl") &&
         lanes >= 8 && lanes % 8 == 0;
}

}  // namespace

// The bits of the nearest bf16: round to even by adding just under half of the last kept bit; NaN stays NaN.
static llvm::Value* bfloat_bits(llvm::IRBuilder<>& b, llvm::Value* v, llvm::Type* i32, llvm::Type* i16) {
  auto constant = [&](uint64_t bits) { return llvm::ConstantInt::get(i32, bits); };
  llvm::Value* bits = b.CreateBitCast(v, i32);
  llvm::Value* last = b.CreateAnd(b.CreateLShr(bits, constant(16)), constant(1));
  llvm::Value* nearest = b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(last, constant(0x7fff))), constant(16));
  llvm::Value* quiet = b.CreateOr(b.CreateLShr(bits, constant(16)), constant(0x40));
  return b.CreateTrunc(b.CreateSelect(b.CreateFCmpUNO(v, v), quiet, nearest), i16);
}

llvm::Value* Emitter::float_to_half_bits(llvm::Value* v) {
  llvm::Type* i16 = with_lanes_of(b_.getInt16Ty(), v);
  if (has_half_conversions(target_)) {
    return b_.CreateBitCast(b_.CreateFPTrunc(v, with_lanes_of(b_.getHalfTy(), v)), i16);
  }
  llvm::Type* i32 = with_lanes_of(b_.getInt32Ty(), v);
  llvm::Type* f32 = v->getType();
  auto constant = [&](uint64_t bits) { return llvm::ConstantInt::get(i32, bits); };
  llvm::Value* bits = b_.CreateBitCast(v, i32);
  llvm::Value* sign = b_.CreateAnd(b_.CreateLShr(bits, constant(16)), constant(0x8000));
  llvm::Value* magnitude = b_.CreateAnd(bits, constant(0x7fffffff));
  // Normal: rebias the exponent, round to even at bit 13. Rounding up from the largest value gives infinity.
  llvm::Value* last = b_.CreateAnd(b_.CreateLShr(magnitude, constant(13)), constant(1));
  llvm::Value* biased = b_.CreateAdd(b_.CreateSub(magnitude, constant(0x38000000)), constant(0xfff));
  llvm::Value* normal = b_.CreateLShr(b_.CreateAdd(biased, last), constant(13));
  // Subnormal: adding 0.5 aligns the last bit of the sum with f16's smallest step, and rounds.
  llvm::Value* half = llvm::ConstantFP::get(f32, 0.5);
  llvm::Value* aligned = b_.CreateFAdd(b_.CreateBitCast(magnitude, f32), half);
  llvm::Value* subnormal = b_.CreateSub(b_.CreateBitCast(aligned, i32), constant(0x3f000000));
  llvm::Value* result = b_.CreateSelect(b_.CreateICmpULT(magnitude, constant(0x38800000)), subnormal, normal);
  result = b_.CreateSelect(b_.CreateICmpUGE(magnitude, constant(0x47800000)), constant(0x7c00), result);
  result = b_.CreateSelect(b_.CreateICmpUGT(magnitude, constant(0x7f800000)), constant(0x7e00), result);
  return b_.CreateTrunc(b_.CreateOr(result, sign), i16);
}

// Boldo and Melquiond, "When double rounding is odd", 2005: cut towards zero, and the last bit set where
// anything was cut off.
llvm::Value* Emitter::rounded_to_odd(llvm::Value* v) {
  llvm::Type* i32 = with_lanes_of(b_.getInt32Ty(), v);
  llvm::Value* nearest = b_.CreateFPTrunc(v, with_lanes_of(b_.getFloatTy(), v));
  llvm::Value* back = b_.CreateFPExt(nearest, v->getType());
  auto magnitude = [&](llvm::Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); };
  llvm::Value* away = b_.CreateFCmpOGT(magnitude(back), magnitude(v));
  llvm::Value* inexact = b_.CreateFCmpONE(back, v);
  llvm::Value* bits = b_.CreateSub(b_.CreateBitCast(nearest, i32), b_.CreateZExt(away, i32));
  return b_.CreateBitCast(b_.CreateOr(bits, b_.CreateZExt(inexact, i32)), nearest->getType());
}

llvm::Value* Emitter::half_bits_to_float(llvm::Value* bits) {
  llvm::Type* f32 = with_lanes_of(b_.getFloatTy(), bits);
  if (has_half_conversions(target_)) {
    llvm::Value* wide = b_.CreateFPExt(b_.CreateBitCast(bits, with_lanes_of(b_.getHalfTy(), bits)), f32);
    // Without it, LLVM compares and takes maxima in f16, which it then does lane by lane.
    return b_.CreateArithmeticFence(wide, f32);
  }
  llvm::Type* i32 = with_lanes_of(b_.getInt32Ty(), bits);
  auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(i32, v); };
  llvm::Value* wide = b_.CreateZExt(bits, i32);
  llvm::Value* sign = b_.CreateShl(b_.CreateAnd(wide, constant(0x8000)), constant(16));
  llvm::Value* magnitude = b_.CreateShl(b_.CreateAnd(wide, constant(0x7fff)), constant(13));
  // 2^112 moves the exponent from f16's bias to f32's, and makes subnormals normal.
  llvm::Value* scale = llvm::ConstantFP::get(f32, 0x1p112);
  llvm::Value* finite = b_.CreateBitCast(b_.CreateFMul(b_.CreateBitCast(magnitude, f32), scale), i32);
  llvm::Value* special = b_.CreateOr(magnitude, constant(0x7f800000));
  llvm::Value* is_special = b_.CreateICmpUGE(magnitude, constant(0x0f800000));
  return b_.CreateBitCast(b_.CreateOr(b_.CreateSelect(is_special, special, finite), sign), f32);
}

llvm::Value* Emitter::rounded(tensor::Element element, llvm::Value* v) {
  if (element != tensor::Element::kFloat16 && element != tensor::Element::kBFloat16) return v;
  return from_memory(element, to_memory(element, v));
}

// A vector that came from memory goes back, or into a dot product, with the bits that it came with.
llvm::Value* Emitter::to_memory(tensor::Element element, llvm::Value* v) {
  if (auto found = half_bits_.find(v); found != half_bits_.end() && found->second.first == element)
    return found->second.second;
  switch (element) {
    case tensor::Element::kBool:
      return b_.CreateZExt(v, with_lanes_of(b_.getInt8Ty(), v));
    case tensor::Element::kFloat16:
      return float_to_half_bits(v);
    case tensor::Element::kBFloat16:
      if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
          vector && has_bfloat_rounding(target_, static_cast<int>(vector->getNumElements())))
        return b_.CreateBitCast(b_.CreateFPTrunc(v, with_lanes_of(b_.getBFloatTy(), v)),
                                with_lanes_of(b_.getInt16Ty(), v));
      return bfloat_bits(b_, v, with_lanes_of(b_.getInt32Ty(), v), with_lanes_of(b_.getInt16Ty(), v));
    default:
      return v;
  }
}

llvm::Value* Emitter::from_memory(tensor::Element element, llvm::Value* v) {
  switch (element) {
    case tensor::Element::kBool:
      return b_.CreateICmpNE(v, integer(v, 0));
    case tensor::Element::kFloat16: {
      llvm::Value* real = half_bits_to_float(v);
      half_bits_[real] = {element, v};
      return real;
    }
    case tensor::Element::kBFloat16: {
      llvm::Value* bits = b_.CreateZExt(v, with_lanes_of(b_.getInt32Ty(), v));
      bits = b_.CreateShl(bits, integer(bits, 16));
      llvm::Value* real = b_.CreateBitCast(bits, with_lanes_of(b_.getFloatTy(), v));
      half_bits_[real] = {element, v};
      return real;
    }
    default:
      return v;
  }
}

}  // namespace tf::backends
