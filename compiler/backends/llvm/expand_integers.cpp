#include "compiler/backends/llvm/expand_integers.h"

#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/MC/MCSubtargetInfo.h"

namespace tf::backends {
namespace {

constexpr uint64_t kHalf = uint64_t{1} << 32;

bool is_wide(const llvm::Type* type) {
  return type->getScalarType()->isIntegerTy(64);
}

bool is_single(const llvm::Type* type) {
  return type->getScalarType()->isFloatTy();
}

// Writes before one instruction what stands for it.
class Expansion {
 public:
  Expansion(llvm::Module& module, const IntegerUnit& unit)
      : module_(module), unit_(unit), b_(module.getContext()) {}

  // Null for what the CPU does itself.
  llvm::Value* expand(llvm::Instruction& i) {
    b_.SetInsertPoint(&i);
    switch (i.getOpcode()) {
      case llvm::Instruction::SIToFP:
        if (!is_wide(i.getOperand(0)->getType())) return nullptr;
        if (!unit_.wide) return to_float(i.getOperand(0), i.getType());
        return unit_.rounds_once || !is_single(i.getType()) ? nullptr
                                                            : rounded_once(i.getOperand(0), i.getType());
      case llvm::Instruction::UIToFP:
        if (!is_wide(i.getOperand(0)->getType())) return nullptr;
        if (!unit_.wide) return unsigned_to_float(i.getOperand(0), i.getType());
        return unit_.rounds_once || !is_single(i.getType())
                   ? nullptr
                   : unsigned_rounded_once(i.getOperand(0), i.getType());
      case llvm::Instruction::Call: {
        const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        if (unit_.wide || !call || !is_wide(i.getType())) return nullptr;
        if (call->getIntrinsicID() == llvm::Intrinsic::fptosi_sat) return saturated(i.getOperand(0));
        if (call->getIntrinsicID() == llvm::Intrinsic::fptoui_sat) return unsigned_saturated(i.getOperand(0));
        return nullptr;
      }
      case llvm::Instruction::SDiv:
      case llvm::Instruction::UDiv:
      case llvm::Instruction::SRem:
      case llvm::Instruction::URem:
        return division(i);
      default:
        return nullptr;
    }
  }

 private:
  // The lowest 11 bits become one that tells whether any is set. Of a number from 2^53 on they are far below
  // what f32 keeps, so that it rounds as if it had seen them all, and f64 holds what is left exactly.
  llvm::Value* with_sticky_end(llvm::Value* x) {
    auto constant = [&](int64_t v) { return llvm::ConstantInt::getSigned(x->getType(), v); };
    llvm::Value* any = b_.CreateAdd(b_.CreateAnd(x, constant(0x7ff)), constant(0x7ff));
    return b_.CreateAnd(b_.CreateOr(x, any), constant(-0x800));
  }

  // Whether a number does not lie within 2^exponent of 0.
  llvm::Value* is_beyond(llvm::Value* x, int exponent) {
    auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(x->getType(), v); };
    return b_.CreateICmpUGE(b_.CreateAdd(x, constant(uint64_t{1} << exponent)),
                            constant(uint64_t{2} << exponent));
  }

  llvm::Value* rounded_once(llvm::Value* x, llvm::Type* type) {
    x = b_.CreateSelect(is_beyond(x, 53), with_sticky_end(x), x);
    return b_.CreateFPTrunc(b_.CreateSIToFP(x, with_lanes_of(b_.getDoubleTy(), x)), type);
  }

  // f64 holds each half, and the product of the upper one, exactly: only the sum rounds. For f32 not even the
  // sum may.
  llvm::Value* to_float(llvm::Value* x, llvm::Type* type) {
    llvm::Type *i32 = with_lanes_of(b_.getInt32Ty(), x), *f64 = with_lanes_of(b_.getDoubleTy(), x);
    llvm::Value* high = b_.CreateTrunc(b_.CreateAShr(x, 32), i32);
    llvm::Value* low = b_.CreateTrunc(x, i32);
    if (is_single(type)) low = b_.CreateSelect(is_beyond(high, 53 - 32), with_sticky_end(low), low);
    llvm::Value* upper = b_.CreateFMul(b_.CreateSIToFP(high, f64), llvm::ConstantFP::get(f64, kHalf));
    llvm::Value* sum = b_.CreateFAdd(upper, b_.CreateUIToFP(low, f64));
    return b_.CreateFPCast(sum, type);
  }

