#include "tuner/model/formulas/value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "tuner/model/formulas/log2.h"

namespace tf::model {
namespace {

Value operate(Op op, const Value& a, const Value& b = 0, const Value& c = 0) {
  if (a.is_constant() && b.is_constant() && c.is_constant())
    return apply(op, a.constant(), b.constant(), c.constant());
  Formulas* graph = a.graph() ? a.graph() : b.graph() ? b.graph() : c.graph();
  return graph->make(op, a, b, c);
}

bool is(const Value& value, double constant) {
  return value.is_constant() && value.constant() == constant;
}

bool same(const Value& a, const Value& b) {
  return a.is_constant() ? is(b, a.constant()) : !b.is_constant() && a.node() == b.node();
}

}  // namespace

double apply(Op op, double a, double b, double c) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
      return a / b;
    case Op::kFloor:
      return std::floor(a);
    case Op::kCeil:
      return std::ceil(a);
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kLess:
      return a < b ? 1 : 0;
    case Op::kEqual:
      return a == b ? 1 : 0;
    case Op::kSelect:
      return a != 0 ? b : c;
    case Op::kLog2:
      return fast_log2(a);
    case Op::kConstant:
    case Op::kPart:
    case Op::kParameter:
      break;
  }
  TF_CHECK(false) << "not an operation";
  __builtin_unreachable();
}

double Value::constant() const {
  TF_CHECK(is_constant()) << "a value that depends on choices was used as a number";
  return constant_;
}
double Value::least() const {
  return is_constant() ? constant_ : graph_->nodes()[static_cast<size_t>(node_)].least;
}
double Value::greatest() const {
  return is_constant() ? constant_ : graph_->nodes()[static_cast<size_t>(node_)].greatest;
}

Value operator+(const Value& a, const Value& b) {
  return is(a, 0) ? b : is(b, 0) ? a : operate(Op::kAdd, a, b);
}
Value operator-(const Value& a, const Value& b) {
  return is(b, 0) ? a : same(a, b) ? Value(0) : operate(Op::kSub, a, b);
}
Value operator*(const Value& a, const Value& b) {
  if (is(a, 0) || is(b, 0)) return 0;
  return is(a, 1) ? b : is(b, 1) ? a : operate(Op::kMul, a, b);
}
Value operator/(const Value& a, const Value& b) {
  return is(b, 1) ? a : operate(Op::kDiv, a, b);
}
Value floor(const Value& a) {
  return operate(Op::kFloor, a);
}
Value ceil(const Value& a) {
  return operate(Op::kCeil, a);
}
Value min(const Value& a, const Value& b) {
  return a.greatest() <= b.least() || same(a, b) ? a
         : b.greatest() <= a.least()             ? b
                                                 : operate(Op::kMin, a, b);
}
Value max(const Value& a, const Value& b) {
  return a.greatest() <= b.least()                 ? b
         : b.greatest() <= a.least() || same(a, b) ? a
                                                   : operate(Op::kMax, a, b);
}
Value less(const Value& a, const Value& b) {
  return a.greatest() < b.least()    ? Value(1)
         : a.least() >= b.greatest() ? Value(0)
                                     : operate(Op::kLess, a, b);
}
Value less_equal(const Value& a, const Value& b) {
  return negation(less(b, a));
}
Value equal(const Value& a, const Value& b) {
  if (a.greatest() < b.least() || b.greatest() < a.least()) return 0;
  return same(a, b) ? Value(1) : operate(Op::kEqual, a, b);
}
Value both(const Value& a, const Value& b) {
  return a * b;
}
Value either(const Value& a, const Value& b) {
  return max(a, b);
}
Value negation(const Value& a) {
  return 1 - a;
}
Value select(const Value& condition, const Value& if_true, const Value& if_false) {
  if (condition.is_constant()) return condition.constant() != 0 ? if_true : if_false;
  return same(if_true, if_false) ? if_true : operate(Op::kSelect, condition, if_true, if_false);
}
Value log2(const Value& a) {
  return operate(Op::kLog2, a);
}
Value& operator+=(Value& a, const Value& b) {
  return a = a + b;
}
Value& operator*=(Value& a, const Value& b) {
  return a = a * b;
}

