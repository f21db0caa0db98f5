#include "compiler/tensor/evaluate.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/tensor/arithmetic.h"
#include "compiler/tensor/rebuild.h"
#include "compiler/tensor/saturate.h"

namespace tf::tensor {
namespace {

struct Storage {
  std::string name;
  std::vector<int64_t> extents;
  Values values;
};

// A value of either kind; which one is known from the expression's type.
struct Value {
  double real = 0;
  int64_t integer = 0;
};

// The exponent field without its bias: the format's end values for zero, denormals, infinities and NaN.
double exponent_field(Element element, double x) {
  const double bias = element == Element::kFloat64 ? 1023 : element == Element::kFloat16 ? 15 : 127;
  if (!std::isfinite(x)) return bias + 1;
  return x == 0 ? -bias : std::max(std::logb(x), -bias);
}

// Of denormal f32 it is that of their f64: kSignificand leaves it open.
double significand(double x) {
  return std::isfinite(x) && x != 0 ? std::fabs(x) / std::exp2(std::logb(x)) : 1;
}

// Walks expressions with the current values of a stage's variables.
class Evaluator {
 public:
  std::map<const VarNode*, int64_t> variables;
  std::map<const BufferNode*, Storage> buffers;
  absl::Status status;  // the first read outside a buffer

  Value operator()(const Expr& e) {
    return visit(e, [&](const auto& node) { return eval(node); });
  }

 private:
  static Value real(double v) { return {v, 0}; }
  static Value integer(const Type& type, int64_t v) { return {0, wrap_to_element(type.element, v)}; }
  static bool holds_real(const Expr& e) { return is_float(e->type().element); }

  Value eval(const IntImm& node) { return {0, node.value}; }
  Value eval(const FloatImm& node) { return real(node.value); }
  Value eval(const VarNode& node) { return {0, variables.at(&node)}; }
  Value eval(const Unary& node) {
    const Value a = (*this)(node.a);
    if (node.op == UnaryOp::kNot) return {0, a.integer == 0};
    if (holds_real(node.a)) return real(node.op == UnaryOp::kNeg ? -a.real : std::fabs(a.real));
    const bool turns = node.op == UnaryOp::kNeg || (!is_unsigned(node.type().element) && a.integer < 0);
    return integer(node.type(), turns ? value_of(BinaryOp::kSub, int64_t{0}, a.integer) : a.integer);
  }
  Value eval(const Binary& node) {
    const Value a = (*this)(node.a), b = (*this)(node.b);
    if (!holds_real(node.a))
      return integer(node.type(), value_of(node.op, node.a->type().element, a.integer, b.integer));
    const double value = value_of(node.op, a.real, b.real);
    return node.type().element == Element::kBool ? Value{0, value != 0} : real(value);
  }
  Value eval(const Select& node) {
    return (*this)(node.condition).integer != 0 ? (*this)(node.if_true) : (*this)(node.if_false);
  }
  Value eval(const Cast& node) {
    const Value a = (*this)(node.a);
    const bool from_real = holds_real(node.a);
    if (is_float(node.type().element))
      return real(from_real ? a.real : real_of(node.a->type().element, a.integer));
    if (!from_real) return integer(node.type(), a.integer);
    if (node.type().element == Element::kBool) return {0, a.real != 0};
    return {0, saturated(node.type().element, a.real)};
  }
  Value eval(const Call& node) {
    if (!is_float(node.type().element)) {
      const int64_t x = (*this)(node.args[0]).integer, y = (*this)(node.args[1]).integer;
      return integer(node.type(), whole_value(node.function, x, y));
    }
    std::vector<double> x;
    for (const Expr& arg : node.args) x.push_back((*this)(arg).real);
    switch (node.function) {
      case Intrinsic::kFma:
        return real(std::fma(x[0], x[1], x[2]));
      case Intrinsic::kLogb:
        return real(exponent_field(node.type().element, x[0]));
      case Intrinsic::kSignificand:
        return real(significand(x[0]));
      default:
        return real(value_of(node.function, x[0], x.size() > 1 ? x[1] : 0));
    }
  }
  Value eval(const Load& node) {
    const Storage& storage = buffers.at(node.buffer.get());
    int64_t offset = 0;
    for (size_t d = 0; d < node.indices.size(); ++d) {
      const int64_t index = (*this)(node.indices[d]).integer;
      if (index < 0 || index >= storage.extents[d]) {
        status.Update(absl::InternalError(absl::StrCat("'", storage.name, "' is read at ", index, " of axis ",
                                                       d, ", whose extent is ", storage.extents[d])));
        return {};
      }
      offset = offset * storage.extents[d] + index;
    }
    const auto at = static_cast<size_t>(offset);
    if (is_float(node.type().element)) return real(std::get<std::vector<double>>(storage.values)[at]);
    return {0, std::get<std::vector<int64_t>>(storage.values)[at]};
  }
  Value eval(const Ramp&) { return vectors(); }
  Value eval(const Broadcast&) { return vectors(); }
  static Value vectors() {
    TF_CHECK(false) << "vectors belong to loop IR";
    return {};
  }
};

// Counts the points of a box in row-major order; false once all were seen.
bool advance(std::vector<int64_t>& point, const std::vector<int64_t>& extents) {
  for (size_t d = point.size(); d-- > 0;) {
    if (++point[d] < extents[d]) return true;
    point[d] = 0;
  }
  return false;
}

std::vector<int64_t> constant_extents(const std::vector<Expr>& extents) {
  std::vector<int64_t> values;
  for (const Expr& extent : extents) {
    const auto value = as_int(extent);
    TF_CHECK(value.has_value()) << "the extent is not a constant";
    values.push_back(*value);
  }
  return values;
}

std::vector<int64_t> extents_of(const std::vector<Axis>& axes) {
  std::vector<Expr> extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent);
  return constant_extents(extents);
}

bool is_empty(const std::vector<int64_t>& extents) {
  return std::find(extents.begin(), extents.end(), 0) != extents.end();
}

Value combine_values(Combiner combiner, const Type& type, const Value& a, const Value& b) {
  const BinaryOp op = operation_of(combiner);
  return is_float(type.element)
             ? Value{value_of(op, a.real, b.real), 0}
             : Value{0, wrap_to_element(type.element, value_of(op, type.element, a.integer, b.integer))};
}

class StageRunner {
 public:
  StageRunner(Evaluator& evaluator, const Stage& stage)
      : evaluator_(evaluator), stage_(stage), reduce_extents_(extents_of(stage.reduce_axes)) {}

