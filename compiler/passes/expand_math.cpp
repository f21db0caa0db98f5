#include "compiler/passes/expand_math.h"

#include <vector>

#include "compiler/passes/integer_power.h"
#include "compiler/passes/naming_rewriter.h"
#include "compiler/passes/polynomials.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Element;
using ir::Expr;
using ir::Intrinsic;

bool is_expanded(Intrinsic function) {
  switch (function) {
    case Intrinsic::kExp:
    case Intrinsic::kLog:
    case Intrinsic::kTanh:
    case Intrinsic::kErf:
    case Intrinsic::kSigmoid:
    case Intrinsic::kPow:
    case Intrinsic::kSin:
    case Intrinsic::kCos:
      return true;
    case Intrinsic::kSqrt:
    case Intrinsic::kRsqrt:
    case Intrinsic::kFloor:
    case Intrinsic::kCeil:
    case Intrinsic::kRound:
    case Intrinsic::kFma:
    case Intrinsic::kLdexp:
    case Intrinsic::kLogb:
    case Intrinsic::kReduceAdd:
    case Intrinsic::kReduceMax:
    case Intrinsic::kReduceMin:
    case Intrinsic::kDot:
      return false;
  }
  __builtin_unreachable();
}

// The values that replacements use more than once are named.
class MathExpander final : public NamingRewriter {
 protected:
  Expr expression(const Expr& expr) override {
    return tensor::rewrite(expr, [&](const Expr& e) -> Expr {
      const auto* call = as<ir::Call>(e);
      return call && is_expanded(call->function) ? replacement(*call, e) : e;
    });
  }

 private:
  Expr bind(const Expr& value) {
    if (as<ir::VarNode>(value) || as<ir::FloatImm>(value) || tensor::as_int(value)) return value;
    if (const auto* wide = as<ir::Broadcast>(value); wide && as<ir::FloatImm>(wide->value)) return value;
    return named(value);
  }

  Expr replacement(const ir::Call& call, const Expr& expr) {
    const Element element = call.type().element;
    if (!tensor::is_float(element)) {  // a power
      const Bind bound = [this](const Expr& value) { return bind(value); };
      return integer_power(bind(call.args[0]), bind(call.args[1]), bound);
    }
    if (element == Element::kFloat64) return expr;
    const Bind binder = [this](const Expr& value) { return bind(value); };
    std::vector<Expr> args;
    for (const Expr& arg : call.args) args.push_back(bind(tensor::cast({Element::kFloat32, 1}, arg)));
    return tensor::cast({element, 1}, bind(of_f32(call.function, args, binder)));
  }

  Expr of_f32(Intrinsic function, const std::vector<Expr>& args, const Bind& binder) {
    switch (function) {
      case Intrinsic::kExp:
        return exp_f32(args[0], binder);
      case Intrinsic::kLog:
        return log_f32(args[0], binder);
      case Intrinsic::kTanh:
        return tanh_f32(args[0], binder);
      case Intrinsic::kErf:
        return erf_f32(args[0], binder);
      case Intrinsic::kSigmoid:
        return sigmoid_f32(args[0], binder);
      case Intrinsic::kSin:
        return sin_f32(args[0], binder);
      case Intrinsic::kCos:
        return cos_f32(args[0], binder);
      default:
        return power(args[0], args[1], binder);
    }
  }

  Expr power(const Expr& x, const Expr& y, const Bind& binder) {
    const Expr scalar = as<ir::Broadcast>(y) ? as<ir::Broadcast>(y)->value : y;
    const auto* exponent = as<ir::FloatImm>(scalar);
    auto root = [](const Expr& e) { return tensor::call(Intrinsic::kSqrt, {e}); };
    if (exponent && exponent->value == 1) return x;
    if (exponent && exponent->value == 2) return x * x;
    if (exponent && exponent->value == 3) return x * x * x;
    if (exponent && exponent->value == -1) return tensor::imm(x->type(), 1) / x;
    if (exponent && exponent->value == 0.5) return root(x);
    if (exponent && exponent->value == -0.5) return tensor::imm(x->type(), 1) / root(x);
    if (exponent && exponent->value == 0.75) {
      const Expr half = binder(root(x));
      return half * root(half);
    }
    return pow_f32(x, y, binder);
  }
};

}  // namespace

ir::Function expand_math(const ir::Function& function) {
  ir::Function out = function;
  out.body = MathExpander()(function.body);
  return out;
}

}  // namespace tf::passes
