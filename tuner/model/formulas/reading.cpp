#include "tuner/model/formulas/reading.h"

#include <algorithm>

#include "base/check.h"

namespace tf::model {
namespace {

using tensor::Expr;

Value value_of(tensor::BinaryOp op, const Value& a, const Value& b) {
  using tensor::BinaryOp;
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kFloorDiv:
      return floor(a / b);
    case BinaryOp::kFloorMod:
      return a - floor(a / b) * b;
    case BinaryOp::kMin:
      return min(a, b);
    case BinaryOp::kMax:
      return max(a, b);
    case BinaryOp::kEq:
      return equal(a, b);
    case BinaryOp::kNe:
      return negation(equal(a, b));
    case BinaryOp::kLt:
      return less(a, b);
    case BinaryOp::kLe:
      return less_equal(a, b);
    case BinaryOp::kAnd:
      return both(a, b);
    case BinaryOp::kOr:
      return either(a, b);
  }
  __builtin_unreachable();
}

void append_terms(const Expr& sum, std::vector<Expr>& terms) {
  const auto* node = tensor::as<tensor::Binary>(sum);
  if (node != nullptr && node->op == tensor::BinaryOp::kAdd) {
    append_terms(node->a, terms);
    append_terms(node->b, terms);
  } else if (node != nullptr && node->op == tensor::BinaryOp::kSub && tensor::as_int(node->b)) {
    append_terms(node->a, terms);
    terms.push_back(-node->b);
  } else {
    terms.push_back(sum);
  }
}

// x of a quotient (x + b) // b, as quotients that round up are written; null if it is none. As 1 + x // b it
// has tighter bounds: what rounds up is positive.
Expr beside_divisor(const tensor::Binary& node) {
  if (node.op != tensor::BinaryOp::kFloorDiv) return nullptr;
  std::vector<Expr> terms;
  append_terms(node.a, terms);
  const auto divisor = std::find_if(
      terms.begin(), terms.end(), [&](const Expr& term) { return tensor::structurally_equal(term, node.b); });
  if (divisor == terms.end()) return nullptr;
  terms.erase(divisor);
  Expr rest = tensor::imm(0);
  for (const Expr& term : terms) rest = rest + term;
  return rest;
}

}  // namespace

Reading::Reading(const space::Sketch& sketch, const schedule::OpenSizes& open, Formulas& formulas) {
  for (size_t parameter = 0; parameter < open.size(); ++parameter) {
    for (size_t part = 0; part < open[parameter].size(); ++part) {
      std::vector<int64_t> values;
      for (const std::vector<int64_t>& choice : sketch.parameters[parameter].choices)
        values.push_back(choice[part]);
      sizes_.emplace(open[parameter][part].var.get(),
                     formulas.part(static_cast<int>(parameter), static_cast<int>(part), values));
    }
  }
}

Value Reading::operator()(const schedule::SymInt& whole) const {
  return whole.is_open() ? (*this)(whole.expr()) : Value(static_cast<double>(static_cast<int64_t>(whole)));
}

Value Reading::operator()(const Expr& expr) const {
  if (const auto* imm = tensor::as<tensor::IntImm>(expr)) return static_cast<double>(imm->value);
  if (const auto* var = tensor::as<tensor::VarNode>(expr)) return sizes_.at(var);
  if (const auto* node = tensor::as<tensor::Binary>(expr)) {
    if (const Expr rest = beside_divisor(*node)) return 1 + floor((*this)(rest) / (*this)(node->b));
    return value_of(node->op, (*this)(node->a), (*this)(node->b));
  }
  if (const auto* node = tensor::as<tensor::Select>(expr))
    return select((*this)(node->condition), (*this)(node->if_true), (*this)(node->if_false));
  if (const auto* node = tensor::as<tensor::Unary>(expr); node && node->op == tensor::UnaryOp::kNot)
    return negation((*this)(node->a));
  if (const auto* node = tensor::as<tensor::Unary>(expr); node && node->op == tensor::UnaryOp::kNeg)
    return 0 - (*this)(node->a);
  TF_CHECK(false) << "sizes are sums, products, quotients and choices of sizes";
  __builtin_unreachable();
}

bool Reading::is_open_only(const Expr& expr) const {
  bool open = true;
  tensor::for_each(expr, [&](const Expr& e) {
    const auto* var = tensor::as<tensor::VarNode>(e);
    open = open && e->kind() != tensor::ExprKind::kLoad && (var == nullptr || sizes_.contains(var));
    return open;
  });
  return open;
}

}  // namespace tf::model