  Values run() {
    if (is_float(stage_.output->element)) return elements<double>(&Value::real);
    return elements<int64_t>(&Value::integer);
  }

 private:
  template <typename T>
  std::vector<T> elements(T Value::*part) {
    const std::vector<int64_t> extents = extents_of(stage_.axes);
    std::vector<T> values;
    if (is_empty(extents)) return values;
    std::vector<int64_t> point(extents.size(), 0);
    do {
      set(stage_.axes, point);
      values.push_back((stage_.combiner ? reduced() : evaluator_(stage_.body)).*part);
    } while (advance(point, extents) && evaluator_.status.ok());
    return values;
  }
  void set(const std::vector<Axis>& axes, const std::vector<int64_t>& point) {
    for (size_t d = 0; d < axes.size(); ++d) evaluator_.variables[axes[d].var.get()] = point[d];
  }
  Value reduced() {
    Value total = evaluator_(identity(*stage_.combiner, stage_.output->element));
    if (is_empty(reduce_extents_)) return total;
    std::vector<int64_t> point(reduce_extents_.size(), 0);
    do {
      set(stage_.reduce_axes, point);
      total = combine_values(*stage_.combiner, stage_.body->type(), total, evaluator_(stage_.body));
    } while (advance(point, reduce_extents_));
    return total;
  }

  Evaluator& evaluator_;
  const Stage& stage_;
  const std::vector<int64_t> reduce_extents_;
};

bool fits(const Buffer& buffer, const Values& values) {
  return std::holds_alternative<std::vector<double>>(values) == is_float(buffer->element);
}
size_t size_of(const Values& values) {
  return std::visit([](const auto& elements) { return elements.size(); }, values);
}

Values values_of(const Buffer& buffer, const std::vector<double>& doubles) {
  if (is_float(buffer->element)) return doubles;
  std::vector<int64_t> whole;
  for (double v : doubles)
    whole.push_back(buffer->element == Element::kUInt64 ? saturated(buffer->element, v)
                                                        : saturate<int64_t>(v));
  return whole;
}

}  // namespace

int64_t element_count(const Buffer& buffer) {
  int64_t count = 1;
  for (int64_t extent : constant_extents(buffer->extents)) count *= extent;
  return count;
}

absl::StatusOr<std::vector<Values>> evaluate_exactly(const Workload& workload,
                                                     const std::vector<Values>& inputs) {
  TF_RETURN_IF_ERROR(verify(workload));
  if (!workload.dims.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("dimension '", workload.dims[0].var->name, "' is unbound; bind the workload first"));
  if (inputs.size() != workload.inputs.size())
    return absl::InvalidArgumentError(
        absl::StrCat("the workload has ", workload.inputs.size(), " inputs, not ", inputs.size()));
  Evaluator evaluator;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Buffer& buffer = workload.inputs[i].buffer;
    if (!fits(buffer, inputs[i]))
      return absl::InvalidArgumentError(
          absl::StrCat("input '", buffer->name, "' is of ", std::string(element_name(buffer->element))));
    if (static_cast<int64_t>(size_of(inputs[i])) != element_count(buffer))
      return absl::InvalidArgumentError(absl::StrCat("input '", buffer->name, "' has ", element_count(buffer),
                                                     " elements, not ", size_of(inputs[i])));
    evaluator.buffers[buffer.get()] = {buffer->name, constant_extents(buffer->extents), inputs[i]};
  }
  for (const Stage& stage : workload.stages) {
    Values values = StageRunner(evaluator, stage).run();
    if (!evaluator.status.ok())
      return absl::InternalError(
          absl::StrCat("stage '", stage.output->name, "': ", evaluator.status.message()));
    evaluator.buffers[stage.output.get()] = {stage.output->name, extents_of(stage.axes), std::move(values)};
  }
  std::vector<Values> outputs;
  for (const Buffer& output : workload.outputs) outputs.push_back(evaluator.buffers.at(output.get()).values);
  return outputs;
}

absl::StatusOr<std::vector<std::vector<double>>> evaluate(const Workload& workload,
                                                          const std::vector<std::vector<double>>& inputs) {
  std::vector<Values> exact;
  for (size_t i = 0; i < inputs.size(); ++i)
    exact.push_back(i < workload.inputs.size() ? values_of(workload.inputs[i].buffer, inputs[i]) : Values());
  TF_ASSIGN_OR_RETURN(const std::vector<Values> outputs, evaluate_exactly(workload, exact));
  std::vector<std::vector<double>> doubles;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto* whole = std::get_if<std::vector<int64_t>>(&outputs[i]);
    doubles.push_back(whole ? std::vector<double>() : std::get<std::vector<double>>(outputs[i]));
    for (const int64_t v : whole ? *whole : std::vector<int64_t>())
      doubles.back().push_back(real_of(workload.outputs[i]->element, v));
  }
  return doubles;
}

}  // namespace tf::tensor
