// What a build worker says of a kernel's buffers, true and false.

#include "compiler/driver/model_tables.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/files/file.h"
#include "base/files/owned_fd.h"
#include "base/files/temporary_folder.h"
#include "compiler/graph/element_values.h"
#include "compiler/schedule/schedule.h"

namespace tf::driver {
namespace {

using testing::HasSubstr;

Kernel kernel_with(const std::vector<uint64_t>& sizes_bytes) {
  Kernel kernel{.entry = "k0"};
  for (const uint64_t bytes : sizes_bytes) kernel.manifest.add_ports()->set_size_bytes(bytes);
  return kernel;
}

using tunefarm::kernel::v1::Manifest;

// What a library would hold of them.
std::string written(const Weights& weights) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("weights.bin");
  const OwnedFd file(::open(path.c_str(), O_WRONLY | O_CREAT, 0600));
  EXPECT_TRUE(weights.write(file.get(), path).ok());
  std::string bytes = *read_file(path);
  EXPECT_EQ(bytes.size(), weights.bytes());
  return bytes;
}

void set_maps(tunefarm::kernel::v1::Port& port, const std::vector<schedule::AxisMap>& maps) {
  for (const schedule::AxisMap& map : maps) {
    tunefarm::kernel::v1::AxisMap& added = *port.add_maps();
    added.set_axis(map.axis);
    added.set_rows(map.rows);
    added.mutable_matrix()->Assign(map.matrix.begin(), map.matrix.end());
  }
}

// y = x[2, 3] · w[3, 4]: one call of one kernel with the ports x, w and y.
class ModelTablesOfAProduct : public testing::Test {
 protected:
  void SetUp() override {
    graph::Graph graph;
    const std::vector<int64_t> x_shape = {2, 3}, w_shape = {3, 4};
    const graph::NodeId x = graph.add_input(graph::tensor_type(tensor::Element::kFloat32, x_shape), "x");
    const graph::NodeId w = graph.add_constant(graph::tensor_type(tensor::Element::kFloat32, w_shape),
                                               graph::make_blob(values_), "w");
    absl::StatusOr<graph::NodeId> y = graph.add(graph::MatMul{}, {x, w}, "y");
    ASSERT_TRUE(y.ok()) << y.status();
    graph.outputs = {{"y", *y}};
    absl::StatusOr<graph::Program> program = graph::plan_program(std::move(graph), {});
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
    ASSERT_EQ(program_.tasks.size(), 1u);
  }

  absl::StatusOr<ModelTables> tables(const std::function<void(Manifest&)>& change) const {
    Kernel kernel = kernel_with({24, 48, 32});
    change(kernel.manifest);
    return make_tables(program_, graph::plan_memory(program_), {kernel});
  }
  std::string mistake(const std::function<void(Manifest&)>& change) const {
    const absl::Status status = tables(change).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    return std::string(status.message());
  }

