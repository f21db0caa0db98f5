#include <algorithm>
#include <vector>

#include "compiler/passes/math/functions.h"
#include "compiler/passes/naming_rewriter.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Element;
using ir::Expr;
using ir::Intrinsic;

// The functions of one argument that no back end has.
struct Formula {
  Intrinsic function;
  Expr (*of)(const Expr& x, const Bind& bind);
};
constexpr Formula kFormulas[] = {
    {Intrinsic::kExp, exp},         {Intrinsic::kExpm1, expm1}, {Intrinsic::kLog, log},
    {Intrinsic::kLog1p, log1p},     {Intrinsic::kTanh, tanh},   {Intrinsic::kErf, erf},
    {Intrinsic::kSigmoid, sigmoid}, {Intrinsic::kSin, sin},     {Intrinsic::kCos, cos},
    {Intrinsic::kAtan, atan},
};

const Formula* find_formula(Intrinsic function) {
  const auto* found = std::ranges::find(kFormulas, function, &Formula::function);
  return found == std::end(kFormulas) ? nullptr : found;
}

// The values that replacements use more than once are named.
class MathExpander final : public NamingRewriter {
 protected:
  Expr expression(const Expr& expr) override {
    return tensor::rewrite(expr, [&](const Expr& e) -> Expr {
      const auto* call = as<ir::Call>(e);
      if (!call) return e;
      const Formula* formula = find_formula(call->function);
      const bool of_two = call->function == Intrinsic::kPow || call->function == Intrinsic::kFmod;
      return formula || of_two ? replacement(*call, formula) : e;
    });
  }

 private:
  Expr bind(const Expr& value) {
    if (as<ir::VarNode>(value) || as<ir::FloatImm>(value) || tensor::as_int(value)) return value;
    if (const auto* wide = as<ir::Broadcast>(value); wide && as<ir::FloatImm>(wide->value)) return value;
    return named(value);
  }

  // Halves go through f32. Without a formula it is a power or a remainder.
  Expr replacement(const ir::Call& call, const Formula* formula) {
    const Element element = call.type().element;
    const Bind binder = [this](const Expr& value) { return bind(value); };
    if (!tensor::is_float(element)) return integer_power(bind(call.args[0]), bind(call.args[1]), binder);
    const Element inner = element == Element::kFloat64 ? element : Element::kFloat32;
    std::vector<Expr> args;
    for (const Expr& arg : call.args) args.push_back(bind(tensor::cast({inner, 1}, arg)));
    const auto of_two = call.function == Intrinsic::kPow ? power : remainder;
    const Expr result = formula ? formula->of(args[0], binder) : of_two(args[0], args[1], binder);
    return tensor::cast({element, 1}, bind(result));
  }
};

}  // namespace

ir::Function expand_math(const ir::Function& function) {
  ir::Function out = function;
  out.body = MathExpander()(function.body);
  return out;
}

}  // namespace tf::passes
