// with_magnitudes: the rules are those of the comment in workload.h.
#include <cmath>
#include <numbers>

#include "compiler/tensor/workload.h"

namespace tf::tensor {
namespace {

// Keeps derivatives finite where a function has a pole; far below any value that matters.
constexpr double kTiny = 1e-30;

class MagnitudeRules {
 public:
  explicit MagnitudeRules(Element element) : type_{element, 1} {}

  void define(const Buffer& value, const Buffer& magnitude) { magnitudes_[value.get()] = magnitude; }

  // The magnitude of e, in type_.
  Expr of(const Expr& e) const {
    if (!is_float(e->type().element)) return of_integer(e);
    switch (e->kind()) {
      case ExprKind::kFloatImm:
        return std::isinf(as<FloatImm>(e)->value) ? number(0) : abs(value(e));
      case ExprKind::kUnary:
        return of(as<Unary>(e)->a);
      case ExprKind::kBinary:
        return of_binary(*as<Binary>(e));
      case ExprKind::kSelect: {
        const auto* node = as<Select>(e);
        const Expr a = of(node->if_true), b = of(node->if_false);
        return depends_on_data(node->condition) ? max(a, b) : select(node->condition, a, b);
      }
      case ExprKind::kCast:
        return of(as<Cast>(e)->a);
      case ExprKind::kCall:
        return of_call(*as<Call>(e), e);
      case ExprKind::kLoad:
        return of_load(e);
      default:
        return abs(value(e));
    }
  }

 private:
  Expr number(double v) const { return imm(type_, v); }
  Expr value(const Expr& e) const { return cast(type_, e); }

  // Integers are exact: their magnitude is their size. A load of a stage still counts what flowed into it.
  Expr of_integer(const Expr& e) const { return as<Load>(e) ? of_load(e) : abs(value(e)); }

  Expr of_load(const Expr& e) const {
    const auto* read = as<Load>(e);
    auto found = magnitudes_.find(read->buffer.get());
    return found == magnitudes_.end() ? abs(value(e)) : load(found->second, read->indices);
  }

  static bool depends_on_data(const Expr& condition) {
    bool found = false;
    for_each(condition, [&](const Expr& e) {
      found = found || as<Load>(e) != nullptr;
      return !found;
    });
    return found;
  }

  Expr of_binary(const Binary& node) const {
    const Expr a = of(node.a), b = of(node.b);
    switch (node.op) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub:
        return a + b;
      case BinaryOp::kMul:
        return a * b;
      case BinaryOp::kDiv: {
        const Expr divisor = abs(value(node.b));
        // A divisor without rounding error of its own has M(b)/|b| = 1.
        const bool exact = as<FloatImm>(node.b) || is_input(node.b);
        return exact ? a / divisor : a / divisor * (b / divisor);
      }
      default:
        return max(a, b);
    }
  }

  bool is_input(const Expr& e) const {
    const auto* read = as<Load>(e);
    return read && !magnitudes_.contains(read->buffer.get());
  }

  Expr of_call(const Call& node, const Expr& e) const {
    const Expr m = of(node.args[0]), x = value(node.args[0]), size = abs(value(e));
    switch (node.function) {
      case Intrinsic::kExp:
        return size * (m + number(1));
      case Intrinsic::kExpm1:
        return size + (size + number(1)) * m;
      case Intrinsic::kLog1p:
        return size + m / max(abs(x + number(1)), number(kTiny));
      case Intrinsic::kCopysign:
        return m;
      case Intrinsic::kLog:
        return size + m / max(abs(x), number(kTiny));
      case Intrinsic::kSqrt:
        return size + m / max(size + size, number(kTiny));
      case Intrinsic::kRsqrt:
        return size + number(0.5) * size * m / max(abs(x), number(kTiny));
      case Intrinsic::kErf:
        return size + m * number(2 * std::numbers::inv_sqrtpi);
      case Intrinsic::kSigmoid:
        return size + m * number(0.25);
      case Intrinsic::kPow: {
        const Expr base = max(abs(x), number(kTiny)), exponent = value(node.args[1]);
        Expr relative = number(1) + abs(exponent) * (m / base);
        if (!as<FloatImm>(node.args[1]))
          relative = relative + abs(call(Intrinsic::kLog, {base})) * of(node.args[1]);
        return size * relative;
      }
      case Intrinsic::kFmod:
        return size + m + of(node.args[1]) * (abs(x) / max(abs(value(node.args[1])), number(kTiny)));
      case Intrinsic::kFma:
        return m * of(node.args[1]) + of(node.args[2]);
      default:  // tanh, sin, cos, atan: |f'| <= 1; floor, ceil, round move by at most what x moves, rounded
        return size + m;
    }
  }

  Type type_;
  std::map<const BufferNode*, Buffer> magnitudes_;
};

Combiner combiner_of_magnitudes(Combiner combiner) {
  return combiner == Combiner::kMin ? Combiner::kMax : combiner;
}

// A copy of the axes with variables of their own.
std::vector<Axis> fresh(const std::vector<Axis>& axes, Substitution& renamed) {
  std::vector<Axis> copies;
  for (const Axis& axis : axes) {
    copies.push_back({var(axis.var->name), axis.extent});
    renamed[axis.var.get()] = copies.back().var;
  }
  return copies;
}

}  // namespace

Workload with_magnitudes(const Workload& workload) {
  Workload out = workload;
  Element element = Element::kFloat32;
  for (const Stage& stage : workload.stages)
    if (stage.output->element == Element::kFloat64) element = Element::kFloat64;
  MagnitudeRules rules(element);
  std::map<const BufferNode*, Buffer> magnitudes;
  for (const Stage& stage : workload.stages) {
    Stage magnitude;
    Substitution renamed;
    magnitude.axes = fresh(stage.axes, renamed);
    magnitude.reduce_axes = fresh(stage.reduce_axes, renamed);
    if (stage.combiner) magnitude.combiner = combiner_of_magnitudes(*stage.combiner);
    magnitude.body = substitute(rules.of(stage.body), renamed);
    magnitude.output = buffer(stage.output->name + "_magnitude", element, stage.output->extents);
    rules.define(stage.output, magnitude.output);
    magnitudes[stage.output.get()] = magnitude.output;
    out.stages.push_back(std::move(magnitude));
  }
  for (const Buffer& output : workload.outputs) out.outputs.push_back(magnitudes.at(output.get()));
  return out;
}

}  // namespace tf::tensor
