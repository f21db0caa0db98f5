#include "compiler/tensor/expr.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace tf::tensor {
namespace {

bool is_comparison(BinaryOp op) {
  return op == BinaryOp::kEq || op == BinaryOp::kNe || op == BinaryOp::kLt || op == BinaryOp::kLe;
}

Type binary_type(BinaryOp op, const Type& operand) {
  return is_comparison(op) ? Type{Element::kBool, operand.lanes} : operand;
}

Type call_type(Intrinsic function, const std::vector<Expr>& args) {
  TF_CHECK(!args.empty()) << "a call has at least one argument";
  switch (function) {
    case Intrinsic::kReduceAdd:
    case Intrinsic::kReduceMax:
    case Intrinsic::kReduceMin:
      return {args[0]->type().element, 1};
    default:
      return args[0]->type();
  }
}

int lanes_of(std::span<const Expr> exprs) {
  int lanes = 1;
  for (const Expr& expr : exprs)
    if (expr) lanes = std::max(lanes, expr->type().lanes);
  return lanes;
}

Type load_type(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& predicate) {
  int lanes = lanes_of(indices);
  if (predicate) lanes = std::max(lanes, predicate->type().lanes);
  return {buffer->element, lanes};
}

}  // namespace

Binary::Binary(BinaryOp o, Expr x, Expr y)
    : ExprNode(kKind, binary_type(o, x->type())), op(o), a(std::move(x)), b(std::move(y)) {
  TF_CHECK(a->type() == b->type()) << "operands of one operation have one type, not "
                                   << element_name(a->type().element) << "x" << a->type().lanes << " and "
                                   << element_name(b->type().element) << "x" << b->type().lanes;
}

Call::Call(Intrinsic f, std::vector<Expr> x)
    : ExprNode(kKind, call_type(f, x)), function(f), args(std::move(x)) {}

bool takes_element(Intrinsic function, Element element) {
  if (function >= Intrinsic::kReduceAdd) return true;
  if (is_float(element)) return function < Intrinsic::kBitAnd;
  if (function >= Intrinsic::kBitAnd) return element != Element::kBool;
  return function == Intrinsic::kPow && element == Element::kInt64;
}

int64_t whole_value(Intrinsic function, int64_t x, int64_t y) {
  switch (function) {
    case Intrinsic::kBitAnd:
      return x & y;
    case Intrinsic::kBitOr:
      return x | y;
    case Intrinsic::kBitXor:
      return x ^ y;
    default:
      return whole_power(x, y);
  }
}

int arity(Intrinsic function) {
  switch (function) {
    case Intrinsic::kFma:
    case Intrinsic::kDot:
      return 3;
    case Intrinsic::kPow:
    case Intrinsic::kFmod:
    case Intrinsic::kCopysign:
    case Intrinsic::kLdexp:
    case Intrinsic::kBitAnd:
    case Intrinsic::kBitOr:
    case Intrinsic::kBitXor:
      return 2;
    default:
      return 1;
  }
}

int64_t whole_power(int64_t x, int64_t y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
  uint64_t base = static_cast<uint64_t>(x), result = 1;
  for (; y > 0; y /= 2, base *= base)
    if (y % 2 != 0) result *= base;
  return static_cast<int64_t>(result);
}

bool are_dot_operands(std::span<const Expr> args) {
  if (args.size() != 3) return false;
  const Type &c = args[0]->type(), &a = args[1]->type(), &b = args[2]->type();
  auto is_byte = [](Element e) { return e == Element::kInt8 || e == Element::kUInt8; };
  auto is_half = [](Element e) { return e == Element::kBFloat16 || e == Element::kFloat16; };
  const bool integers = c.element == Element::kInt32 && is_byte(a.element) && is_byte(b.element);
  const bool floats = c.element == Element::kFloat32 && is_half(a.element) && a.element == b.element;
  if ((!integers && !floats) || c.lanes < 2 || b.lanes % c.lanes != 0) return false;
  const int group = b.lanes / c.lanes;
  return (group == 2 || group == 4) && (a.lanes == b.lanes || a.lanes == group);
}

Load::Load(Buffer b, std::vector<Expr> i, Expr p)
    : ExprNode(kKind, load_type(b, i, p)),
      buffer(std::move(b)),
      indices(std::move(i)),
      predicate(std::move(p)) {}

