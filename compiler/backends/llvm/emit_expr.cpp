// Expressions, but for loads and the parts of arithmetic that take more than one instruction.

#include "absl/strings/str_cat.h"
#include "compiler/analysis/access.h"
#include "compiler/backends/llvm/emitter.h"
#include "compiler/tensor/text.h"

namespace tf::backends {

llvm::Type* Emitter::value_type(tensor::Element element, int lanes) {
  llvm::Type* scalar = nullptr;
  switch (element) {
    case tensor::Element::kBool:
      scalar = b_.getInt1Ty();
      break;
    case tensor::Element::kInt8:
    case tensor::Element::kUInt8:
      scalar = b_.getInt8Ty();
      break;
    case tensor::Element::kInt16:
    case tensor::Element::kUInt16:
      scalar = b_.getInt16Ty();
      break;
    case tensor::Element::kInt32:
    case tensor::Element::kUInt32:
      scalar = b_.getInt32Ty();
      break;
    case tensor::Element::kInt64:
    case tensor::Element::kUInt64:
      scalar = b_.getInt64Ty();
      break;
    case tensor::Element::kFloat16:
    case tensor::Element::kBFloat16:
    case tensor::Element::kFloat32:
      scalar = b_.getFloatTy();
      break;
    case tensor::Element::kFloat64:
      scalar = b_.getDoubleTy();
      break;
  }
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

llvm::Type* Emitter::memory_type(tensor::Element element, int lanes) {
  llvm::Type* scalar = value_type(element);
  if (element == tensor::Element::kBool) scalar = b_.getInt8Ty();
  if (element == tensor::Element::kFloat16 || element == tensor::Element::kBFloat16) scalar = b_.getInt16Ty();
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

llvm::Type* Emitter::with_lanes_of(llvm::Type* scalar, llvm::Value* like) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return vector ? llvm::FixedVectorType::get(scalar, vector->getNumElements()) : scalar;
}

llvm::Constant* Emitter::integer(llvm::Value* like, uint64_t v) {
  return llvm::ConstantInt::get(like->getType(), v);
}

llvm::Value* Emitter::fail(absl::Status status, llvm::Type* type) {
  if (status_.ok()) status_ = std::move(status);
  return llvm::PoisonValue::get(type);
}

llvm::Value* Emitter::to_lanes(llvm::Value* v, int lanes) {
  if (lanes == 1 || v->getType()->isVectorTy()) return v;
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes), v);
}

llvm::Value* Emitter::value(const ir::Expr& expr) {
  for (const auto& level : memo_) {
    if (auto found = level.find(expr.get()); found != level.end()) return found->second.second;
  }
  llvm::Value* v = value_uncached(expr);
  memo_.back().emplace(expr.get(), std::pair(expr, v));
  return v;
}

llvm::Value* Emitter::value_uncached(const ir::Expr& expr) {
  const tensor::Type& type = expr->type();
  switch (expr->kind()) {
    case ir::ExprKind::kIntImm:
      return llvm::ConstantInt::get(value_type(type.element, type.lanes),
                                    static_cast<uint64_t>(tensor::as<ir::IntImm>(expr)->value), true);
    case ir::ExprKind::kFloatImm:
      return llvm::ConstantFP::get(value_type(type.element, type.lanes),
                                   tensor::as<ir::FloatImm>(expr)->value);
    case ir::ExprKind::kVarNode: {
      auto* var = tensor::as<ir::VarNode>(expr);
      auto found = frame_.vars.find(var);
      if (found != frame_.vars.end()) return found->second;
      return fail(absl::InvalidArgumentError(absl::StrCat("variable '", var->name, "' has no value here")),
                  value_type(type.element, type.lanes));
    }
    case ir::ExprKind::kUnary:
      return unary(*tensor::as<ir::Unary>(expr));
    case ir::ExprKind::kBinary:
      return binary(*tensor::as<ir::Binary>(expr));
    case ir::ExprKind::kSelect:
      return select(*tensor::as<ir::Select>(expr));
    case ir::ExprKind::kCast:
      return cast(*tensor::as<ir::Cast>(expr));
    case ir::ExprKind::kCall:
      return call(*tensor::as<ir::Call>(expr));
    case ir::ExprKind::kLoad:
      return load(*tensor::as<ir::Load>(expr));
    case ir::ExprKind::kRamp:
      return ramp(*tensor::as<ir::Ramp>(expr));
    case ir::ExprKind::kBroadcast:
      return to_lanes(value(tensor::as<ir::Broadcast>(expr)->value), type.lanes);
  }
  __builtin_unreachable();
}

