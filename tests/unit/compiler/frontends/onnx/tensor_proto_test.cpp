#include "compiler/frontends/onnx/tensor_proto.h"

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

constexpr Element kElements[] = {Element::kBool,     Element::kInt8,    Element::kUInt8,
                                 Element::kInt32,    Element::kInt64,   Element::kFloat16,
                                 Element::kBFloat16, Element::kFloat32, Element::kFloat64};

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
