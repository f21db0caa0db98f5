// Operators of domain com.microsoft on bytes with scales.
#include <algorithm>

#include "tests/support/random_models/random_model.h"

namespace tf::onnx {
namespace {

using Names = std::vector<std::string>;
constexpr const char* kDomain = "com.microsoft";
constexpr int kU8 = 2, kI8 = 3, kI32 = 6;

Shape full_shape(RandomModel& m, int64_t least, int64_t most) {
  Shape shape = m.shape(least, most);
  for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 1);
  return shape;
}
int byte_type(RandomModel& m) {
  return m.flip() ? kU8 : kI8;
}
std::string scale(RandomModel& m, double size = 0.1) {
  return m.reals(1, {}, {m.real(size / 10, size)}, true);
}
std::string zero(RandomModel& m, int type) {
  return m.whole(type, {}, {type == kU8 ? m.between(100, 150) : m.between(-20, 20)}, true);
}
// Scale and zero point of a tensor of bytes, behind it.
void with_scale(RandomModel& m, Names& inputs, int type, double size = 0.1) {
  inputs.push_back(scale(m, size));
  inputs.push_back(zero(m, type));
}

void product_to_float(RandomModel& m) {
  const bool dynamic = m.flip();
  const int64_t inner = m.extent(), columns = m.extent();
  const int type = byte_type(m);
  const Shape rows = {m.between(1, 2), m.extent(5), inner};
  Names inputs;
  if (dynamic) {
    inputs = {m.operand(1, rows), m.constant(type, {inner, columns})};
    inputs.push_back(scale(m));
    inputs.push_back(m.flip() ? zero(m, type) : "");
  } else {
    inputs = {m.operand(kU8, rows, Fill::kAny), m.constant(type, {inner, columns})};
    inputs.push_back(scale(m));
    inputs.push_back(scale(m));
    inputs.push_back(m.flip() ? zero(m, kU8) : "");
    inputs.push_back(m.flip() ? zero(m, type) : "");
  }
  if (m.flip()) inputs.push_back(m.constant(1, {columns}));
  m.node(dynamic ? "DynamicQuantizeMatMul" : "MatMulIntegerToFloat", inputs, 1, kDomain);
}

void q_element_wise(RandomModel& m) {
  const int type = byte_type(m);
  const Shape shape = full_shape(m, 1, 4);
  const std::string op_type =
      m.pick({"QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"});
  Names inputs = {m.operand(type, shape, Fill::kAny)};
  with_scale(m, inputs, type);
  if (op_type == "QLinearAdd" || op_type == "QLinearMul") {
    inputs.push_back(m.operand(type, m.broadcast_to(shape), Fill::kAny));
    with_scale(m, inputs, type);
  }
  if (op_type == "QLinearSoftmax" || op_type == "QLinearSigmoid") {
    inputs.push_back(m.reals(1, {}, {1.0 / 256}, true));
    inputs.push_back(m.whole(type, {}, {type == kU8 ? 0 : -128}, true));
  } else {
    with_scale(m, inputs, type, op_type == "QLinearMul" ? 1 : 0.2);
  }
  auto& node = m.node(op_type, inputs, 1, kDomain);
  if (op_type == "QLinearSoftmax") set(node, "opset", 13), set(node, "axis", -1);
  if (op_type == "QLinearLeakyRelu" && m.flip()) set(node, "alpha", 0.2);
}

void q_concat(RandomModel& m) {
  const int type = byte_type(m);
  Shape shape = full_shape(m, 1, 4);
  const auto axis = m.below(std::ssize(shape));
  Names inputs;
  with_scale(m, inputs, type);
  for (int64_t i = m.between(1, 3); i > 0; --i) {
    shape[static_cast<size_t>(axis)] = m.extent(5);
    inputs.push_back(m.operand(type, shape, Fill::kAny));
    with_scale(m, inputs, type);
  }
  set(m.node("QLinearConcat", inputs, 1, kDomain), "axis", axis);
}

void q_pool(RandomModel& m) {
  const int type = byte_type(m);
  const bool last = m.flip();
  const int64_t channels = m.extent(5), height = m.between(3, 8), width = m.between(3, 8);
  Names inputs = {m.operand(
      type, last ? Shape{2, height, width, channels} : Shape{2, channels, height, width}, Fill::kAny)};
  with_scale(m, inputs, type);
  with_scale(m, inputs, type);
  const bool is_global = m.flip();
  auto& node = m.node(is_global ? "QLinearGlobalAveragePool" : "QLinearAveragePool", inputs, 1, kDomain);
  set(node, "channels_last", last ? 1 : 0);
  if (is_global) return;
  set(node, "kernel_shape", Shape{m.between(1, 3), m.between(1, 3)});
  if (m.flip()) set(node, "strides", Shape{2, 1});
  if (m.flip()) set(node, "count_include_pad", m.below(2));
}

void nhwc_max_pool(RandomModel& m) {
  auto& node = m.node(
      "NhwcMaxPool",
      {m.operand(byte_type(m), {m.between(1, 2), m.between(3, 8), m.between(3, 8), m.extent(5)}, Fill::kAny)},
      1, kDomain);
  set(node, "kernel_shape", Shape{m.between(2, 3), m.between(2, 3)});
  if (m.flip()) set(node, "strides", Shape{2, 1});
  if (m.flip()) set(node, "pads", Shape{1, 0, 1, 1});
}

void q_gemm(RandomModel& m) {
  const bool a = m.flip(), b = m.flip();
  const int64_t rows = m.extent(), inner = m.extent(), columns = m.extent();
  const int ta = byte_type(m), tb = ta == kI8 ? kI8 : byte_type(m);
  Names inputs = {m.operand(ta, a ? Shape{inner, rows} : Shape{rows, inner}, Fill::kAny)};
  with_scale(m, inputs, ta);
  inputs.push_back(m.constant(tb, b ? Shape{columns, inner} : Shape{inner, columns}));
  with_scale(m, inputs, tb);
  inputs.push_back(m.flip() ? m.constant(kI32, {columns}) : "");
  if (m.flip()) with_scale(m, inputs, ta, 2);
  auto& node = m.node("QGemm", inputs, 1, kDomain);
  set(node, "transA", a ? 1 : 0);
  set(node, "transB", b ? 1 : 0);
  if (m.flip()) set(node, "alpha", m.real(0.5, 2));
}

void q_where(RandomModel& m) {
  const int type = byte_type(m);
  const Shape shape = full_shape(m, 1, 4);
  Names inputs = {m.operand(9, m.broadcast_to(shape), Fill::kAny), m.operand(type, shape, Fill::kAny)};
  with_scale(m, inputs, type);
  inputs.push_back(m.operand(type, m.broadcast_to(shape), Fill::kAny));
  with_scale(m, inputs, type);
  with_scale(m, inputs, type);
  m.node("QLinearWhere", inputs, 1, kDomain);
}

void q_conv(RandomModel& m) {
  const int64_t group = m.pick(Shape{1, 1, 2}), channels = group * m.extent(4), out = group * m.extent(5);
  const bool last = m.flip();
  const int64_t height = m.between(3, 8), width = m.between(3, 8);
  Names inputs = {m.operand(kU8, last ? Shape{2, height, width, channels} : Shape{2, channels, height, width},
                            Fill::kAny)};
  with_scale(m, inputs, kU8);
  inputs.push_back(m.constant(kI8, {out, channels / group, m.between(1, 3), m.between(1, 3)}));
  inputs.push_back(scale(m));
  inputs.push_back(m.whole(kI8, {}, {0}, true));
  with_scale(m, inputs, kU8, 2);
  if (m.flip()) inputs.push_back(m.constant(kI32, {out}));
  auto& node = m.node("QLinearConv", inputs, 1, kDomain);
  set(node, "channels_last", last ? 1 : 0);
  if (group > 1) set(node, "group", group);
  if (m.flip()) set(node, "pads", Shape{1, 1, 0, 1});
  if (m.flip()) set(node, "strides", Shape{2, 1});
}

void quantize(RandomModel& m) {
  const bool from_integers = m.flip();
  const int type = m.type("bBsS");
  Names inputs = {
      m.operand(from_integers ? type : 1, m.shape(0, 4), from_integers ? Fill::kAny : Fill::kSmall)};
  inputs.push_back(scale(m));
  inputs.push_back(m.whole(type, {}, {m.between(0, 20)}, true));
  m.node(from_integers ? "DequantizeLinear" : "QuantizeLinear", inputs, 1, kDomain);
}

}  // namespace

RandomOperators microsoft_byte_operators() {
  return {{"com.microsoft.ProductToFloat", 13, product_to_float},
          {"com.microsoft.QLinearElementWise", 13, q_element_wise},
          {"com.microsoft.QLinearConcat", 13, q_concat},
          {"com.microsoft.QLinearPool", 13, q_pool},
          {"com.microsoft.NhwcMaxPool", 13, nhwc_max_pool},
          {"com.microsoft.QGemm", 13, q_gemm},
          {"com.microsoft.QLinearWhere", 13, q_where},
          {"com.microsoft.QLinearConv", 13, q_conv},
          {"com.microsoft.Quantize", 13, quantize}};
}

}  // namespace tf::onnx