llvm::Value* Emitter::ramp(const ir::Ramp& e) {
  int lanes = e.type().lanes;
  llvm::Type* scalar = value_type(e.type().element);
  std::vector<llvm::Constant*> steps;
  for (int lane = 0; lane < lanes; ++lane) {
    steps.push_back(llvm::ConstantInt::get(scalar, static_cast<uint64_t>(lane)));
  }
  llvm::Value* offsets = b_.CreateMul(llvm::ConstantVector::get(steps), to_lanes(value(e.stride), lanes));
  return b_.CreateAdd(to_lanes(value(e.base), lanes), offsets);
}

// Only indices must not overflow: a sum with data is formed even for lanes that are masked off.
llvm::Value* Emitter::sum_of_terms(const AffineIndex& index) {
  llvm::Value* sum = nullptr;
  bool is_index = true;
  for (const AffineIndex::Term& term : index.terms) {
    is_index = is_index && !data_.contains(term.value);
    llvm::Value* v = b_.CreateSExtOrTrunc(value(term.value), b_.getInt64Ty());
    if (term.coefficient != 1) v = b_.CreateMul(v, b_.getInt64(term.coefficient), "", false, is_index);
    sum = sum ? b_.CreateAdd(sum, v, "", false, is_index) : v;
  }
  return sum ? sum : b_.getInt64(0);
}

llvm::Value* Emitter::unary(const ir::Unary& e) {
  llvm::Value* a = value(e.a);
  bool floating = tensor::is_float(e.type().element);
  switch (e.op) {
    case ir::UnaryOp::kNeg:
      return floating ? b_.CreateFNeg(a) : b_.CreateNeg(a);
    case ir::UnaryOp::kNot:
      return b_.CreateNot(a);
    case ir::UnaryOp::kAbs:
      if (floating) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
      if (tensor::is_unsigned(e.type().element)) return a;
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse());
  }
  __builtin_unreachable();
}

llvm::Value* Emitter::binary(const ir::Binary& e) {
  using Op = ir::BinaryOp;
  tensor::Element element = e.a->type().element;
  bool floating = tensor::is_float(element);
  if (e.op == Op::kFloorDiv || e.op == Op::kFloorMod) return floor_division(e);
  if (e.op == Op::kEq || e.op == Op::kNe || e.op == Op::kLt || e.op == Op::kLe) return compare(e);
  llvm::Value* a = value(e.a);
  llvm::Value* b = value(e.b);
  // Only indices must not overflow; tensors of i64 wrap like other integers, and lanes may be masked off.
  bool index = element == tensor::Element::kInt64 && e.type().lanes == 1 && !data_.contains(e.a) &&
               !data_.contains(e.b);
  switch (e.op) {
    case Op::kAdd:
      if (floating) return rounded(element, b_.CreateFAdd(a, b));
      return b_.CreateAdd(a, b, "", false, index);
    case Op::kSub:
      if (floating) return rounded(element, b_.CreateFSub(a, b));
      return b_.CreateSub(a, b, "", false, index);
    case Op::kMul:
      if (floating) return rounded(element, b_.CreateFMul(a, b));
      return b_.CreateMul(a, b, "", false, index);
    case Op::kDiv:
      return rounded(element, b_.CreateFDiv(a, b));
    case Op::kMin:
    case Op::kMax:
      return min_max(e.op == Op::kMax, element, a, b);
    case Op::kAnd:
      return b_.CreateAnd(a, b);
    case Op::kOr:
      return b_.CreateOr(a, b);
    default:
      break;
  }
  __builtin_unreachable();
}

llvm::Value* Emitter::compare(const ir::Binary& e) {
  using P = llvm::CmpInst::Predicate;
  if (llvm::Value* mask = lane_limit_mask(e)) return mask;
  llvm::Value* a = value(e.a);
  llvm::Value* b = value(e.b);
  tensor::Element element = e.a->type().element;
  const bool is_unsigned = tensor::is_unsigned(element);
  P predicate = P::ICMP_EQ;
  switch (e.op) {
    case ir::BinaryOp::kEq:
      predicate = tensor::is_float(element) ? P::FCMP_OEQ : P::ICMP_EQ;
      break;
    case ir::BinaryOp::kNe:
      predicate = tensor::is_float(element) ? P::FCMP_UNE : P::ICMP_NE;
      break;
    case ir::BinaryOp::kLt:
      predicate = tensor::is_float(element) ? P::FCMP_OLT : is_unsigned ? P::ICMP_ULT : P::ICMP_SLT;
      break;
    default:
      predicate = tensor::is_float(element) ? P::FCMP_OLE : is_unsigned ? P::ICMP_ULE : P::ICMP_SLE;
      break;
  }
  return b_.CreateCmp(predicate, a, b);
}

