#include "compiler/frontends/zoo/network_writer.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "base/mix.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/host_tensor.h"

namespace tf::zoo {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;

void set_int(NodeProto& node, const char* name, int64_t value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

void set_ints(NodeProto& node, const char* name, std::initializer_list<int64_t> values) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INTS);
  for (int64_t v : values) attribute.add_ints(v);
}

void set_float(NodeProto& node, const char* name, double value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
}

namespace {

void set_window(NodeProto& node, int64_t kernel, int64_t stride, int64_t pad) {
  set_ints(node, "kernel_shape", {kernel, kernel});
  set_ints(node, "strides", {stride, stride});
  set_ints(node, "pads", {pad, pad, pad, pad});
}

void set_type(::onnx::ValueInfoProto& info, const std::string& name, ::onnx::TensorProto::DataType element,
              const std::vector<Extent>& shape) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(element);
  for (const Extent& extent : shape) {
    auto& dim = *type.mutable_shape()->add_dim();
    extent.name.empty() ? dim.set_dim_value(extent.value) : dim.set_dim_param(extent.name);
  }
  type.mutable_shape();
}

std::vector<Extent> after_batch(const Extent& batch, const std::vector<int64_t>& shape) {
  std::vector<Extent> all = {batch};
  for (int64_t extent : shape) all.push_back({extent, ""});
  return all;
}

}  // namespace

NetworkWriter::NetworkWriter(const std::string& name, const Options& options, int opset)
    : options_(options), state_(options.seed) {
  model_.set_ir_version(opset < 15 ? 7 : 8);
  model_.set_producer_name("tunefarm");
  model_.add_opset_import()->set_version(opset);
  model_.mutable_graph()->set_name(name);
}

Feature NetworkWriter::input(const std::vector<int64_t>& shape_after_batch) {
  return {input("input", ::onnx::TensorProto::FLOAT, after_batch(batch(), shape_after_batch)),
          shape_after_batch[0]};
}

std::string NetworkWriter::token_input(const std::string& name) {
  return input(name, ::onnx::TensorProto::INT64, {batch(), sequence()});
}

std::string NetworkWriter::input(const std::string& name, ::onnx::TensorProto::DataType element,
                                 const std::vector<Extent>& shape) {
  set_type(*model_.mutable_graph()->add_input(), name, element, shape);
  return name;
}

NodeProto& NetworkWriter::node(const std::string& op_type, const std::string& name,
                               const std::vector<std::string>& inputs) {
  NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(op_type);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(name);
  return node;
}

std::string NetworkWriter::tensor(const std::string& name, const std::vector<int64_t>& shape,
                                  const std::vector<float>& values) {
  onnx::to_proto({name, tensor::Element::kFloat32, shape, graph::make_blob(values)},
                 *model_.mutable_graph()->add_initializer());
  return name;
}

std::string NetworkWriter::integers(const std::string& name, const std::vector<int64_t>& values) {
  onnx::to_proto(
      {name, tensor::Element::kInt64, {static_cast<int64_t>(values.size())}, graph::make_blob(values)},
      *model_.mutable_graph()->add_initializer());
  return name;
}

double NetworkWriter::uniform() {
  return static_cast<double>(mix(state_ += kMixStep) >> 11) * 0x1p-53;
}

// Box and Muller's transform, both values of each pair.
std::vector<float> NetworkWriter::normal(int64_t count, double mean, double deviation) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; i += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - uniform())), angle = 2 * std::numbers::pi * uniform();
    values[i] = static_cast<float>(mean + deviation * radius * std::cos(angle));
    if (i + 1 < count) values[i + 1] = static_cast<float>(mean + deviation * radius * std::sin(angle));
  }
  return values;
}

Feature NetworkWriter::conv(const std::string& name, const Feature& x, const ConvShape& shape) {
  const int64_t depth = x.channels / shape.groups, k = shape.kernel,
                wide = shape.wide_kernel > 0 ? shape.wide_kernel : k,
                wide_pad = shape.wide_kernel > 0 ? shape.wide_pad : shape.pad;
  const double deviation = shape.gain * std::sqrt(2.0 / static_cast<double>(depth * k * wide));
  std::vector<std::string> inputs = {x.value};
  inputs.push_back(tensor(name + ".weight", {shape.channels, depth, k, wide},
                          normal(shape.channels * depth * k * wide, 0, deviation)));
  if (shape.bias) inputs.push_back(tensor(name + ".bias", {shape.channels}, normal(shape.channels, 0, 0.1)));
  NodeProto& n = node("Conv", name, inputs);
  set_ints(n, "kernel_shape", {k, wide});
  set_ints(n, "strides", {shape.stride, shape.stride});
  set_ints(n, "pads", {shape.pad, wide_pad, shape.pad, wide_pad});
  set_int(n, "group", shape.groups);
  return {name, shape.channels};
}

Feature NetworkWriter::batch_norm(const std::string& name, const Feature& x, double gain) {
  const int64_t n = x.channels;
  std::vector<float> variance(n), scale(n);
  for (int64_t i = 0; i < n; ++i) {
    variance[i] = static_cast<float>(0.8 + 0.7 * uniform());
    scale[i] = static_cast<float>(gain * (0.8 + 0.4 * uniform()));
  }
  node(
      "BatchNormalization", name,
      {x.value, tensor(name + ".weight", {n}, scale), tensor(name + ".bias", {n}, normal(n, 0, 0.2)),
       tensor(name + ".running_mean", {n}, normal(n, 0, 0.2)), tensor(name + ".running_var", {n}, variance)});
  return {name, n};
}

