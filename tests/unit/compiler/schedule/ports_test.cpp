#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ops/builder.h"
#include "compiler/ops/matmul.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::schedule {
namespace {

using tensor::imm;
using ::testing::HasSubstr;

// y[8, 8] = x[8, 8] · w[8, 8], w constant: one input and one output are ports.
tensor::Workload product() {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(8), imm(8)});
  auto w = b.constant("w", tensor::Element::kFloat32, {imm(8), imm(8)});
  return *b.finish({ops::matmul(b, x, w)});
}

TEST(Ports, AreRowMajorWithoutTexts) {
  const absl::StatusOr<tensor::PortLayouts> ports = parse_ports(product(), {}, {});
  ASSERT_TRUE(ports.ok()) << ports.status();
  EXPECT_TRUE(ports->input(product(), 0).is_row_major());
  EXPECT_TRUE(ports->output(0).is_row_major());
}

TEST(Ports, TakeATextEach) {
  const absl::StatusOr<tensor::PortLayouts> ports = parse_ports(product(), {"1,0"}, {"0,1,1:4"});
  ASSERT_TRUE(ports.ok()) << ports.status();
  EXPECT_EQ(ports->input(product(), 0).text(), "1,0");
  EXPECT_TRUE(ports->input(product(), 1).is_row_major()) << "a constant's is the schedule's business";
  EXPECT_EQ(ports->output(0).text(), "0,1,1:4");
}

TEST(Ports, AreNotMoreThanTheWorkloadHas) {
  const auto mistake = [](const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    return std::string(parse_ports(product(), inputs, outputs).status().message());
  };
  EXPECT_THAT(mistake({"0,1", "0,1"}, {}), HasSubstr("2 layouts for 1 inputs"));
  EXPECT_THAT(mistake({}, {"0,1", "0,1"}), HasSubstr("2 layouts for 1 outputs"));
  EXPECT_NE(mistake({"0,1,2"}, {}), "");
}

}  // namespace
}  // namespace tf::schedule
