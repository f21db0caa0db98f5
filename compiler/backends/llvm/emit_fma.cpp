// Fused multiply-add on CPUs that have no such instruction. Everything here is emitted without contraction.

#include "compiler/backends/llvm/emitter.h"

namespace tf::backends {
namespace {

// A sum and what its rounding lost (2Sum: D. Knuth, "The Art of Computer Programming", volume 2).
struct ExactSum {
  llvm::Value* sum;
  llvm::Value* error;
};
ExactSum exact_sum(llvm::IRBuilderBase& b, llvm::Value* p, llvm::Value* q) {
  llvm::Value* sum = b.CreateFAdd(p, q);
  llvm::Value* p_part = b.CreateFSub(sum, q);
  return {sum, b.CreateFAdd(b.CreateFSub(p, p_part), b.CreateFSub(q, b.CreateFSub(sum, p_part)))};
}

// The f64 sum rounded to odd: rounding that again, after adding to it or to f32, goes as if nothing had been
// rounded before (S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
llvm::Value* odd_sum(llvm::IRBuilderBase& b, llvm::Value* p, llvm::Value* q) {
  const auto [sum, error] = exact_sum(b, p, q);
  llvm::Type* bits_type = sum->getType()->getWithNewType(b.getInt64Ty());
  const auto integer = [&](int64_t v) { return llvm::ConstantInt::getSigned(bits_type, v); };
  llvm::Value* bits = b.CreateBitCast(sum, bits_type);
  llvm::Value* zero = llvm::Constant::getNullValue(sum->getType());
  llvm::Value* even = b.CreateICmpEQ(b.CreateAnd(bits, integer(1)), integer(0));
  llvm::Value* inexact = b.CreateAnd(b.CreateFCmpONE(error, zero), even);
  llvm::Value* away = b.CreateICmpEQ(b.CreateFCmpOGT(error, zero), b.CreateFCmpOGT(sum, zero));
  llvm::Value* step = b.CreateSelect(away, integer(1), integer(-1));
  llvm::Value* odd = b.CreateSelect(inexact, b.CreateAdd(bits, step), bits);
  return b.CreateBitCast(odd, sum->getType());
}

// The nearest number of 26 bits, and the rest, which has a sign and so no more than 26 bits either.
struct Halves {
  llvm::Value* high;
  llvm::Value* low;
};
Halves halves(llvm::IRBuilderBase& b, llvm::Value* x) {
  llvm::Type* bits_type = x->getType()->getWithNewType(b.getInt64Ty());
  const auto integer = [&](int64_t v) { return llvm::ConstantInt::getSigned(bits_type, v); };
  llvm::Value* half_up = b.CreateAdd(b.CreateBitCast(x, bits_type), integer(int64_t{1} << 26));
  llvm::Value* high = b.CreateBitCast(b.CreateAnd(half_up, integer(-(int64_t{1} << 27))), x->getType());
  return {high, b.CreateFSub(x, high)};
}

}  // namespace

// A double product of f32 is exact.
llvm::Value* Emitter::fma_by_doubles(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  llvm::Type* wide = with_lanes_of(b_.getDoubleTy(), a);
  llvm::Value* product = b_.CreateFMul(b_.CreateFPExt(a, wide), b_.CreateFPExt(b, wide));
  return b_.CreateFPTrunc(odd_sum(b_, product, b_.CreateFPExt(c, wide)), a->getType());
}

// The product as a sum of two (T. J. Dekker, 1971), exactly unless what its rounding lost is denormal; then
// that plus c, rounded once.
llvm::Value* Emitter::fma_by_parts(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  llvm::Value* product = b_.CreateFMul(a, b);
  const Halves x = halves(b_, a), y = halves(b_, b);
  llvm::Value* error = b_.CreateFSub(b_.CreateFMul(x.high, y.high), product);
  error = b_.CreateFAdd(error, b_.CreateFMul(x.high, y.low));
  error = b_.CreateFAdd(error, b_.CreateFMul(x.low, y.high));
  error = b_.CreateFAdd(error, b_.CreateFMul(x.low, y.low));
  const ExactSum low = exact_sum(b_, c, error);
  const ExactSum high = exact_sum(b_, product, low.sum);
  llvm::Value* sum = b_.CreateFAdd(high.sum, odd_sum(b_, low.error, high.error));
  // With an infinity or a NaN among them, what was lost is no number.
  llvm::Value* plain = b_.CreateFAdd(product, c);
  return b_.CreateSelect(b_.CreateFCmpORD(sum, sum), sum, plain);
}

}  // namespace tf::backends
