#include "compiler/frontends/onnx/tensor_proto.h"

#include <onnx/onnx_pb.h>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/graph.h"

namespace tf::onnx {
namespace {

using graph::HostTensor;
using ::onnx::TensorProto;
using tensor::Element;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

template <typename T, typename Field>
std::string packed(const Field& field) {
  std::string bytes;
  bytes.reserve(field.size() * sizeof(T));
  for (auto v : field) {
    const T element = static_cast<T>(v);
    bytes.append(reinterpret_cast<const char*>(&element), sizeof(T));
  }
  return bytes;
}

std::string typed_data(const TensorProto& proto, Element element) {
  switch (element) {
    case Element::kFloat32:
      return packed<float>(proto.float_data());
    case Element::kFloat64:
      return packed<double>(proto.double_data());
    case Element::kInt64:
      return packed<int64_t>(proto.int64_data());
    case Element::kInt32:
      return packed<int32_t>(proto.int32_data());
    case Element::kFloat16:
    case Element::kBFloat16:
      return packed<uint16_t>(proto.int32_data());
    case Element::kInt8:
    case Element::kUInt8:
    case Element::kBool:
      return packed<uint8_t>(proto.int32_data());
  }
  __builtin_unreachable();
}

}  // namespace

absl::StatusOr<Element> element_from_onnx(int32_t data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
      return Element::kFloat32;
    case TensorProto::DOUBLE:
      return Element::kFloat64;
    case TensorProto::FLOAT16:
      return Element::kFloat16;
    case TensorProto::BFLOAT16:
      return Element::kBFloat16;
    case TensorProto::INT8:
      return Element::kInt8;
    case TensorProto::UINT8:
      return Element::kUInt8;
    case TensorProto::INT32:
      return Element::kInt32;
    case TensorProto::INT64:
      return Element::kInt64;
    case TensorProto::BOOL:
      return Element::kBool;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "element type ", data_type,
          " is not supported: use float, double, float16, bfloat16, int8, uint8, int32, ", "int64 or bool"));
  }
}

int32_t element_to_onnx(Element element) {
  switch (element) {
    case Element::kFloat32:
      return TensorProto::FLOAT;
    case Element::kFloat64:
      return TensorProto::DOUBLE;
    case Element::kFloat16:
      return TensorProto::FLOAT16;
    case Element::kBFloat16:
      return TensorProto::BFLOAT16;
    case Element::kInt8:
      return TensorProto::INT8;
    case Element::kUInt8:
      return TensorProto::UINT8;
    case Element::kInt32:
      return TensorProto::INT32;
    case Element::kInt64:
      return TensorProto::INT64;
    case Element::kBool:
      return TensorProto::BOOL;
  }
  __builtin_unreachable();
}

absl::StatusOr<HostTensor> from_proto(const TensorProto& proto, ExternalData& external) {
  HostTensor value{proto.name(), {}, {proto.dims().begin(), proto.dims().end()}, nullptr};
  TF_ASSIGN_OR_RETURN(value.element, element_from_onnx(proto.data_type()));
  TF_ASSIGN_OR_RETURN(const int64_t elements, graph::element_count(value.shape));
  const int64_t want = elements * tensor::element_bytes(value.element);
  std::string bytes;
  if (proto.data_location() == TensorProto::EXTERNAL) {
    TF_ASSIGN_OR_RETURN(bytes, external.read(proto, want));
  } else {
    bytes = proto.has_raw_data() ? proto.raw_data() : typed_data(proto, value.element);
  }
  if (static_cast<int64_t>(bytes.size()) != want)
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", bytes.size(), " bytes of data, but its shape needs ", want));
  value.data = std::make_shared<const graph::Blob>(std::move(bytes));
  return value;
}

void to_proto(const HostTensor& value, TensorProto& proto) {
  proto.set_name(value.name);
  proto.set_data_type(element_to_onnx(value.element));
  for (int64_t extent : value.shape) proto.add_dims(extent);
  proto.set_raw_data(value.data->bytes().data(), value.data->bytes().size());
}

absl::StatusOr<HostTensor> parse_tensor_proto(std::string_view bytes) {
  TensorProto proto;
  if (bytes.size() > INT32_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return absl::InvalidArgumentError("not a whole ONNX tensor");
  ExternalData none({});
  return from_proto(proto, none);
}

std::string tensor_proto_bytes(const HostTensor& value) {
  TensorProto proto;
  to_proto(value, proto);
  return proto.SerializeAsString();
}

absl::StatusOr<HostTensor> read_tensor(const std::string& path) {
  TF_ASSIGN_OR_RETURN(std::string bytes, read_file(path));
  absl::StatusOr<HostTensor> value = ends_with(path, ".npy") ? parse_npy(bytes) : parse_tensor_proto(bytes);
  if (!value.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", value.status().message()));
  return value;
}

absl::Status write_tensor(const std::string& path, const HostTensor& value) {
  return write_file(path, ends_with(path, ".npy") ? npy_bytes(value) : tensor_proto_bytes(value));
}

}  // namespace tf::onnx
