#pragma once
// Owns: tensors in files: ONNX TensorProto (.pb, the form of ONNX's backend tests) and NumPy (.npy). Does not
// know: models.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/frontends/onnx/external_data.h"
#include "compiler/graph/host_tensor.h"
#include "compiler/tensor/type.h"

namespace onnx {
class TensorProto;
}

namespace tf::onnx {

// By the file's name: .npy is NumPy, anything else a TensorProto. Files are not trusted. INVALID_ARGUMENT
// with the path.
absl::StatusOr<graph::HostTensor> read_tensor(const std::string& path);
absl::Status write_tensor(const std::string& path, const graph::HostTensor& value);

absl::StatusOr<graph::HostTensor> parse_npy(std::string_view bytes);
std::string npy_bytes(const graph::HostTensor& value);
absl::StatusOr<graph::HostTensor> parse_tensor_proto(std::string_view bytes);
std::string tensor_proto_bytes(const graph::HostTensor& value);

// `external`: of the tensor's model.
absl::StatusOr<graph::HostTensor> from_proto(const ::onnx::TensorProto& proto, ExternalData& external);
// The same; the tensor's data go to the result without a copy, where the file has them so.
absl::StatusOr<graph::HostTensor> take_from_proto(::onnx::TensorProto& proto, ExternalData& external);
void to_proto(const graph::HostTensor& value, ::onnx::TensorProto& proto);
// TensorProto.DataType; INVALID_ARGUMENT for types that we do not have.
absl::StatusOr<tensor::Element> element_from_onnx(int32_t data_type);
// Whether it is int4 or uint4. Their elements are those of i8 and u8, and two in a byte only in files.
bool is_four_bits(int32_t data_type);

}  // namespace tf::onnx