  llvm::Value* unsigned_rounded_once(llvm::Value* x, llvm::Type* type) {
    const auto limit = llvm::ConstantInt::get(x->getType(), uint64_t{1} << 53);
    x = b_.CreateSelect(b_.CreateICmpUGE(x, limit), with_sticky_end(x), x);
    return b_.CreateFPTrunc(b_.CreateUIToFP(x, with_lanes_of(b_.getDoubleTy(), x)), type);
  }

  llvm::Value* unsigned_to_float(llvm::Value* x, llvm::Type* type) {
    llvm::Type *i32 = with_lanes_of(b_.getInt32Ty(), x), *f64 = with_lanes_of(b_.getDoubleTy(), x);
    llvm::Value* high = b_.CreateTrunc(b_.CreateLShr(x, 32), i32);
    llvm::Value* low = b_.CreateTrunc(x, i32);
    const auto limit = llvm::ConstantInt::get(i32, uint64_t{1} << (53 - 32));
    if (is_single(type)) low = b_.CreateSelect(b_.CreateICmpUGE(high, limit), with_sticky_end(low), low);
    llvm::Value* upper = b_.CreateFMul(b_.CreateUIToFP(high, f64), llvm::ConstantFP::get(f64, kHalf));
    return b_.CreateFPCast(b_.CreateFAdd(upper, b_.CreateUIToFP(low, f64)), type);
  }

  // The halves of a number that is not negative, each cut off. What they are of one out of range is not chosen.
  llvm::Value* by_halves(llvm::Value* magnitude) {
    llvm::Type *i32 = with_lanes_of(b_.getInt32Ty(), magnitude),
               *i64 = with_lanes_of(b_.getInt64Ty(), magnitude);
    llvm::Type* f64 = magnitude->getType();
    auto real = [&](double v) { return llvm::ConstantFP::get(f64, v); };
    llvm::Value* high = b_.CreateFPToUI(b_.CreateFMul(magnitude, real(0x1p-32)), i32);
    llvm::Value* rest = b_.CreateFSub(magnitude, b_.CreateFMul(b_.CreateUIToFP(high, f64), real(0x1p32)));
    llvm::Value* low = b_.CreateFPToUI(rest, i32);
    return b_.CreateOr(b_.CreateShl(b_.CreateZExt(high, i64), 32), b_.CreateZExt(low, i64));
  }

  llvm::Value* unsigned_saturated(llvm::Value* x) {
    llvm::Type *i64 = with_lanes_of(b_.getInt64Ty(), x), *f64 = with_lanes_of(b_.getDoubleTy(), x);
    x = b_.CreateFPCast(x, f64);
    llvm::Value* v = by_halves(x);
    v = b_.CreateSelect(b_.CreateFCmpOGE(x, llvm::ConstantFP::get(f64, 0x1p64)),
                        llvm::ConstantInt::get(i64, UINT64_MAX), v);
    return b_.CreateSelect(b_.CreateFCmpOGT(x, llvm::ConstantFP::get(f64, 0)), v,
                           llvm::ConstantInt::get(i64, 0));
  }

