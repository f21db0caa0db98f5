#include "base/check.h"
#include "compiler/tensor/workload.h"

namespace tf::tensor {
namespace {

double extent_of(const Expr& extent) {
  const auto value = as_int(extent);
  TF_CHECK(value.has_value()) << "the workload must be bound";
  return static_cast<double>(*value);
}

double points(const std::vector<Axis>& axes) {
  double product = 1;
  for (const Axis& axis : axes) product *= extent_of(axis.extent);
  return product;
}

// Arithmetic on data: floats and narrow integers. i64 and bool are indices and guards.
bool is_data(const Type& type) {
  return type.element != Element::kInt64 && type.element != Element::kBool;
}

double operations(const Expr& expr) {
  double count = 0;
  if (const auto* binary = as<Binary>(expr)) {
    if (is_data(binary->a->type())) count = 1;
  } else if (const auto* call = as<Call>(expr)) {
    count = call->function == Intrinsic::kFma ? 2 : 1;
  }
  for (const Expr& operand : operands(expr)) count += operations(operand);
  return count;
}

double bytes_of(const Buffer& buffer) {
  double bytes = element_bytes(buffer->element);
  for (const Expr& extent : buffer->extents) bytes *= extent_of(extent);
  return bytes;
}

}  // namespace

double count_flops(const Workload& workload) {
  double total = 0;
  for (const Stage& stage : workload.stages) {
    const double each = operations(stage.body) + (stage.combiner && is_data(stage.body->type()) ? 1 : 0);
    total += each * points(stage.axes) * points(stage.reduce_axes);
  }
  return total;
}

double count_bytes(const Workload& workload) {
  double total = 0;
  for (const Input& input : workload.inputs) total += bytes_of(input.buffer);
  for (const Buffer& output : workload.outputs) total += bytes_of(output);
  return total;
}

}  // namespace tf::tensor
