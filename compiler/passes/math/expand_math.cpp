#include "compiler/passes/math/expand_math.h"

#include <vector>

#include "compiler/passes/math/circular.h"
#include "compiler/passes/math/integer_power.h"
#include "compiler/passes/math/polynomials.h"
#include "compiler/passes/math/power.h"
#include "compiler/passes/naming_rewriter.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Element;
using ir::Expr;
using ir::Intrinsic;

bool is_expanded(Intrinsic function) {
  switch (function) {
    case Intrinsic::kExp:
    case Intrinsic::kExpm1:
    case Intrinsic::kLog:
    case Intrinsic::kLog1p:
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
    case Intrinsic::kCopysign:
    case Intrinsic::kLdexp:
    case Intrinsic::kLogb:
    case Intrinsic::kSignificand:
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
      return call && is_expanded(call->function) ? replacement(*call) : e;
    });
  }

 private:
  Expr bind(const Expr& value) {
    if (as<ir::VarNode>(value) || as<ir::FloatImm>(value) || tensor::as_int(value)) return value;
    if (const auto* wide = as<ir::Broadcast>(value); wide && as<ir::FloatImm>(wide->value)) return value;
    return named(value);
  }

  // Halves go through f32.
  Expr replacement(const ir::Call& call) {
    const Element element = call.type().element;
    const Bind binder = [this](const Expr& value) { return bind(value); };
    if (!tensor::is_float(element))  // a power
      return integer_power(bind(call.args[0]), bind(call.args[1]), binder);
    const Element inner = element == Element::kFloat64 ? element : Element::kFloat32;
    std::vector<Expr> args;
    for (const Expr& arg : call.args) args.push_back(bind(tensor::cast({inner, 1}, arg)));
    const Expr result = inner == Element::kFloat64 ? of_f64(call.function, args, binder)
                                                   : of_f32(call.function, args, binder);
    return tensor::cast({element, 1}, bind(result));
  }

  static Expr of_f32(Intrinsic function, const std::vector<Expr>& args, const Bind& binder) {
    switch (function) {
      case Intrinsic::kExp:
        return exp_f32(args[0], binder);
      case Intrinsic::kExpm1:
        return expm1_f32(args[0], binder);
      case Intrinsic::kLog:
        return log_f32(args[0], binder);
      case Intrinsic::kLog1p:
        return log1p_f32(args[0], binder);
      case Intrinsic::kTanh:
        return tanh_f32(args[0], binder);
      case Intrinsic::kErf:
        return erf_f32(args[0], binder);
      case Intrinsic::kSigmoid:
        return sigmoid_f32(args[0], binder);
      default:
        return of_either(function, args, binder);
    }
  }

  static Expr of_f64(Intrinsic function, const std::vector<Expr>& args, const Bind& binder) {
    switch (function) {
      case Intrinsic::kExp:
        return exp_f64(args[0], binder);
      case Intrinsic::kExpm1:
        return expm1_f64(args[0], binder);
      case Intrinsic::kLog:
        return log_f64(args[0], binder);
      case Intrinsic::kLog1p:
        return log1p_f64(args[0], binder);
      case Intrinsic::kTanh:
        return tanh_f64(args[0], binder);
      case Intrinsic::kErf:
        return erf_f64(args[0], binder);
      case Intrinsic::kSigmoid:
        return sigmoid_f64(args[0], binder);
      default:
        return of_either(function, args, binder);
    }
  }

  static Expr of_either(Intrinsic function, const std::vector<Expr>& args, const Bind& binder) {
    switch (function) {
      case Intrinsic::kSin:
        return circular(Circular::kSin, args[0], binder);
      case Intrinsic::kCos:
        return circular(Circular::kCos, args[0], binder);
      default:
        return power(args[0], args[1], binder);
    }
  }
};

}  // namespace

ir::Function expand_math(const ir::Function& function) {
  ir::Function out = function;
  out.body = MathExpander()(function.body);
  return out;
}

}  // namespace tf::passes