  llvm::Value* saturated(llvm::Value* x) {
    llvm::Type *i64 = with_lanes_of(b_.getInt64Ty(), x), *f64 = with_lanes_of(b_.getDoubleTy(), x);
    auto real = [&](double v) { return llvm::ConstantFP::get(f64, v); };
    x = b_.CreateFPCast(x, f64);
    llvm::Value* v = by_halves(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x));
    v = b_.CreateSelect(b_.CreateFCmpOLT(x, real(0)), b_.CreateNeg(v), v);
    auto constant = [&](int64_t end) { return llvm::ConstantInt::getSigned(i64, end); };
    v = b_.CreateSelect(b_.CreateFCmpOGE(x, real(0x1p63)), constant(INT64_MAX), v);
    v = b_.CreateSelect(b_.CreateFCmpOLE(x, real(-0x1p63)), constant(INT64_MIN), v);
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), constant(0), v);
  }

  llvm::Value* division(const llvm::Instruction& i) {
    llvm::Value *a = i.getOperand(0), *b = i.getOperand(1);
    const bool wide = is_wide(i.getType());
    if (wide ? unit_.wide : unit_.divides || llvm::isa<llvm::Constant>(b)) return nullptr;
    const unsigned op = i.getOpcode();
    const bool is_signed = op == llvm::Instruction::SDiv || op == llvm::Instruction::SRem;
    llvm::Value* q = wide ? wide_quotient(is_signed, a, b) : real_quotient(is_signed, a, b);
    const bool remainder = op == llvm::Instruction::SRem || op == llvm::Instruction::URem;
    return remainder ? b_.CreateSub(a, b_.CreateMul(q, b)) : q;
  }

  // Of whole numbers below 2^24 in f32, or 2^32 in f64. If n/d is not whole it lies 1/d or more below the
  // next whole number, and rounding moves it by less: n/d * 2^-24 or 2^-53. So it is cut off to the same.
  // Magnitudes fit into an unsigned i32 even of the lowest i32 by -1, where the CPU would cut the signed
  // quotient to the highest.
  llvm::Value* real_quotient(bool is_signed, llvm::Value* a, llvm::Value* b) {
    const bool narrow = a->getType()->getScalarSizeInBits() < 24;
    llvm::Type* i32 = with_lanes_of(b_.getInt32Ty(), a);
    llvm::Type* real = with_lanes_of(narrow ? b_.getFloatTy() : b_.getDoubleTy(), a);
    auto as_real = [&](llvm::Value* v) {
      return is_signed ? b_.CreateSIToFP(b_.CreateSExt(v, i32), real)
                       : b_.CreateUIToFP(b_.CreateZExt(v, i32), real);
    };
    llvm::Value* q = b_.CreateFDiv(as_real(a), as_real(b));
    if (narrow && is_signed) return b_.CreateTrunc(b_.CreateFPToSI(q, i32), a->getType());
    if (is_signed) q = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, q);
    q = b_.CreateTrunc(b_.CreateFPToUI(q, i32), a->getType());
    return is_signed ? with_sign_of_quotient(a, b, q) : q;
  }

  llvm::Value* wide_quotient(bool is_signed, llvm::Value* a, llvm::Value* b) {
    if (!is_signed) return of_lanes(a, b);
    auto magnitude = [&](llvm::Value* v) {
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, b_.getFalse());
    };
    return with_sign_of_quotient(a, b, of_lanes(magnitude(a), magnitude(b)));
  }

  // The magnitude q of a/b, negative where the signs differ.
  llvm::Value* with_sign_of_quotient(llvm::Value* a, llvm::Value* b, llvm::Value* q) {
    llvm::Value* negative = b_.CreateICmpSLT(b_.CreateXor(a, b), llvm::Constant::getNullValue(a->getType()));
    return b_.CreateSelect(negative, b_.CreateNeg(q), q);
  }

  llvm::Value* of_lanes(llvm::Value* a, llvm::Value* b) {
    llvm::Function* divide = wide_division();
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
    if (!vector) return b_.CreateCall(divide, {a, b});
    llvm::Value* result = llvm::PoisonValue::get(a->getType());
    for (uint64_t lane = 0; lane < vector->getNumElements(); ++lane) {
      llvm::Value* q =
          b_.CreateCall(divide, {b_.CreateExtractElement(a, lane), b_.CreateExtractElement(b, lane)});
      result = b_.CreateInsertElement(result, q, lane);
    }
    return result;
  }

  // uint64_t tf.udiv64(uint64_t n, uint64_t d), d > 0. Nearly all that kernels divide fits into 32 bits; the
  // rest goes bit by bit, beginning where the divisor, shifted, has as many digits as the dividend.
  llvm::Function* wide_division() {
    if (divide_) return divide_;
    llvm::Type *i64 = b_.getInt64Ty(), *i32 = b_.getInt32Ty();
    divide_ = llvm::Function::Create(llvm::FunctionType::get(i64, {i64, i64}, false),
                                     llvm::Function::InternalLinkage, "tf.udiv64", module_);
    divide_->addFnAttr(llvm::Attribute::NoUnwind);
    divide_->addFnAttr(llvm::Attribute::WillReturn);
    divide_->setMemoryEffects(llvm::MemoryEffects::none());
    auto block = [&](const char* name) {
      return llvm::BasicBlock::Create(module_.getContext(), name, divide_);
    };
    llvm::BasicBlock *entry = block("entry"), *narrow = block("narrow"), *wide = block("wide"),
                     *shift = block("shift"), *bit = block("bit"), *done = block("done");
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    llvm::Value *n = divide_->getArg(0), *d = divide_->getArg(1);
    llvm::Value* zero = b_.getInt64(0);

    b_.SetInsertPoint(entry);
    b_.CreateCondBr(b_.CreateICmpULT(b_.CreateOr(n, d), b_.getInt64(kHalf)), narrow, wide);

    b_.SetInsertPoint(narrow);
    llvm::Value *n32 = b_.CreateTrunc(n, i32), *d32 = b_.CreateTrunc(d, i32);
    llvm::Value* q32 = unit_.divides ? b_.CreateUDiv(n32, d32) : real_quotient(false, n32, d32);
    b_.CreateRet(b_.CreateZExt(q32, i64));

    b_.SetInsertPoint(wide);
    b_.CreateCondBr(b_.CreateICmpULT(n, d), done, shift);

    b_.SetInsertPoint(shift);
    auto leading_zeros = [&](llvm::Value* v) {
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, v, b_.getTrue());
    };
    llvm::Value* places = b_.CreateSub(leading_zeros(d), leading_zeros(n));
    llvm::Value* first_divisor = b_.CreateShl(d, places);
    llvm::Value* first_bit = b_.CreateShl(b_.getInt64(1), places);
    b_.CreateBr(bit);

    b_.SetInsertPoint(bit);
    auto variable = [&](llvm::Value* first) {
      llvm::PHINode* phi = b_.CreatePHI(i64, 2);
      phi->addIncoming(first, shift);
      return phi;
    };
    llvm::PHINode *rest = variable(n), *divisor = variable(first_divisor), *one = variable(first_bit),
                  *q = variable(zero);
    llvm::Value* fits = b_.CreateICmpUGE(rest, divisor);
    llvm::Value* next_q = b_.CreateSelect(fits, b_.CreateOr(q, one), q);
    llvm::Value* next_one = b_.CreateLShr(one, 1);
    q->addIncoming(next_q, bit);
    rest->addIncoming(b_.CreateSelect(fits, b_.CreateSub(rest, divisor), rest), bit);
    divisor->addIncoming(b_.CreateLShr(divisor, 1), bit);
    one->addIncoming(next_one, bit);
    b_.CreateCondBr(b_.CreateICmpEQ(next_one, zero), done, bit);

    b_.SetInsertPoint(done);
    llvm::PHINode* result = b_.CreatePHI(i64, 2);
    result->addIncoming(zero, wide);
    result->addIncoming(next_q, bit);
    b_.CreateRet(result);
    return divide_;
  }

  static llvm::Type* with_lanes_of(llvm::Type* scalar, const llvm::Value* like) {
    const auto* vector = llvm::dyn_cast<llvm::VectorType>(like->getType());
    return vector ? llvm::VectorType::get(scalar, vector->getElementCount()) : scalar;
  }

  llvm::Module& module_;
  const IntegerUnit unit_;
  llvm::IRBuilder<> b_;
  llvm::Function* divide_ = nullptr;  // once something needs it
};

}  // namespace

IntegerUnit integer_unit(const llvm::TargetMachine& machine) {
  if (machine.getTargetTriple().isAArch64()) return {.rounds_once = false};
  if (!machine.getTargetTriple().isARM()) return {};
  return {.wide = false, .divides = machine.getMCSubtargetInfo()->checkFeatures("+hwdiv-arm")};
}

void expand_integers(llvm::Module& module, const IntegerUnit& unit) {
  if (unit.wide && unit.divides && unit.rounds_once) return;
  std::vector<llvm::Instruction*> all;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& i : llvm::instructions(function)) all.push_back(&i);
  }
  Expansion expansion(module, unit);
  for (llvm::Instruction* i : all) {
    llvm::Value* value = expansion.expand(*i);
    if (!value) continue;
    i->replaceAllUsesWith(value);
    i->eraseFromParent();
  }
}

}  // namespace tf::backends
