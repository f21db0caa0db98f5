#include "compiler/frontends/zoo/sequence_writer.h"

#include <cmath>

namespace tf::zoo {

std::string SequenceWriter::unary(const std::string& op, const std::string& x) {
  const std::string name = net_.unnamed(op);
  net_.node(op, name, {x});
  return name;
}

std::string SequenceWriter::binary(const std::string& op, const std::string& a, const std::string& b) {
  const std::string name = net_.unnamed(op);
  net_.node(op, name, {a, b});
  return name;
}

std::string SequenceWriter::scalar(double value) {
  return net_.tensor(net_.unnamed("scalar"), {}, {static_cast<float>(value)});
}

std::string SequenceWriter::transpose(const std::string& x, std::initializer_list<int64_t> perm) {
  const std::string name = net_.unnamed("Transpose");
  set_ints(net_.node("Transpose", name, {x}), "perm", perm);
  return name;
}

std::string SequenceWriter::reshape(const std::string& x, const std::vector<int64_t>& shape) {
  return binary("Reshape", x, net_.integers(net_.unnamed("shape"), shape));
}

std::string SequenceWriter::unsqueeze(const std::string& x, int64_t axis) {
  return binary("Unsqueeze", x, net_.integers(net_.unnamed("axes"), {axis}));
}

std::string SequenceWriter::concat(const std::vector<std::string>& parts, int64_t axis) {
  const std::string name = net_.unnamed("Concat");
  set_int(net_.node("Concat", name, parts), "axis", axis);
  return name;
}

std::string SequenceWriter::gather(const std::string& x, int64_t index, int64_t axis) {
  const std::string name = net_.unnamed("Gather");
  const std::string place = net_.integers(net_.unnamed("index"), {index});
  set_int(net_.node("Gather", name, {x, place}), "axis", axis);
  return binary("Squeeze", name, net_.integers(net_.unnamed("axes"), {axis}));
}

std::string SequenceWriter::extent(const std::string& x, int64_t axis) {
  return gather(unary("Shape", x), axis, 0);
}

std::string SequenceWriter::softmax(const std::string& x) {
  const std::string name = net_.unnamed("Softmax");
  set_int(net_.node("Softmax", name, {x}), "axis", -1);
  return name;
}

std::string SequenceWriter::mean(const std::string& x, int64_t axis, bool keep) {
  const std::string name = net_.unnamed("ReduceMean");
  ::onnx::NodeProto& node = net_.node("ReduceMean", name, {x});
  set_ints(node, "axes", {axis});
  set_int(node, "keepdims", keep ? 1 : 0);
  return name;
}

std::string SequenceWriter::vector(const std::string& name, int64_t count, double mean, double deviation) {
  return net_.tensor(name, {count}, net_.normal(count, mean, deviation));
}

std::string SequenceWriter::linear(const std::string& name, const std::string& x, int64_t from, int64_t to,
                                   double gain) {
  const double deviation = gain / std::sqrt(static_cast<double>(from));
  const std::string weight = net_.tensor(name + ".weight", {from, to}, net_.normal(from * to, 0, deviation));
  const std::string bias = net_.tensor(name + ".bias", {to}, net_.normal(to, 0, 0.1));
  return binary("Add", binary("MatMul", x, weight), bias);
}

std::string SequenceWriter::layer_norm(const std::string& name, const std::string& x, int64_t width,
                                       double epsilon) {
  const std::string weight = vector(name + ".weight", width, 1, 0.1),
                    bias = vector(name + ".bias", width, 0, 0.1);
  if (opset_ >= 17) {
    ::onnx::NodeProto& node = net_.node("LayerNormalization", name, {x, weight, bias});
    set_int(node, "axis", -1);
    set_float(node, "epsilon", epsilon);
    return name;
  }
  const std::string apart = binary("Sub", x, mean(x, -1, true));
  const std::string variance = mean(binary("Pow", apart, scalar(2)), -1, true);
  const std::string deviation = unary("Sqrt", binary("Add", variance, scalar(epsilon)));
  return binary("Add", binary("Mul", binary("Div", apart, deviation), weight), bias);
}

std::string SequenceWriter::gelu(const std::string& x) {
  const std::string erf = unary("Erf", binary("Div", x, scalar(std::sqrt(2.0))));
  return binary("Mul", binary("Mul", x, binary("Add", erf, scalar(1))), scalar(0.5));
}

std::string SequenceWriter::silu(const std::string& x) {
  return binary("Mul", x, unary("Sigmoid", x));
}

std::string SequenceWriter::split_heads(const std::string& x, int64_t width, int64_t heads,
                                        std::initializer_list<int64_t> perm) {
  return transpose(reshape(x, {0, 0, heads, width / heads}), perm);
}

std::string SequenceWriter::merge_heads(const std::string& x, int64_t width) {
  return reshape(transpose(x, {0, 2, 1, 3}), {0, 0, width});
}

std::string SequenceWriter::attend(const std::string& query, const std::string& key, const std::string& value,
                                   int64_t head_width, const std::string& mask) {
  std::string scores = binary("MatMul", query, key);
  scores = binary("Div", scores, scalar(std::sqrt(static_cast<double>(head_width))));
  if (!mask.empty()) scores = binary("Add", scores, mask);
  return binary("MatMul", softmax(scores), value);
}

std::string SequenceWriter::self_attention(const std::string& name, const std::string& x, int64_t width,
                                           int64_t heads, const std::string& mask, double gain) {
  const std::string query = split_heads(linear(name + ".query", x, width, width, 1), width, heads);
  const std::string key = split_heads(linear(name + ".key", x, width, width, 1), width, heads, {0, 2, 3, 1});
  const std::string value = split_heads(linear(name + ".value", x, width, width, 1), width, heads);
  return linear(name + ".output", merge_heads(attend(query, key, value, width / heads, mask), width), width,
                width, gain);
}

std::string SequenceWriter::mlp(const std::string& name, const std::string& x, int64_t width, int64_t inner,
                                double gain) {
  return linear(name + ".outer", gelu(linear(name + ".inner", x, width, inner, 1)), inner, width,
                gain * std::sqrt(2.0));
}

}  // namespace tf::zoo