// first + lane < limit, the mask of a last, partial tile, as lane < clamp(limit - first) on 32-bit lanes:
// half the work of comparing 64-bit ones, and one scalar instead of two vectors.
llvm::Value* Emitter::lane_limit_mask(const ir::Binary& e) {
  int lanes = e.a->type().lanes;
  bool less = e.op == ir::BinaryOp::kLt || e.op == ir::BinaryOp::kLe;
  if (!less || lanes == 1 || e.a->type().element != tensor::Element::kInt64) return nullptr;
  if (data_.contains(e.a) || data_.contains(e.b)) return nullptr;  // the difference might wrap
  std::optional<AffineIndex> a = affine_index(e.a, depths_);
  std::optional<AffineIndex> b = affine_index(e.b, depths_);
  if (!a || !b || a->stride != 1 || b->stride != 0) return nullptr;
  constexpr int64_t kFar = int64_t{1} << 61;
  const auto is_far = [](int64_t value) { return value < -kFar || value > kFar; };
  if (is_far(a->constant) || is_far(b->constant)) return nullptr;
  llvm::Value* room = b_.CreateSub(sum_of_terms(*b), sum_of_terms(*a));
  int64_t constant = b->constant - a->constant + (e.op == ir::BinaryOp::kLe ? 1 : 0);
  room = b_.CreateAdd(room, b_.getInt64(constant));
  room = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, room, b_.getInt64(lanes));
  room = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, room, b_.getInt64(0));
  llvm::Value* limit = to_lanes(b_.CreateTrunc(room, b_.getInt32Ty()), lanes);
  std::vector<uint32_t> numbers;
  for (int lane = 0; lane < lanes; ++lane) numbers.push_back(static_cast<uint32_t>(lane));
  return b_.CreateICmpULT(llvm::ConstantDataVector::get(context_, numbers), limit);
}

llvm::Value* Emitter::select(const ir::Select& e) {
  const int lanes = e.type().lanes;
  if (analysis::contains_load(e.if_true) || analysis::contains_load(e.if_false))
    return fail(absl::UnimplementedError(absl::StrCat(
                    "the LLVM back end has no select between loads: ", tensor::to_string(ir::Expr(&e)),
                    "; run the pass that hoists loads before it")),
                value_type(e.type().element, lanes));
  const auto* same = tensor::as<ir::Broadcast>(e.condition);
  llvm::Value* condition = value(same ? same->value : e.condition);
  llvm::Value* if_false = to_lanes(value(e.if_false), lanes);
  return b_.CreateSelect(condition, to_lanes(value(e.if_true), lanes), if_false);
}

llvm::Value* Emitter::call(const ir::Call& e) {
  using F = tensor::Intrinsic;
  tensor::Element element = e.type().element;
  switch (e.function) {
    case F::kSqrt:
      return rounded(element, b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, value(e.args[0])));
    case F::kRsqrt: {
      llvm::Value* root = b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, value(e.args[0]));
      return rounded(element, b_.CreateFDiv(llvm::ConstantFP::get(root->getType(), 1.0), root));
    }
    case F::kFloor:
    case F::kCeil:
    case F::kRound:
      return rounding(e.function, value(e.args[0]));
    case F::kFma:
      return fma(value(e.args[0]), value(e.args[1]), value(e.args[2]), element);
    case F::kLdexp:
      return rounded(element, ldexp(e));
    case F::kCopysign:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, value(e.args[0]), value(e.args[1]));
    case F::kLogb:
      return logb(value(e.args[0]));
    case F::kSignificand:
      return significand(value(e.args[0]));
    case F::kBitAnd:
      return b_.CreateAnd(value(e.args[0]), value(e.args[1]));
    case F::kBitOr:
      return b_.CreateOr(value(e.args[0]), value(e.args[1]));
    case F::kBitXor:
      return b_.CreateXor(value(e.args[0]), value(e.args[1]));
    case F::kReduceAdd:
    case F::kReduceMax:
    case F::kReduceMin:
      return reduce(e.function, e.args[0]);
    case F::kDot:
      return dot(e);
    default:
      return fail(absl::UnimplementedError(absl::StrCat("the LLVM back end has no instruction for ",
                                                        std::string(tensor::intrinsic_name(e.function)),
                                                        "; run the math pass before it")),
                  value_type(element, e.type().lanes));
  }
}

}  // namespace tf::backends