std::vector<Expr> operands(const Expr& expr) {
  switch (expr->kind()) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kVarNode:
      return {};
    case ExprKind::kUnary:
      return {as<Unary>(expr)->a};
    case ExprKind::kBinary:
      return {as<Binary>(expr)->a, as<Binary>(expr)->b};
    case ExprKind::kSelect: {
      const auto* node = as<Select>(expr);
      return {node->condition, node->if_true, node->if_false};
    }
    case ExprKind::kCast:
      return {as<Cast>(expr)->a};
    case ExprKind::kCall:
      return as<Call>(expr)->args;
    case ExprKind::kLoad: {
      const auto* node = as<Load>(expr);
      std::vector<Expr> all = node->indices;
      if (node->predicate) all.push_back(node->predicate);
      return all;
    }
    case ExprKind::kRamp:
      return {as<Ramp>(expr)->base, as<Ramp>(expr)->stride};
    case ExprKind::kBroadcast:
      return {as<Broadcast>(expr)->value};
  }
  __builtin_unreachable();
}

Expr with_operands(const Expr& expr, std::span<const Expr> operands) {
  const std::vector<Expr> old = tensor::operands(expr);
  TF_CHECK(old.size() == operands.size()) << old.size() << " operands, not " << operands.size();
  if (std::equal(old.begin(), old.end(), operands.begin(),
                 [](const Expr& a, const Expr& b) { return a.same_as(b); }))
    return expr;
  const int lanes = lanes_of(operands);
  auto wide = [&](size_t i) {
    return operands[i]->type().lanes == lanes ? operands[i] : make<Broadcast>(operands[i], lanes);
  };
  switch (expr->kind()) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kVarNode:
      return expr;
    case ExprKind::kUnary:
      return make<Unary>(as<Unary>(expr)->op, operands[0]);
    case ExprKind::kBinary:
      return make<Binary>(as<Binary>(expr)->op, wide(0), wide(1));
    case ExprKind::kSelect:
      return make<Select>(wide(0), wide(1), wide(2));
    case ExprKind::kCast:
      return make<Cast>(expr->type(), operands[0]);
    case ExprKind::kCall: {
      if (as<Call>(expr)->function == Intrinsic::kDot)
        return make<Call>(Intrinsic::kDot, std::vector<Expr>(operands.begin(), operands.end()));
      std::vector<Expr> args;
      for (size_t i = 0; i < operands.size(); ++i) args.push_back(wide(i));
      return make<Call>(as<Call>(expr)->function, std::move(args));
    }
    case ExprKind::kLoad: {
      const auto* node = as<Load>(expr);
      const auto middle = operands.begin() + static_cast<std::ptrdiff_t>(node->indices.size());
      return make<Load>(node->buffer, std::vector<Expr>(operands.begin(), middle),
                        node->predicate ? operands.back() : Expr());
    }
    case ExprKind::kRamp:
      return make<Ramp>(operands[0], operands[1], expr->type().lanes);
    case ExprKind::kBroadcast:
      return make<Broadcast>(operands[0], expr->type().lanes);
  }
  __builtin_unreachable();
}

namespace {

// What of a node is not in its operands.
bool same_head(const Expr& a, const Expr& b) {
  switch (a->kind()) {
    case ExprKind::kIntImm:
      return as<IntImm>(a)->value == as<IntImm>(b)->value;
    case ExprKind::kFloatImm: {
      const double x = as<FloatImm>(a)->value, y = as<FloatImm>(b)->value;
      return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y) || (x != x && y != y);
    }
    case ExprKind::kVarNode:
      return false;  // the same node was recognised before
    case ExprKind::kUnary:
      return as<Unary>(a)->op == as<Unary>(b)->op;
    case ExprKind::kBinary:
      return as<Binary>(a)->op == as<Binary>(b)->op;
    case ExprKind::kCall:
      return as<Call>(a)->function == as<Call>(b)->function;
    case ExprKind::kLoad:
      return as<Load>(a)->buffer.same_as(as<Load>(b)->buffer) &&
             as<Load>(a)->indices.size() == as<Load>(b)->indices.size();
    case ExprKind::kSelect:
    case ExprKind::kCast:
    case ExprKind::kRamp:
    case ExprKind::kBroadcast:
      return true;
  }
  __builtin_unreachable();
}

}  // namespace

bool structurally_equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (!a || !b || a->kind() != b->kind() || a->type() != b->type() || !same_head(a, b)) return false;
  const std::vector<Expr> x = operands(a), y = operands(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), structurally_equal);
}

}  // namespace tf::tensor
