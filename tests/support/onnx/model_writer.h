#pragma once
// Owns: terse building of small ONNX models for tests.

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace tf::onnx {

class ModelWriter {
 public:
  explicit ModelWriter(int opset = 13) {
    model.set_ir_version(7);
    model.add_opset_import()->set_version(opset);
  }
  // An extent below 0 has neither size nor name.
  ::onnx::TypeProto_Tensor& input(const std::string& name, const std::vector<int64_t>& shape, int type = 1) {
    auto& info = *graph().add_input();
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (int64_t extent : shape) {
      auto& dim = *tensor.mutable_shape()->add_dim();
      if (extent >= 0) dim.set_dim_value(extent);
    }
    return tensor;
  }
  void ints(const std::string& name, const std::vector<int64_t>& values) {
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (int64_t v : values) tensor.add_int64_data(v);
  }
  ::onnx::TensorProto& floats(const std::string& name, const std::vector<int64_t>& shape,
                              const std::vector<float>& values) {
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    for (int64_t extent : shape) tensor.add_dims(extent);
    for (float v : values) tensor.add_float_data(v);
    return tensor;
  }
  ::onnx::NodeProto& node(const std::string& op_type, const std::vector<std::string>& inputs,
                          const std::string& output) {
    auto& node = *graph().add_node();
    node.set_op_type(op_type);
    node.set_name("the_" + output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }
  static void set(::onnx::NodeProto& node, const std::string& name, int64_t value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  static void set(::onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INTS);
    for (int64_t v : values) attribute.add_ints(v);
  }
  void output(const std::string& name) { graph().add_output()->set_name(name); }
  std::string bytes() const { return model.SerializeAsString(); }
  ::onnx::GraphProto& graph() { return *model.mutable_graph(); }

  ::onnx::ModelProto model;
};

inline ::onnx::AttributeProto& attribute(::onnx::NodeProto& node, const std::string& name) {
  auto& made = *node.add_attribute();
  made.set_name(name);
  return made;
}
inline void set(::onnx::NodeProto& node, const std::string& name, double value) {
  auto& made = attribute(node, name);
  made.set_type(::onnx::AttributeProto::FLOAT);
  made.set_f(static_cast<float>(value));
}
inline void set(::onnx::NodeProto& node, const std::string& name, int value) {
  ModelWriter::set(node, name, int64_t{value});
}
inline void set(::onnx::NodeProto& node, const std::string& name, const char* value) {
  auto& made = attribute(node, name);
  made.set_type(::onnx::AttributeProto::STRING);
  made.set_s(value);
}
inline void set(::onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  ModelWriter::set(node, name, values);
}
inline void set(::onnx::NodeProto& node, const std::string& name, int64_t value) {
  ModelWriter::set(node, name, value);
}
inline void set(::onnx::NodeProto& node, const std::string& name, const std::string& value) {
  set(node, name, value.c_str());
}
inline void set(::onnx::NodeProto& node, const std::string& name, const std::vector<double>& values) {
  auto& made = attribute(node, name);
  made.set_type(::onnx::AttributeProto::FLOATS);
  for (double v : values) made.add_floats(static_cast<float>(v));
}

}  // namespace tf::onnx
