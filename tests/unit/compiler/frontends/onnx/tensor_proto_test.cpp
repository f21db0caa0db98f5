#include "compiler/frontends/onnx/tensor_proto.h"

#include <onnx/onnx_pb.h>

#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using graph::HostTensor;
using tensor::Element;
using testing::HasSubstr;

HostTensor sample(Element element) {
  return {"t",
          element,
          {2, 3},
          std::make_shared<const graph::Blob>(graph::write_floats(element, {0, 1, 2, 3, 4, 5}))};
}

constexpr Element kElements[] = {Element::kBool,    Element::kInt8,    Element::kUInt8,    Element::kInt32,
                                 Element::kInt64,   Element::kFloat16, Element::kBFloat16, Element::kFloat32,
                                 Element::kFloat64, Element::kInt16,   Element::kUInt16,   Element::kUInt32,
                                 Element::kUInt64};

TEST(TensorFiles, RoundTripEveryElementType) {
  for (Element element : kElements) {
    const HostTensor value = sample(element);
    absl::StatusOr<HostTensor> proto = parse_tensor_proto(tensor_proto_bytes(value));
    ASSERT_TRUE(proto.ok()) << proto.status();
    EXPECT_EQ(proto->element, element);
    EXPECT_EQ(proto->shape, value.shape);
    EXPECT_EQ(proto->data->bytes(), value.data->bytes());
    if (element == Element::kBFloat16) continue;  // NumPy has none
    absl::StatusOr<HostTensor> npy = parse_npy(npy_bytes(value));
    ASSERT_TRUE(npy.ok()) << npy.status();
    EXPECT_EQ(npy->element, element);
    EXPECT_EQ(npy->shape, value.shape);
    EXPECT_EQ(npy->data->bytes(), value.data->bytes());
  }
}

// From ONNX's description of TensorProto: int16 and uint16 stand in int32_data, uint32 and uint64 in uint64_data.
TEST(TensorFiles, ReadNumbersOutsideOfRawData) {
  ::onnx::TensorProto proto;
  proto.add_dims(2);
  proto.add_int32_data(-2);
  proto.add_int32_data(40000);
  for (const auto& [type, want] : {std::pair(5, std::vector<int64_t>{-2, -25536}), {4, {65534, 40000}}}) {
    proto.set_data_type(type);
    const absl::StatusOr<HostTensor> value = parse_tensor_proto(proto.SerializeAsString());
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(graph::read_integers(value->element, value->data->bytes()), want);
  }
  proto.clear_int32_data();
  proto.add_uint64_data(4294967295);
  proto.add_uint64_data(7);
  for (const int type : {12, 13}) {
    proto.set_data_type(type);
    const absl::StatusOr<HostTensor> value = parse_tensor_proto(proto.SerializeAsString());
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(graph::read_integers(value->element, value->data->bytes()),
              (std::vector<int64_t>{4294967295, 7}));
  }
}

TEST(TensorFiles, UnpackFourBits) {
  ::onnx::TensorProto proto;
  proto.add_dims(3);
  proto.set_raw_data(std::string("\x87\xf1", 2));  // 7, 8, 1 and four bits of nothing
  for (const auto& [type, element, want] :
       {std::tuple(22, Element::kInt8, std::vector<int64_t>{7, -8, 1}), {21, Element::kUInt8, {7, 8, 1}}}) {
    proto.set_data_type(type);
    const absl::StatusOr<HostTensor> value = parse_tensor_proto(proto.SerializeAsString());
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(value->element, element);
    EXPECT_EQ(graph::read_integers(element, value->data->bytes()), want);
  }
  proto.set_raw_data("\x87");
  EXPECT_FALSE(parse_tensor_proto(proto.SerializeAsString()).ok());
}

TEST(TensorFiles, RefuseEveryTruncation) {
  const std::string npy = npy_bytes(sample(Element::kFloat32)),
                    proto = tensor_proto_bytes(sample(Element::kFloat32));
  for (size_t i = 0; i < npy.size(); ++i) EXPECT_FALSE(parse_npy(npy.substr(0, i)).ok()) << i;
  for (size_t i = 0; i < proto.size(); ++i) EXPECT_FALSE(parse_tensor_proto(proto.substr(0, i)).ok()) << i;
}

TEST(TensorFiles, RefuseFortranOrder) {
  std::string npy = npy_bytes(sample(Element::kFloat32));
  npy.replace(npy.find("False"), 5, "True ");
  EXPECT_THAT(std::string(parse_npy(npy).status().message()), HasSubstr("Fortran order"));
}

TEST(TensorFiles, NameTheFile) {
  EXPECT_THAT(std::string(read_tensor("/nonexistent.npy").status().message()), HasSubstr("/nonexistent.npy"));
}

}  // namespace
}  // namespace tf::onnx
