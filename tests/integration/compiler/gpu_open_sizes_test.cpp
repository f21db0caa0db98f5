// Networks that are built for ranges of sizes, on the OpenCL device that there is; without one these tests are skipped. Answers
// are compared with the evaluator's at single sizes.

#include <gmock/gmock.h>

#include "compiler/runtime/gpu/gpu.h"
#include "tests/integration/compiler/open_sizes.h"
#include "tests/support/fake_cuda/use_fake_cuda.h"

namespace tf::driver {
namespace {

class GpuOpenSizes : public OpenSizes {
 protected:
  void SetUp() override {
    char error[gpu::kErrorChars];
    if (gpu::opencl_driver().count(error) < 1) GTEST_SKIP() << error;
    OpenSizes::SetUp();
  }
  std::unique_ptr<LoadedModel> build_on_device(const graph::Network& network) {
    std::unique_ptr<LoadedModel> model = build_for(*target::parse_target("opencl"), network);
    EXPECT_TRUE(model == nullptr || model->device() != nullptr);
    return model;
  }
  std::vector<std::string> on_host() const {
    std::vector<std::string> labels;
    for (const TaskReport& task : report_.tasks)
      if (task.on_host) labels.push_back(task.label + " " + task.why_on_host);
    return labels;
  }
};

// Two layers and softmax.
std::string two_layers() {
  onnx::ModelWriter w(13);
  w.input("x", {-1, 20});
  name_extent(w, 0, 0, "n");
  w.floats("w1", {20, 33}, some_floats(660));
  w.floats("w2", {33, 7}, some_floats(231));
  w.node("MatMul", {"x", "w1"}, "a");
  w.node("Relu", {"a"}, "b");
  w.node("MatMul", {"b", "w2"}, "c");
  w.node("Softmax", {"c"}, "y");
  w.output("y");
  return w.bytes();
}

// One of the sizes has kernels of its own.
TEST_F(GpuOpenSizes, ABatchOfAnyNumber) {
  graph::Network net = network_of(two_layers(), {{{tensor::var("n"), 1, 40}}});
  net.anchors = {{{"n", 8}}};
  const auto model = build_on_device(net);
  ASSERT_TRUE(model);
  EXPECT_THAT(on_host(), testing::IsEmpty());
  for (const int64_t n : {40, 1, 3, 8, 17, 17, 8, 17, 39, 40}) expect_right_at(net, *model, {{"n", n}});
  std::vector<graph::HostTensor> inputs = *random_inputs_at(*model, 1, {{"n", 40}});
  inputs[0].shape[0] = 41;
  EXPECT_EQ(model->run(inputs).status().code(), absl::StatusCode::kInvalidArgument);
  expect_right_at(net, *model, {{"n", 5}});
}

TEST_F(GpuOpenSizes, AttentionOfAnyBatchOverAnyLength) {
  const auto net =
      network_of(onnx::attention(true), {{{tensor::var("batch"), 1, 3}}, {{tensor::var("length"), 1, 48}}});
  const auto model = build_on_device(net);
  ASSERT_TRUE(model);
  EXPECT_THAT(on_host(), testing::IsEmpty());
  for (const int64_t batch : {1, 2, 3})
    for (const int64_t length : {1, 2, 7, 24, 48})
      expect_right_at(net, *model, {{"batch", batch}, {"length", length}});
}

// Of attention by blocks of keys, what is stored between launches grows with the length's square: at the anchor it is little.
TEST_F(GpuOpenSizes, ALongRangeTakesLittleWorkspace) {
  onnx::ModelWriter w(17);
  w.input("q", {2, -1, 64});
  w.input("k", {2, 64, -1});
  w.input("v", {2, -1, 64});
  for (const int input : {0, 1, 2}) name_extent(w, input, input == 1 ? 2 : 1, "n");
  w.node("MatMul", {"q", "k"}, "scores");
  onnx::ModelWriter::set(w.node("Softmax", {"scores"}, "weights"), "axis", -1);
  w.node("MatMul", {"weights", "v"}, "y");
  w.output("y");
  graph::Network net = network_of(w.bytes(), {{{tensor::var("n"), 1, 16384}}});
  net.anchors = {{{"n", 256}}};
  const auto model = build_on_device(net);
  ASSERT_TRUE(model);
  EXPECT_THAT(on_host(), testing::IsEmpty());
  EXPECT_LE(report_.workspace_bytes, uint64_t{64} << 20);
  for (const int64_t n : {1, 30, 130}) expect_right_at(net, *model, {{"n", n}});
}

// Sides take turns: what is copied between them has the sizes of the run.
TEST_F(GpuOpenSizes, HostFunctionsBetweenKernels) {
  const auto net =
      network_of(onnx::joined_parts(), {{{tensor::var("n"), 2, 40}}, {{tensor::var("m"), 2, 40}}});
  const auto model = build_on_device(net);
  ASSERT_TRUE(model);
  EXPECT_THAT(on_host(), testing::IsEmpty());
  for (const int64_t n : {2, 3, 16, 40})
    for (const int64_t m : {2, 7, 40}) expect_right_at(net, *model, {{"n", n}, {"m", m}});
}

// Rows of 512 bytes, which are joined where they are made: the second part begins where the first ends.
TEST_F(GpuOpenSizes, PartsLieBehindEachOther) {
  onnx::ModelWriter w(17);
  w.input("x", {-1, 128});
  name_extent(w, 0, 0, "n");
  w.node("Relu", {"x"}, "a");
  w.node("Exp", {"x"}, "b");
  w.ints("axis", {0});
  w.node("CumSum", {"x", "axis"}, "c");
  onnx::ModelWriter::set(w.node("Concat", {"a", "c", "b"}, "all"), "axis", 0);
  w.node("Neg", {"all"}, "negative");
  w.output("all");
  w.output("negative");
  const auto net = network_of(w.bytes(), {{{tensor::var("n"), 1, 30}}});
  const auto model = build_on_device(net);
  ASSERT_TRUE(model);
  for (const int64_t n : {1, 2, 13, 30}) expect_right_at(net, *model, {{"n", n}});
}

// Strides round extents down; the windows' sums take more than one launch.
TEST_F(GpuOpenSizes, WindowsOverAnyHeight) {
  onnx::ModelWriter w(13);
  w.input("x", {1, 3, -1, 20});
  name_extent(w, 0, 2, "height");
  w.floats("w1", {8, 3, 3, 3}, some_floats(216));
  auto& conv = w.node("Conv", {"x", "w1"}, "a");
  onnx::ModelWriter::set(conv, "strides", std::vector<int64_t>{2, 2});
  onnx::ModelWriter::set(conv, "pads", std::vector<int64_t>{1, 1, 1, 1});
  w.node("Relu", {"a"}, "b");
  w.node("GlobalAveragePool", {"b"}, "y");
  w.output("y");
  w.output("b");
  const auto net = network_of(w.bytes(), {{{tensor::var("height"), 9, 50}}});
  const auto model = build_on_device(net);
  ASSERT_TRUE(model);
  EXPECT_THAT(on_host(), testing::IsEmpty());
  for (const int64_t height : {9, 10, 11, 12, 33, 49, 50}) expect_right_at(net, *model, {{"height", height}});
}

// All of it.
TEST_F(GpuOpenSizes, WhatFindsSizesIsTheHosts) {
  onnx::ModelWriter w(17);
  w.input("x", {-1});
  name_extent(w, 0, 0, "n");
  w.node("NonZero", {"x"}, "places");
  w.node("Relu", {"x"}, "y");
  w.output("places");
  w.output("y");
  const auto net = network_of(w.bytes(), {{{tensor::var("n"), 1, 30}}});
  const auto model = build_for(*target::parse_target("opencl"), net);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->device(), nullptr);
  EXPECT_EQ(on_host().size(), report_.tasks.size());
  for (const int64_t n : {1, 30}) EXPECT_TRUE(model->run(*random_inputs_at(*model, 1, {{"n", n}})).ok());
}

// NVRTC and the driver are stand-ins here. Of runs at one size, the second is made of graphs.
class CudaOpenSizes : public GpuOpenSizes {
 protected:
  void SetUp() override {
    test::use_fake_cuda();
    OpenSizes::SetUp();
  }
};

TEST_F(CudaOpenSizes, ABatchOfAnyNumber) {
  const graph::Network net = network_of(two_layers(), {{{tensor::var("n"), 1, 40}}});
  const auto model = build_for(*target::parse_target("cuda:arch=sm_90"), net);
  ASSERT_TRUE(model);
  ASSERT_NE(model->device(), nullptr);
  EXPECT_STREQ(model->device()->driver, "cuda");
  EXPECT_THAT(on_host(), testing::IsEmpty());
  for (const int64_t n : {40, 3, 3, 3, 17, 3, 1, 1, 40}) expect_right_at(net, *model, {{"n", n}});
}

}  // namespace
}  // namespace tf::driver