Value Formulas::part(int parameter, int part, std::span<const int64_t> values) {
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  if (*least == *greatest) return static_cast<double>(*least);
  Node node{.op = Op::kPart, .operands = {parameter, part, -1}};
  node.least = static_cast<double>(*least);
  node.greatest = static_cast<double>(*greatest);
  return {this, intern(node)};
}

Value Formulas::parameter(int number) {
  Node node{.op = Op::kParameter, .operands = {number, -1, -1}};
  node.least = std::numeric_limits<double>::min();
  node.greatest = std::numeric_limits<double>::infinity();
  return {this, intern(node)};
}

int Formulas::intern(const Node& node) {
  const auto [known, is_new] = known_.try_emplace(node, static_cast<int>(nodes_.size()));
  if (is_new) nodes_.push_back(node);
  return known->second;
}

int Formulas::node_of(const Value& value) {
  if (!value.is_constant()) return value.node();
  const double c = value.constant();
  return intern({.op = Op::kConstant, .value = c, .least = c, .greatest = c});
}

Value Formulas::make(Op op, const Value& a, const Value& b, const Value& c) {
  Node node{.op = op};
  const int count = op == Op::kSelect ? 3 : op == Op::kFloor || op == Op::kCeil || op == Op::kLog2 ? 1 : 2;
  for (int i = 0; i < count; ++i)
    node.operands[static_cast<size_t>(i)] = node_of(i == 0 ? a : i == 1 ? b : c);
  const bool commutes =
      op == Op::kAdd || op == Op::kMul || op == Op::kMin || op == Op::kMax || op == Op::kEqual;
  if (commutes && node.operands[1] < node.operands[0]) std::swap(node.operands[0], node.operands[1]);
  return {this, intern(with_range(node))};
}

Formulas::Node Formulas::with_range(Node node) const {
  auto operand = [&](size_t i) -> const Node& { return nodes_[static_cast<size_t>(node.operands[i])]; };
  auto set = [&](double least, double greatest) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    node.least = std::isnan(least) ? -kInfinity : least;
    node.greatest = std::isnan(greatest) ? kInfinity : greatest;
  };
  const Node& a = operand(0);
  switch (node.op) {
    case Op::kAdd:
      set(a.least + operand(1).least, a.greatest + operand(1).greatest);
      break;
    case Op::kSub:
      set(a.least - operand(1).greatest, a.greatest - operand(1).least);
      break;
    case Op::kMul:
    case Op::kDiv: {
      const Node& b = operand(1);
      if (node.op == Op::kDiv && b.least <= 0) {
        set(std::nan(""), std::nan(""));
        break;
      }
      const double ends[] = {apply(node.op, a.least, b.least), apply(node.op, a.least, b.greatest),
                             apply(node.op, a.greatest, b.least), apply(node.op, a.greatest, b.greatest)};
      const bool known = std::none_of(ends, ends + 4, [](double e) { return std::isnan(e); });
      set(known ? *std::min_element(ends, ends + 4) : std::nan(""),
          known ? *std::max_element(ends, ends + 4) : std::nan(""));
      break;
    }
    case Op::kFloor:
    case Op::kCeil:
    case Op::kLog2:
      set(node.op == Op::kLog2 && a.least <= 0 ? std::nan("") : apply(node.op, a.least),
          apply(node.op, a.greatest));
      break;
    case Op::kMin:
    case Op::kMax:
      set(apply(node.op, a.least, operand(1).least), apply(node.op, a.greatest, operand(1).greatest));
      break;
    case Op::kLess:
    case Op::kEqual:
      set(0, 1);
      break;
    case Op::kSelect:
      set(std::min(operand(1).least, operand(2).least), std::max(operand(1).greatest, operand(2).greatest));
      break;
    case Op::kConstant:
    case Op::kPart:
    case Op::kParameter:
      break;
  }
  return node;
}

}  // namespace tf::model
