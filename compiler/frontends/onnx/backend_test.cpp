#include "compiler/frontends/onnx/backend_test.h"

#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "compiler/frontends/onnx/tensor_proto.h"

namespace tf::onnx {
namespace {

using graph::HostTensor;
using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;

const TypeProto& held_by(const TypeProto& type) {
  if (type.has_optional_type()) return held_by(type.optional_type().elem_type());
  return type.has_sequence_type() ? type.sequence_type().elem_type() : type;
}

void correct_element(HostTensor& value, const TypeProto& type) {
  const bool is_half = held_by(type).tensor_type().elem_type() == ::onnx::TensorProto::BFLOAT16;
  if (is_half && value.element == tensor::Element::kUInt16) value.element = tensor::Element::kBFloat16;
}

class Reader {
 public:
  explicit Reader(TestValues& values) : values_(values) {}

  absl::Status read(const std::string& path, const ValueInfoProto& info) {
    if (!info.type().has_sequence_type() && !info.type().has_optional_type()) {
      TF_ASSIGN_OR_RETURN(HostTensor value, read_tensor(path));
      correct_element(value, info.type());
      values_.tensors.push_back(std::move(value));
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(const std::string bytes, read_file(path));
    absl::Status status = list(bytes, info);
    return status.ok() ? status : absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
  }

 private:
  absl::Status list(const std::string& bytes, const ValueInfoProto& info) {
    if (info.type().has_sequence_type()) {
      ::onnx::SequenceProto sequence;
      if (!sequence.ParseFromString(bytes)) return absl::InvalidArgumentError("not a whole ONNX sequence");
      return add(sequence, info);
    }
    ::onnx::OptionalProto optional;
    if (!optional.ParseFromString(bytes)) return absl::InvalidArgumentError("not a whole ONNX optional");
    std::optional<int64_t>& length = values_.lengths[info.name()];
    if (optional.has_sequence_value()) return add(optional.sequence_value(), info);
    if (!optional.has_tensor_value()) return absl::OkStatus();
    length = 1;
    return add(optional.tensor_value(), info.name(), info);
  }

  absl::Status add(const ::onnx::SequenceProto& sequence, const ValueInfoProto& info) {
    values_.lengths[info.name()] = sequence.tensor_values_size();
    for (int i = 0; i < sequence.tensor_values_size(); ++i)
      TF_RETURN_IF_ERROR(add(sequence.tensor_values(i), absl::StrCat(info.name(), ".", i), info));
    return absl::OkStatus();
  }

  absl::Status add(const ::onnx::TensorProto& proto, const std::string& name, const ValueInfoProto& info) {
    ExternalData none({});
    TF_ASSIGN_OR_RETURN(HostTensor value, from_proto(proto, none));
    value.name = name;
    correct_element(value, info.type());
    values_.tensors.push_back(std::move(value));
    return absl::OkStatus();
  }

  TestValues& values_;
};

template <typename Infos>
absl::StatusOr<TestValues> read_all(const std::string& folder, const char* prefix, const Infos& infos) {
  TestValues values;
  Reader reader(values);
  for (size_t i = 0;; ++i) {
    const std::string path = absl::StrCat(folder, "/", prefix, i, ".pb");
    if (!std::filesystem::exists(path)) return values;
    TF_RETURN_IF_ERROR(reader.read(path, i < infos.size() ? *infos[i] : ValueInfoProto::default_instance()));
  }
}

}  // namespace

absl::StatusOr<TestData> read_test_data(const std::string& model_path, const std::string& folder) {
  TF_ASSIGN_OR_RETURN(const std::string bytes, read_file(model_path));
  ::onnx::ModelProto model;
  if (!model.ParseFromString(bytes))
    return absl::InvalidArgumentError(absl::StrCat(model_path, ": not a whole ONNX model"));
  std::set<std::string> constants;
  for (const auto& tensor : model.graph().initializer()) constants.insert(tensor.name());
  std::vector<const ValueInfoProto*> inputs, outputs;
  for (const ValueInfoProto& input : model.graph().input())
    if (!constants.contains(input.name())) inputs.push_back(&input);
  for (const ValueInfoProto& output : model.graph().output()) outputs.push_back(&output);
  TestData data;
  TF_ASSIGN_OR_RETURN(data.inputs, read_all(folder, "input_", inputs));
  TF_ASSIGN_OR_RETURN(data.outputs, read_all(folder, "output_", outputs));
  return data;
}

}  // namespace tf::onnx
