// Networks that are built for ranges of sizes, against the evaluator at single sizes.

#include "tests/integration/compiler/open_sizes.h"

#include <cmath>

#include "compiler/driver/build_model.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/zoo/zoo.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/program/evaluate.h"
#include "gmock/gmock.h"
#include "tests/support/onnx/open_networks.h"
#include "tests/unit/compiler/graph/random_graph.h"

namespace tf::driver {
namespace {

using graph::HostTensor;

TEST_F(OpenSizes, ABatchOfAnyNumber) {
  graph::Network net =
      network_of(*zoo::model("mlp", {.batch_name = "batch"}), {{{tensor::var("batch"), 1, 40}}});
  net.anchors = {{{"batch", 8}}};
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t batch : {1, 3, 8, 17}) expect_right_at(net, *model, {{"batch", batch}});
}

// A class token for each image, as vision transformers have it: a constant as large as the batch, for a short range.
TEST_F(OpenSizes, AConstantForEachOfABatch) {
  onnx::ModelWriter w(13);
  w.input("x", {-1, 3, 8});
  name_extent(w, 0, 0, "n");
  w.floats("token", {1, 1, 8}, some_floats(8));
  w.ints("zero", {0});
  w.ints("rest", {1, 8});
  w.node("Shape", {"x"}, "shape");
  w.node("Gather", {"shape", "zero"}, "batch");
  onnx::ModelWriter::set(w.node("Concat", {"batch", "rest"}, "wanted"), "axis", int64_t{0});
  w.node("Expand", {"token", "wanted"}, "tokens");
  onnx::ModelWriter::set(w.node("Concat", {"tokens", "x"}, "all"), "axis", int64_t{1});
  w.node("Softmax", {"all"}, "y");
  w.output("y");
  w.output("tokens");
  const auto net = network_of(w.bytes(), {{{tensor::var("n"), 1, 8}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t n : {1, 2, 5, 8}) expect_right_at(net, *model, {{"n", n}});
}

TEST_F(OpenSizes, FeatureMapsOfAnyBatch) {
  onnx::ModelWriter w(13);
  w.input("x", {-1, 3, 12, 10});
  name_extent(w, 0, 0, "n");
  w.floats("w1", {16, 3, 3, 3}, some_floats(16 * 27));
  w.floats("w2", {24, 16, 1, 1}, some_floats(24 * 16));
  onnx::ModelWriter::set(w.node("Conv", {"x", "w1"}, "a"), "pads", std::vector<int64_t>{1, 1, 1, 1});
  w.node("Relu", {"a"}, "b");
  auto& pool = w.node("MaxPool", {"b"}, "c");
  onnx::ModelWriter::set(pool, "kernel_shape", std::vector<int64_t>{2, 2});
  onnx::ModelWriter::set(pool, "strides", std::vector<int64_t>{2, 2});
  w.node("Conv", {"c", "w2"}, "d");
  w.node("GlobalAveragePool", {"d"}, "e");
  w.node("Flatten", {"e"}, "y");
  w.output("y");
  const auto net = network_of(w.bytes(), {{{tensor::var("n"), 1, 9}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t n : {1, 2, 4, 7, 9}) expect_right_at(net, *model, {{"n", n}});
}

TEST_F(OpenSizes, AttentionOverAnyLength) {
  const auto net = network_of(onnx::attention(false), {{{tensor::var("length"), 1, 96}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t length : {1, 2, 3, 5, 8, 16, 17, 24, 48, 65, 95, 96})
    expect_right_at(net, *model, {{"length", length}});
}

TEST_F(OpenSizes, TwoAtOnce) {
  const auto net =
      network_of(onnx::attention(true), {{{tensor::var("batch"), 1, 6}}, {{tensor::var("length"), 1, 48}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t batch : {1, 2, 5, 6})
    for (const int64_t length : {1, 2, 7, 24, 48})
      expect_right_at(net, *model, {{"batch", batch}, {"length", length}});
}

std::string recurrence(const std::vector<int64_t>& extents, int axis, const std::string& name) {
  onnx::ModelWriter w(14);
  w.input("x", extents);
  name_extent(w, 0, axis, name);
  w.floats("w", {2, 32, 6}, some_floats(2 * 32 * 6));
  w.floats("r", {2, 32, 8}, some_floats(2 * 32 * 8));
  auto& lstm = w.node("LSTM", {"x", "w", "r"}, "all");
  lstm.add_output("last");
  onnx::ModelWriter::set(lstm, "hidden_size", 8);
  auto& direction = *lstm.add_attribute();
  direction.set_name("direction");
  direction.set_type(::onnx::AttributeProto::STRING);
  direction.set_s("bidirectional");
  w.output("all");
  w.output("last");
  return w.bytes();
}

// The loop's number of trips is a size.
TEST_F(OpenSizes, ARecurrenceOverAnyLength) {
  const auto net = network_of(recurrence({-1, 2, 6}, 0, "length"), {{{tensor::var("length"), 1, 50}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t length : {1, 2, 9, 50}) expect_right_at(net, *model, {{"length", length}});
}

// The state in which it begins is zeros, as many as the batch has.
TEST_F(OpenSizes, ARecurrenceOverAnyBatch) {
  const auto net = network_of(recurrence({3, -1, 6}, 1, "batch"), {{{tensor::var("batch"), 1, 8}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t batch : {1, 2, 5, 8}) expect_right_at(net, *model, {{"batch", batch}});
}

// What grows with the batch is one number, to the bit: no whole one, and a zero with a sign.
TEST_F(OpenSizes, ANumberForEachOfTheBatch) {
  for (const float number : {0.5f, -0.0f}) {
    onnx::ModelWriter w(14);
    w.input("x", {-1, 3});
    name_extent(w, 0, 0, "batch");
    w.node("Shape", {"x"}, "shape");
    auto& fill = w.node("ConstantOfShape", {"shape"}, "filled");
    auto& value = *fill.add_attribute();
    value.set_name("value");
    value.set_type(::onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(::onnx::TensorProto::FLOAT);
    value.mutable_t()->add_dims(1);
    value.mutable_t()->add_float_data(number);
    w.node("Transpose", {"filled"}, "turned");
    w.node("Transpose", {"turned"}, "back");
    w.node("Div", {"x", "back"}, "quotient");
    w.node("Tanh", {"quotient"}, "y");  // which ends at 1 or -1
    w.output("y");
    const auto net = network_of(w.bytes(), {{{tensor::var("batch"), 1, 8}}});
    const auto model = build(net);
    ASSERT_TRUE(model);
    for (const int64_t batch : {1, 3, 8}) expect_right_at(net, *model, {{"batch", batch}});
  }
}

TEST_F(OpenSizes, PartsThatAreJoinedAndHostFunctions) {
  const auto net =
      network_of(onnx::joined_parts(), {{{tensor::var("n"), 2, 60}}, {{tensor::var("m"), 2, 60}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t n : {2, 3, 16, 60})
    for (const int64_t m : {2, 7, 60}) expect_right_at(net, *model, {{"n", n}, {"m", m}});
}

void set_window(::onnx::NodeProto& node, std::vector<int64_t> kernel, std::vector<int64_t> strides,
                std::vector<int64_t> pads) {
  onnx::ModelWriter::set(node, "kernel_shape", std::move(kernel));
  onnx::ModelWriter::set(node, "strides", std::move(strides));
  onnx::ModelWriter::set(node, "pads", std::move(pads));
}

// Extents are rounded down, in one chain at each of several strides.
TEST_F(OpenSizes, StridesOverAnyHeightAndWidth) {
  onnx::ModelWriter w(13);
  w.input("x", {1, 3, -1, -1});
  name_extent(w, 0, 2, "height");
  name_extent(w, 0, 3, "width");
  w.floats("w1", {8, 3, 3, 3}, some_floats(8 * 27));
  w.floats("w2", {12, 8, 2, 2}, some_floats(12 * 32));
  w.floats("w3", {8, 12, 1, 1}, some_floats(8 * 12));
  set_window(w.node("Conv", {"x", "w1"}, "a"), {3, 3}, {2, 2}, {1, 1, 1, 1});
  w.node("Relu", {"a"}, "b");
  set_window(w.node("MaxPool", {"b"}, "c"), {3, 3}, {2, 2}, {1, 1, 1, 1});
  set_window(w.node("Conv", {"c", "w2"}, "d"), {2, 2}, {2, 1}, {0, 0, 0, 0});
  set_window(w.node("AveragePool", {"d"}, "e"), {2, 2}, {1, 2}, {0, 0, 0, 0});
  w.node("Conv", {"e", "w3"}, "f");
  w.node("GlobalAveragePool", {"f"}, "g");
  w.node("Flatten", {"g"}, "y");
  w.output("y");
  w.output("e");
  const auto net =
      network_of(w.bytes(), {{{tensor::var("height"), 17, 90}}, {{tensor::var("width"), 20, 150}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t height : {17, 18, 23, 24, 25, 33, 64, 89, 90})
    for (const int64_t width : {20, 21, 39, 40, 101, 149, 150})
      expect_right_at(net, *model, {{"height", height}, {"width", width}});
}

TEST_F(OpenSizes, MultiplesOfANumber) {
  onnx::ModelWriter w(13);
  w.input("x", {1, 4, -1, -1});
  name_extent(w, 0, 2, "height");
  name_extent(w, 0, 3, "width");
  w.floats("w1", {8, 4, 3, 3}, some_floats(8 * 36));
  w.floats("w2", {16, 8, 3, 3}, some_floats(16 * 72));
  w.floats("up", {16, 8, 2, 2}, some_floats(16 * 32));
  w.floats("w3", {3, 16, 3, 3}, some_floats(3 * 144));
  set_window(w.node("Conv", {"x", "w1"}, "a"), {3, 3}, {1, 1}, {1, 1, 1, 1});
  set_window(w.node("MaxPool", {"a"}, "b"), {2, 2}, {2, 2}, {0, 0, 0, 0});
  set_window(w.node("Conv", {"b", "w2"}, "c"), {3, 3}, {1, 1}, {1, 1, 1, 1});
  set_window(w.node("ConvTranspose", {"c", "up"}, "d"), {2, 2}, {2, 2}, {0, 0, 0, 0});
  onnx::ModelWriter::set(w.node("Concat", {"a", "d"}, "e"), "axis", 1);
  set_window(w.node("Conv", {"e", "w3"}, "y"), {3, 3}, {1, 1}, {1, 1, 1, 1});
  w.output("y");
  const auto net =
      network_of(w.bytes(), {{{tensor::var("height"), 8, 64}, 8}, {{tensor::var("width"), 16, 80}, 16}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t height : {8, 16, 40, 64})
    for (const int64_t width : {16, 48, 80})
      expect_right_at(net, *model, {{"height", height}, {"width", width}});
  EXPECT_THAT(std::string(random_inputs_at(*model, 1, {{"height", 20}}).status().message()),
              testing::HasSubstr("height from 8 to 64 in multiples of 8"));
  std::vector<HostTensor> inputs = *random_inputs_at(*model, 1, {{"height", 64}});
  inputs[0].shape[2] = 20;
  EXPECT_EQ(model->run(inputs).status().code(), absl::StatusCode::kInvalidArgument);
}

// Halves of a sequence, and frames that are thinned out before attention.
TEST_F(OpenSizes, PartsOfALength) {
  onnx::ModelWriter w(17);
  w.input("x", {1, 6, -1});
  name_extent(w, 0, 2, "time");
  w.floats("w1", {8, 6, 3}, some_floats(8 * 18));
  w.floats("w2", {8, 8, 3}, some_floats(8 * 24));
  w.ints("first", {1});
  w.ints("last", {1 << 20});
  w.ints("axis", {2});
  w.ints("step", {3});
  set_window(w.node("Conv", {"x", "w1"}, "a"), {3}, {2}, {0, 0});
  set_window(w.node("Conv", {"a", "w2"}, "b"), {3}, {2}, {1, 1});
  onnx::ModelWriter::set(w.node("Transpose", {"b"}, "keys"), "perm", std::vector<int64_t>{0, 2, 1});
  w.node("MatMul", {"keys", "b"}, "scores");
  onnx::ModelWriter::set(w.node("Softmax", {"scores"}, "weights"), "axis", -1);
  w.node("MatMul", {"weights", "keys"}, "y");
  w.node("Slice", {"x", "first", "last", "axis", "step"}, "thinned");
  w.output("y");
  w.output("thinned");
  const auto net = network_of(w.bytes(), {{{tensor::var("time"), 9, 400}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t time : {9, 10, 11, 12, 13, 50, 97, 98, 399, 400})
    expect_right_at(net, *model, {{"time", time}});
}

// New tokens attend to a cache: their positions are a part of a table that begins where the cache ends, and the mask hides
// from each token what comes after it.
TEST_F(OpenSizes, PositionsAndAMaskAfterACache) {
  constexpr int64_t kWide = 16, kNew = 3, kMost = 400;
  onnx::ModelWriter w(17);
  w.input("x", {1, kNew, kWide});
  w.input("cache", {1, -1, kWide});
  name_extent(w, 1, 1, "past");
  w.floats("positions", {kMost, kWide}, some_floats(kMost * kWide));
  w.floats("seen", {}, {0});
  w.floats("hidden", {}, {-1e4F});
  w.ints("zero", {0});
  w.ints("one", {1});
  w.ints("new", {kNew});
  w.node("Shape", {"cache"}, "shape");
  w.node("Gather", {"shape", "one"}, "past");
  w.node("Add", {"past", "new"}, "end");
  w.node("Slice", {"positions", "past", "end", "zero"}, "some_positions");
  w.node("Add", {"x", "some_positions"}, "rows");
  onnx::ModelWriter::set(w.node("Concat", {"cache", "rows"}, "all"), "axis", 1);
  for (const std::string name : {"zero", "one", "past", "end"}) w.node("Squeeze", {name}, name + "_number");
  w.node("Range", {"zero_number", "end_number", "one_number"}, "keys");
  w.node("Range", {"past_number", "end_number", "one_number"}, "queries");
  w.node("Unsqueeze", {"queries", "one"}, "columns");
  w.node("LessOrEqual", {"keys", "columns"}, "is_seen");
  w.node("Where", {"is_seen", "seen", "hidden"}, "mask");
  onnx::ModelWriter::set(w.node("Transpose", {"all"}, "turned"), "perm", std::vector<int64_t>{0, 2, 1});
  w.node("MatMul", {"rows", "turned"}, "scores");
  w.node("Add", {"scores", "mask"}, "masked");
  onnx::ModelWriter::set(w.node("Softmax", {"masked"}, "weights"), "axis", -1);
  w.node("MatMul", {"weights", "all"}, "y");
  w.output("y");
  w.output("all");
  const auto net = network_of(w.bytes(), {{{tensor::var("past"), 1, 300}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t past : {1, 2, 3, 15, 16, 100, 299, 300}) expect_right_at(net, *model, {{"past", past}});
}

TEST_F(OpenSizes, AreCheckedInARun) {
  const auto net = network_of(onnx::attention(false), {{{tensor::var("length"), 4, 40}}});
  const auto model = build(net);
  ASSERT_TRUE(model);
  EXPECT_THAT(std::string(random_inputs_at(*model, 1, {{"length", 41}}).status().message()),
              testing::HasSubstr("length from 4 to 40"));
  std::vector<HostTensor> inputs = *random_inputs_at(*model, 1, {{"length", 40}});
  inputs[0].shape[1] = 3;
  EXPECT_EQ(model->run(inputs).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tf::driver
