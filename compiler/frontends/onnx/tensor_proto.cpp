#include "compiler/frontends/onnx/tensor_proto.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <utility>

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
    case Element::kUInt64:
      return packed<uint64_t>(proto.uint64_data());
    case Element::kUInt32:
      return packed<uint32_t>(proto.uint64_data());
    case Element::kInt32:
      return packed<int32_t>(proto.int32_data());
    case Element::kInt16:
    case Element::kUInt16:
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

constexpr std::pair<Element, TensorProto::DataType> kElements[] = {
    {Element::kFloat32, TensorProto::FLOAT},   {Element::kFloat64, TensorProto::DOUBLE},
    {Element::kFloat16, TensorProto::FLOAT16}, {Element::kBFloat16, TensorProto::BFLOAT16},
    {Element::kInt8, TensorProto::INT8},       {Element::kUInt8, TensorProto::UINT8},
    {Element::kInt16, TensorProto::INT16},     {Element::kUInt16, TensorProto::UINT16},
    {Element::kInt32, TensorProto::INT32},     {Element::kUInt32, TensorProto::UINT32},
    {Element::kInt64, TensorProto::INT64},     {Element::kUInt64, TensorProto::UINT64},
    {Element::kBool, TensorProto::BOOL},
};

// Newer than the version of ONNX that we read with.
constexpr int32_t kUInt4 = 21, kInt4 = 22;

// The element that comes first is in the low half of a byte.
std::string unpacked(std::string_view bytes, int64_t elements, bool is_signed) {
  std::string values(static_cast<size_t>(elements), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const int four = static_cast<uint8_t>(bytes[i / 2]) >> (i % 2 * 4) & 15;
    values[i] = static_cast<char>(is_signed ? (four ^ 8) - 8 : four);
  }
  return values;
}

TensorProto::DataType element_to_onnx(Element element) {
  return std::ranges::find(kElements, element, &std::pair<Element, TensorProto::DataType>::first)->second;
}

}  // namespace

bool is_four_bits(int32_t data_type) {
  return data_type == kUInt4 || data_type == kInt4;
}

absl::StatusOr<Element> element_from_onnx(int32_t data_type) {
  if (is_four_bits(data_type)) return data_type == kInt4 ? Element::kInt8 : Element::kUInt8;
  for (const auto& [element, onnx] : kElements)
    if (onnx == data_type) return element;
  return absl::InvalidArgumentError(absl::StrCat("element type ", data_type,
                                                 " is not supported: use float, double, float16, bfloat16, "
                                                 "bool, or an integer of 4, 8, 16, 32 or 64 bits"));
}

namespace {

// With the raw data that `raw_data` gives, if the tensor has these.
template <typename RawData>
absl::StatusOr<HostTensor> read_proto(const TensorProto& proto, ExternalData& external, RawData raw_data) {
  HostTensor value{proto.name(), {}, {proto.dims().begin(), proto.dims().end()}, nullptr};
  TF_ASSIGN_OR_RETURN(value.element, element_from_onnx(proto.data_type()));
  TF_ASSIGN_OR_RETURN(const int64_t elements, graph::element_count(value.shape));
  const bool is_packed = is_four_bits(proto.data_type());
  const int64_t want = is_packed ? (elements + 1) / 2 : elements * tensor::element_bytes(value.element);
  std::string bytes;
  if (proto.data_location() == TensorProto::EXTERNAL) {
    TF_ASSIGN_OR_RETURN(bytes, external.read(proto, want));
  } else {
    bytes = proto.has_raw_data() ? raw_data() : typed_data(proto, value.element);
  }
  if (static_cast<int64_t>(bytes.size()) != want)
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", bytes.size(), " bytes of data, but its shape needs ", want));
  if (is_packed) bytes = unpacked(bytes, elements, value.element == Element::kInt8);
  value.data = std::make_shared<const graph::Blob>(std::move(bytes));
  return value;
}

}  // namespace

absl::StatusOr<HostTensor> from_proto(const TensorProto& proto, ExternalData& external) {
  return read_proto(proto, external, [&] { return proto.raw_data(); });
}

absl::StatusOr<HostTensor> take_from_proto(TensorProto& proto, ExternalData& external) {
  return read_proto(proto, external, [&] { return std::move(*proto.mutable_raw_data()); });
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
