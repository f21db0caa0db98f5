// Integers with scales and zero points.
#include <algorithm>

#include "tests/support/random_models/random_model.h"

namespace tf::onnx {
namespace {

using Names = std::vector<std::string>;

constexpr int kU8 = 2, kI8 = 3, kI32 = 6;

int byte_type(RandomModel& m) {
  return m.flip() ? kU8 : kI8;
}
std::string scale(RandomModel& m, const Shape& shape, double size = 0.1) {
  std::vector<double> values;
  for (int64_t i = 0; i < count_of(shape); ++i) values.push_back(m.real(size / 10, size));
  return m.reals(1, shape, values, !m.one_in(8));
}
std::string zero(RandomModel& m, int type, const Shape& shape = {}) {
  Shape values;
  for (int64_t i = 0; i < count_of(shape); ++i)
    values.push_back(type == kI32 ? 0 : type == kU8 ? m.between(100, 150) : m.between(-20, 20));
  return m.whole(type, shape, values, !m.one_in(8));
}

// The axis of scales, if there are several, and their shape.
Shape scales_of(RandomModel& m, const Shape& shape, int64_t& axis, bool& has_axis) {
  has_axis = m.opset() >= 13 && !shape.empty() && m.flip();
  axis = has_axis ? m.below(std::ssize(shape)) : 1;
  return has_axis ? Shape{shape[static_cast<size_t>(axis)]} : Shape{};
}

void quantize(RandomModel& m) {
  const Shape shape = m.shape(0, 4);
  int64_t axis = 1;
  bool has_axis = false;
  const Shape several = scales_of(m, shape, axis, has_axis);
  const int type = m.opset() >= 21 && m.one_in(4) ? m.type("sS") : byte_type(m);
  Names inputs = {m.operand(m.type(m.opset() >= 19 ? "fffh" : "f"), shape), ""};
  inputs[1] = scale(m, several);
  if (type != kU8 || m.flip())
    inputs.push_back(type == kU8 || type == kI8
                         ? zero(m, type, several)
                         : m.whole(type, several, Shape(static_cast<size_t>(count_of(several)), 5), true));
  auto& node = m.node("QuantizeLinear", inputs);
  if (has_axis) set(node, "axis", m.signed_axis(axis, std::ssize(shape)));
}

void dequantize(RandomModel& m) {
  const Shape shape = m.shape(0, 4);
  int64_t axis = 1;
  bool has_axis = false;
  const Shape several = scales_of(m, shape, axis, has_axis);
  const int type = m.one_in(4) ? kI32 : m.opset() >= 21 && m.one_in(5) ? m.type("sS") : byte_type(m);
  Names inputs = {m.operand(type, shape, Fill::kAny), scale(m, several)};
  if (m.flip() && (type == kU8 || type == kI8)) inputs.push_back(zero(m, type, several));
  auto& node = m.node("DequantizeLinear", inputs);
  if (has_axis) set(node, "axis", m.signed_axis(axis, std::ssize(shape)));
}

void blocked(RandomModel& m) {
  const int64_t block = m.pick(Shape{2, 4, 3});
  const int64_t axis = m.below(3);
  Shape shape = {m.extent(5), m.extent(5), m.extent(5)};
  shape[static_cast<size_t>(axis)] = block * m.extent(4);
  Shape scales = shape;
  scales[static_cast<size_t>(axis)] /= block;
  const int type = byte_type(m);
  const bool from_integers = m.flip();
  Names inputs = {m.operand(from_integers ? type : 1, shape, from_integers ? Fill::kAny : Fill::kSmall),
                  scale(m, scales)};
  inputs.push_back(zero(m, type, scales));
  auto& node = m.node(from_integers ? "DequantizeLinear" : "QuantizeLinear", inputs);
  set(node, "axis", m.signed_axis(axis, 3));
  set(node, "block_size", block);
}

void dynamic(RandomModel& m) {
  m.node("DynamicQuantizeLinear", {m.operand(1, m.shape(0, 4))}, 3);
}

void matmul_integer(RandomModel& m) {
  const int64_t inner = m.extent();
  Shape a = m.shape(0, 2, 6);
  a.push_back(m.extent()), a.push_back(inner);
  const int ta = kU8, tb = byte_type(m);
  const int64_t columns = m.extent();
  Names inputs = {m.operand(ta, a), m.constant(tb, {inner, columns})};
  if (m.flip()) {
    inputs.push_back(zero(m, ta));
    if (m.flip()) inputs.push_back(zero(m, tb, m.flip() ? Shape{} : Shape{columns}));
  }
  m.node("MatMulInteger", inputs);
}

void conv_integer(RandomModel& m) {
  const int64_t channels = m.extent(4), out = m.extent(6);
  Names inputs = {m.operand(kU8, {m.between(1, 2), channels, m.between(3, 7), m.between(3, 7)}),
                  m.constant(kU8, {out, channels, m.between(1, 3), m.between(1, 3)})};
  if (m.flip()) inputs.push_back(zero(m, kU8));
  if (inputs.size() == 3 && m.flip()) inputs.push_back(zero(m, kU8));
  auto& node = m.node("ConvInteger", inputs);
  if (m.flip()) set(node, "pads", Shape{1, 0, 1, 1});
  if (m.flip()) set(node, "strides", Shape{1, 2});
}

void q_matmul(RandomModel& m) {
  const int64_t inner = m.extent(), columns = m.extent();
  Shape a = m.shape(0, 1, 3);
  a.push_back(m.extent()), a.push_back(inner);
  const int ta = byte_type(m), tb = ta == kI8 ? kI8 : byte_type(m);
  Names inputs = {m.operand(ta, a, Fill::kAny), scale(m, {})};
  inputs.push_back(zero(m, ta));
  inputs.push_back(m.constant(tb, {inner, columns}));
  const Shape several = m.one_in(3) ? Shape{columns} : Shape{};
  inputs.push_back(scale(m, several));
  inputs.push_back(zero(m, tb, several));
  inputs.push_back(scale(m, {}, 2));
  inputs.push_back(zero(m, ta));
  m.node("QLinearMatMul", inputs);
}

void q_conv(RandomModel& m) {
  const int64_t group = m.pick(Shape{1, 1, 2}), channels = group * m.extent(4), out = group * m.extent(5);
  const int ta = byte_type(m), tb = ta == kI8 ? kI8 : byte_type(m);
  Names inputs = {m.operand(ta, {m.between(1, 2), channels, m.between(3, 8), m.between(3, 8)}, Fill::kAny),
                  scale(m, {})};
  inputs.push_back(zero(m, ta));
  inputs.push_back(m.constant(tb, {out, channels / group, m.between(1, 3), m.between(1, 3)}));
  const Shape several = m.flip() ? Shape{out} : Shape{};
  inputs.push_back(scale(m, several));
  inputs.push_back(
      m.whole(tb, several, Shape(static_cast<size_t>(count_of(several)), tb == kU8 ? 120 : 0), true));
  inputs.push_back(scale(m, {}, 2));
  inputs.push_back(zero(m, ta));
  if (m.flip()) inputs.push_back(m.constant(kI32, {out}));
  auto& node = m.node("QLinearConv", inputs);
  if (group > 1) set(node, "group", group);
  if (m.flip()) set(node, "pads", Shape{1, 1, 0, 1});
  if (m.flip()) set(node, "strides", Shape{2, 1});
}

}  // namespace

RandomOperators quantized_operators() {
  return {{"QuantizeLinear", 10, quantize},      {"DequantizeLinear", 10, dequantize},
          {"BlockedQuantization", 21, blocked},  {"DynamicQuantizeLinear", 11, dynamic},
          {"MatMulInteger", 10, matmul_integer}, {"ConvInteger", 10, conv_integer},
          {"QLinearMatMul", 10, q_matmul},       {"QLinearConv", 10, q_conv}};
}

}  // namespace tf::onnx
