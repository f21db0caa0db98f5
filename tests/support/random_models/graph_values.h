#pragma once
// Owns: GraphValues, the values that a random graph has so far, with their shapes. Does not know: which steps there are.

#include <algorithm>

#include "tests/support/random_models/random_model.h"

namespace tf::onnx {

struct Value {
  std::string name;
  int type = 1;
  Shape shape;
};

class GraphValues {
 public:
  GraphValues(RandomModel& model, int type) : model_(model), type_(type) {}

  RandomModel& model() { return model_; }
  int type() const { return type_; }  // of most values
  void keep(const Value& value) { values_.push_back(value); }
  // One of the kept values, a late one more often.
  const Value& any() {
    const int64_t count = std::ssize(values_);
    return values_[static_cast<size_t>(std::max(model_.below(count), model_.below(count)))];
  }
  // A kept value of the shape of x; or a new one, which broadcasts to it if it need not have the same shape.
  Value like(const Value& x, bool same_shape = false) {
    for (const Value& each : values_)
      if (each.shape == x.shape && each.type == x.type && each.name != x.name && model_.flip()) return each;
    return given(x.type, same_shape ? x.shape : model_.broadcast_to(x.shape));
  }

  // The type of the result is that of the first operand, if none is given.
  Value node(const std::string& op_type, const std::vector<Value>& operands, const Shape& shape,
             int type = 0) {
    std::vector<std::string> names;
    for (const Value& operand : operands) names.push_back(operand.name);
    last_ = &model_.node(op_type, names);
    const size_t typed = op_type == "Where" ? 1 : 0;
    return {model_.result(), type != 0 ? type : operands[typed].type, shape};
  }
  ::onnx::NodeProto& last() { return *last_; }  // that node() made

  Value given(int type, const Shape& shape) { return {model_.operand(type, shape), type, shape}; }
  // Small, so that products of several layers stay small.
  Value weights(const Shape& shape) {
    std::vector<double> values(static_cast<size_t>(count_of(shape)));
    for (double& value : values) value = model_.real(-0.4, 0.4);
    return {model_.reals(type_, shape, values, !model_.one_in(6)), type_, shape};
  }
  Value positive(const Shape& shape) {
    return {model_.constant(type_, shape, Fill::kPositive), type_, shape};
  }
  Value number(double value) { return {model_.reals(type_, {}, {value}, true), type_, {}}; }
  Value known(int type, const Shape& shape, const Shape& values) {
    return {model_.whole(type, shape, values, true), type, shape};
  }
  Value list(const Shape& values) { return known(7, {std::ssize(values)}, values); }

  Value reduced(const std::string& op_type, const Value& x, const Shape& axes, bool keeps) {
    const int64_t rank = std::ssize(x.shape);
    Shape kept = x.shape, left;
    std::vector<bool> is_reduced(x.shape.size(), false);
    for (int64_t axis : axes) is_reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (is_reduced[i])
        kept[i] = 1;
      else
        left.push_back(kept[i]);
    }
    std::vector<Value> operands = {x};
    if (model_.opset() >= 18) operands.push_back(list(axes));
    const Value y = node(op_type, operands, keeps ? kept : left);
    if (model_.opset() < 18) set(last(), "axes", axes);
    set(last(), "keepdims", keeps ? 1 : 0);
    return y;
  }
  Value reshaped(const Value& x, const Shape& shape) { return node("Reshape", {x, list(shape)}, shape); }

 private:
  RandomModel& model_;
  const int type_;
  std::vector<Value> values_;
  ::onnx::NodeProto* last_ = nullptr;
};

// One step of a random graph, of those that graphs.cpp knows: a value of the pool, changed.
Value random_step(GraphValues& g);

// Graphs with branches, loops and scans.
RandomOperators flow_graphs();

}  // namespace tf::onnx