Feature NetworkWriter::unary(const char* op, const Feature& x) {
  const std::string name = unnamed(op);
  node(op, name, {x.value});
  return {name, x.channels};
}

Feature NetworkWriter::relu(const Feature& x) {
  return unary("Relu", x);
}

Feature NetworkWriter::sigmoid(const Feature& x) {
  return unary("Sigmoid", x);
}

Feature NetworkWriter::silu(const Feature& x) {
  return mul(x, sigmoid(x));
}

Feature NetworkWriter::hard_sigmoid(const Feature& x) {
  const Feature result = unary("HardSigmoid", x);
  set_float(*model_.mutable_graph()->mutable_node()->rbegin(), "alpha", 1.0 / 6);
  return result;
}

Feature NetworkWriter::hard_swish(const Feature& x) {
  return unary("HardSwish", x);
}

Feature NetworkWriter::mul(const Feature& a, const Feature& b) {
  const std::string name = unnamed("mul");
  node("Mul", name, {a.value, b.value});
  return {name, a.channels};
}

Feature NetworkWriter::relu6(const Feature& x) {
  if (!has_relu6_) {
    tensor("zero", {}, {0});
    tensor("six", {}, {6});
    has_relu6_ = true;
  }
  const std::string name = unnamed("relu6");
  node("Clip", name, {x.value, "zero", "six"});
  return {name, x.channels};
}

Feature NetworkWriter::max_pool(const Feature& x, const PoolShape& shape) {
  return pool("MaxPool", unnamed("max_pool"), x, shape);
}

Feature NetworkWriter::average_pool(const Feature& x, const PoolShape& shape) {
  return pool("AveragePool", unnamed("average_pool"), x, shape);
}

Feature NetworkWriter::pool(const char* op, const std::string& name, const Feature& x,
                            const PoolShape& shape) {
  NodeProto& n = node(op, name, {x.value});
  set_window(n, shape.kernel, shape.stride, shape.pad);
  set_int(n, "ceil_mode", shape.ceil ? 1 : 0);
  return {name, x.channels};
}

Feature NetworkWriter::lrn(const Feature& x, double alpha) {
  const std::string name = unnamed("lrn");
  NodeProto& n = node("LRN", name, {x.value});
  set_int(n, "size", 5);
  set_float(n, "alpha", alpha);
  set_float(n, "beta", 0.75);
  set_float(n, "bias", 1);
  return {name, x.channels};
}

Feature NetworkWriter::global_average_pool(const Feature& x) {
  const std::string name = unnamed("global_average_pool");
  node("GlobalAveragePool", name, {x.value});
  return {name, x.channels};
}

Feature NetworkWriter::flatten(const Feature& x) {
  const std::string name = unnamed("flatten");
  set_int(node("Flatten", name, {x.value}), "axis", 1);
  return {name, x.channels};
}

Feature NetworkWriter::dropout(const Feature& x) {
  const std::string name = unnamed("dropout");
  node("Dropout", name, {x.value});
  return {name, x.channels};
}

Feature NetworkWriter::gemm(const std::string& name, const Feature& x, int64_t channels, double gain) {
  const double deviation = gain * std::sqrt(2.0 / static_cast<double>(x.channels));
  NodeProto& n = node(
      "Gemm", name,
      {x.value, tensor(name + ".weight", {channels, x.channels}, normal(channels * x.channels, 0, deviation)),
       tensor(name + ".bias", {channels}, normal(channels, 0, 0.1))});
  set_int(n, "transB", 1);
  return {name, channels};
}

Feature NetworkWriter::concat(const std::vector<Feature>& parts) {
  const std::string name = unnamed("concat");
  std::vector<std::string> values;
  int64_t channels = 0;
  for (const Feature& part : parts) {
    values.push_back(part.value);
    channels += part.channels;
  }
  set_int(node("Concat", name, values), "axis", 1);
  return {name, channels};
}

Feature NetworkWriter::add(const Feature& a, const Feature& b) {
  const std::string name = unnamed("add");
  node("Add", name, {a.value, b.value});
  return {name, a.channels};
}

std::string NetworkWriter::finish(const Feature& logits) && {
  set_int(node("Softmax", "probabilities", {logits.value}), "axis", 1);
  return std::move(*this).finish("probabilities", {logits.channels});
}

std::string NetworkWriter::finish(const std::string& value,
                                  const std::vector<int64_t>& shape_after_batch) && {
  for (NodeProto& n : *model_.mutable_graph()->mutable_node()) {
    if (n.output(0) == value) n.set_output(0, "output");
  }
  set_type(*model_.mutable_graph()->add_output(), "output", ::onnx::TensorProto::FLOAT,
           after_batch(batch(), shape_after_batch));
  return model_.SerializeAsString();
}

void NetworkWriter::output(const std::string& name, const std::string& value,
                           ::onnx::TensorProto::DataType element, const std::vector<Extent>& shape) {
  node("Identity", name, {value});
  set_type(*model_.mutable_graph()->add_output(), name, element, shape);
}

std::string NetworkWriter::bytes() && {
  return model_.SerializeAsString();
}

}  // namespace tf::zoo
