#include "compiler/frontends/zoo/halves.h"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "compiler/tensor/half.h"

namespace tf::zoo {
namespace {

using ::onnx::TensorProto;

void narrow(TensorProto& tensor) {
  if (tensor.data_type() != TensorProto::FLOAT) return;
  tensor.set_data_type(TensorProto::FLOAT16);
  std::string halves;
  const auto add = [&](float value) {
    const uint16_t bits = tensor::float16_bits(value);
    halves.append({static_cast<char>(bits & 0xff), static_cast<char>(bits >> 8)});
  };
  const std::string& raw = tensor.raw_data();
  for (size_t i = 0; i + sizeof(float) <= raw.size(); i += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, raw.data() + i, sizeof value);
    add(value);
  }
  for (const float value : tensor.float_data()) add(value);
  tensor.clear_float_data();
  tensor.set_raw_data(std::move(halves));
}

void narrow(::onnx::ValueInfoProto& value) {
  auto& type = *value.mutable_type()->mutable_tensor_type();
  if (type.elem_type() == TensorProto::FLOAT) type.set_elem_type(TensorProto::FLOAT16);
}

void narrow(::onnx::GraphProto& graph) {
  for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
    for (::onnx::ValueInfoProto& value : *values) narrow(value);
  for (TensorProto& tensor : *graph.mutable_initializer()) narrow(tensor);
  for (::onnx::NodeProto& node : *graph.mutable_node())
    for (::onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.name() == "to" && attribute.i() == TensorProto::FLOAT)
        attribute.set_i(TensorProto::FLOAT16);
      if (attribute.has_t()) narrow(*attribute.mutable_t());
      if (attribute.has_g()) narrow(*attribute.mutable_g());
    }
}

}  // namespace

absl::StatusOr<std::string> in_halves(const std::string& model) {
  ::onnx::ModelProto proto;
  if (!proto.ParseFromString(model))
    return absl::InvalidArgumentError("not an ONNX model: the bytes cannot be parsed");
  narrow(*proto.mutable_graph());
  return proto.SerializeAsString();
}

}  // namespace tf::zoo