  const std::vector<float> values_ = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  graph::Program program_;
};

TEST_F(ModelTablesOfAProduct, HoldTheConstantAfterItsMapsInItsLayout) {
  absl::StatusOr<ModelTables> made = tables([](Manifest& m) {
    m.mutable_ports(1)->set_layout("1,0");
    m.mutable_ports(1)->set_size_bytes(32);
    set_maps(*m.mutable_ports(1), {{0, 2, {1, 1, 1, 1, 0, -1}}});  // sums and differences of rows
  });
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string bytes = written(made->weights);
  std::vector<float> stored(8);
  ASSERT_GE(bytes.size(), 32u);
  std::memcpy(stored.data(), bytes.data(), 32);
  EXPECT_EQ(stored, (std::vector<float>{15, -8, 18, -8, 21, -8, 24, -8}));
}

// x[2, 3] · w[3, 4] of bytes.
TEST(ModelTables, HoldSumsOfAConstantBesideIt) {
  graph::Graph graph;
  const std::vector<int64_t> x_shape = {2, 3}, w_shape = {3, 4};
  const std::vector<int64_t> values = {1, 2, 3, 4, -5, 6, 7, 8, 9, -100, -100, -100};
  const graph::NodeId x = graph.add_input(graph::tensor_type(tensor::Element::kInt8, x_shape), "x");
  const graph::NodeId w = graph.add_constant(
      graph::tensor_type(tensor::Element::kInt8, w_shape),
      std::make_shared<const graph::Blob>(graph::write_integers(tensor::Element::kInt8, values)), "w");
  graph.outputs = {{"y", *graph.add(graph::MatMul{}, {x, w}, "y")}};
  const graph::Program program = *graph::plan_program(std::move(graph), {});
  const auto tables = [&](const schedule::ConstantSums& sums, uint64_t size_bytes) {
    Kernel kernel = kernel_with({6, 12, size_bytes, 32});
    kernel.manifest.mutable_ports(2)->mutable_sums()->set_port(static_cast<uint32_t>(sums.input));
    kernel.manifest.mutable_ports(2)->mutable_sums()->mutable_axes()->Assign(sums.axes.begin(),
                                                                             sums.axes.end());
    return make_tables(program, graph::plan_memory(program), {kernel});
  };
  const auto made = tables({1, {0}}, 16);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string bytes = written(made->weights);
  std::vector<int32_t> sums(4);
  ASSERT_GE(bytes.size(), 16u);
  // Each stored form of a constant starts at a multiple of the alignment.
  ASSERT_GE(bytes.size(), 64u + 16u);
  std::memcpy(sums.data(), bytes.data() + 64, 16);
  EXPECT_EQ(sums, (std::vector<int32_t>{5, -92, -90, -88}));
  const auto message = [&](const schedule::ConstantSums& s, uint64_t size_bytes) {
    return std::string(tables(s, size_bytes).status().message());
  };
  EXPECT_THAT(message({0, {0}}, 16), HasSubstr("that is not a constant"));
  EXPECT_THAT(message({7, {0}}, 16), HasSubstr("that is not a constant"));
  EXPECT_THAT(message({1, {2}}, 16), HasSubstr("sums axis 2 of the constant [3, 4]"));
  EXPECT_THAT(message({1, {0}}, 12), HasSubstr("wants 12 bytes of a constant of 16"));
}

TEST_F(ModelTablesOfAProduct, AreRefusedToAKernelWhosePortsCannotBeTrue) {
  EXPECT_THAT(mistake([](Manifest& m) { m.mutable_ports()->RemoveLast(); }), HasSubstr("2 ports"));
  EXPECT_THAT(mistake([](Manifest& m) { m.clear_ports(); }), HasSubstr("0 ports"));
  EXPECT_THAT(mistake([](Manifest& m) { m.mutable_ports(0)->set_size_bytes(28); }),
              HasSubstr("28 bytes for operand 0"));
  EXPECT_THAT(mistake([](Manifest& m) { m.mutable_ports(2)->set_size_bytes(4); }),
              HasSubstr("4 bytes for the result"));
  EXPECT_THAT(mistake([](Manifest& m) { m.mutable_ports(1)->set_size_bytes(4); }),
              HasSubstr("4 bytes of a constant of 48"));
  EXPECT_THAT(mistake([](Manifest& m) { m.mutable_ports(1)->set_layout("2,0"); }), HasSubstr("as '2,0'"));
  EXPECT_THAT(mistake([](Manifest& m) {
                m.mutable_ports(1)->set_layout("0,1,0:1000000000000");
                m.mutable_ports(1)->set_size_bytes(uint64_t{16} * 1000000000000);
              }),
              HasSubstr("16000000000000 bytes of the constant [3, 4]"));
}

TEST_F(ModelTablesOfAProduct, AreRefusedToAKernelWhoseMapsDoNotFitTheConstant) {
  const auto mapped = [&](const schedule::AxisMap& map) {
    return mistake([&](Manifest& m) { set_maps(*m.mutable_ports(1), {map}); });
  };
  EXPECT_THAT(mapped({9, 1, {1, 1, 1}}), HasSubstr("maps axis 9 of the constant [3, 4]"));
  EXPECT_THAT(mapped({-1, 1, {1, 1, 1}}), HasSubstr("axis -1"));
  EXPECT_THAT(mapped({0, 2, {1, 1, 1}}), HasSubstr("2 rows and 3 elements"));
  EXPECT_THAT(mapped({0, int64_t{1} << 62, {}}), HasSubstr("0 elements"));
  EXPECT_THAT(mistake([](Manifest& m) {  // the second no longer meets an extent of 3
                set_maps(*m.mutable_ports(1), {{0, 2, {1, 1, 1, 1, 1, 1}}, {0, 2, {1, 1, 1, 1, 1, 1}}});
              }),
              HasSubstr("2 rows and 6 elements"));
}

}  // namespace
}  // namespace tf::driver
