// What a model must be like, whatever its operators compute: operators and attributes that its operator set
// has, names that are given once, no circles.
#include <gmock/gmock.h>

#include <functional>

#include "compiler/frontends/onnx/attributes.h"
#include "compiler/frontends/onnx/import.h"
#include "compiler/graph/program/evaluate.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::onnx {
namespace {

using ::onnx::AttributeProto;
using testing::HasSubstr;

absl::Status imported(const ModelWriter& model) {
  return import_model(model.bytes(), {}, {}).status();
}

void expect_invalid(const ModelWriter& model, const std::string& message) {
  const absl::Status status = imported(model);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << message << ": " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
}

// One node of x, f32[2, 3], that gives y.
ModelWriter one_node(int opset, const std::string& op,
                     const std::function<void(::onnx::NodeProto&)>& change) {
  ModelWriter model(opset);
  model.input("x", {2, 3});
  change(model.node(op, {"x"}, "y"));
  model.output("y");
  return model;
}

void add_float(::onnx::NodeProto& node, const std::string& name, float value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::FLOAT);
  attribute.set_f(value);
}

TEST(ModelForm, IsOfAnOperatorSetThatIsKnown) {
  const auto nothing = [](::onnx::NodeProto&) {};
  for (const int opset : {1, 13, 24, 25, 26})
    EXPECT_TRUE(imported(one_node(opset, "Neg", nothing)).ok()) << opset;
  expect_invalid(one_node(27, "Neg", nothing), "the model is of operator set 27; 1 to 26 are supported");
  expect_invalid(one_node(0, "Neg", nothing), "the model is of operator set 0; 1 to 26 are supported");
  ModelWriter unnamed = one_node(13, "Neg", nothing);
  unnamed.model.clear_opset_import();
  expect_invalid(unnamed, "the model does not say of which operator set it is: opset_import is empty");
  unnamed.model.set_ir_version(2);  // which has no operator sets
  EXPECT_TRUE(imported(unnamed).ok());
}

TEST(ModelForm, TakesAttributesOnlyInTheSetsThatHaveThem) {
  const auto bounds = [](::onnx::NodeProto& node) {
    add_float(node, "min", 0);
    add_float(node, "max", 1);
  };
  EXPECT_TRUE(imported(one_node(10, "Clip", bounds)).ok());
  expect_invalid(
      one_node(13, "Clip", bounds),
      "node 'the_y' (Clip): attribute 'min' does not exist in operator set 13; it existed up to set 10");
  const auto axes = [](::onnx::NodeProto& node) { ModelWriter::set(node, "axes", std::vector<int64_t>{1}); };
  EXPECT_TRUE(imported(one_node(17, "ReduceMean", axes)).ok());
  expect_invalid(one_node(18, "ReduceMean", axes), "attribute 'axes' does not exist in operator set 18");
  EXPECT_TRUE(imported(one_node(12, "ReduceSum", axes)).ok());
  expect_invalid(one_node(13, "ReduceSum", axes), "attribute 'axes' does not exist in operator set 13");
  expect_invalid(one_node(14, "Shape", [](::onnx::NodeProto& node) { ModelWriter::set(node, "start", 1); }),
                 "attribute 'start' does not exist in operator set 14; it exists from set 15 on");
  expect_invalid(one_node(13, "Relu", [](::onnx::NodeProto& node) { ModelWriter::set(node, "slope", 1); }),
                 "attribute 'slope' does not exist in operator set 13");
  // The first operator sets told which operands may be overwritten.
  const auto consumed = [](::onnx::NodeProto& node) {
    ModelWriter::set(node, "consumed_inputs", std::vector<int64_t>{0});
  };
  EXPECT_TRUE(imported(one_node(5, "Relu", consumed)).ok());
  expect_invalid(one_node(6, "Relu", consumed), "'consumed_inputs' does not exist in operator set 6");
}

TEST(ModelForm, RefusesAttributesOfAnotherTypeAndThoseThatAreGivenTwice) {
  expect_invalid(one_node(13, "Softmax", [](::onnx::NodeProto& node) { add_float(node, "axis", 1); }),
                 "attribute 'axis' is not a whole number");
  expect_invalid(
      one_node(13, "LeakyRelu", [](::onnx::NodeProto& node) { ModelWriter::set(node, "alpha", 1); }),
      "attribute 'alpha' is not a floating-point number");
  expect_invalid(one_node(13, "Softmax",
                          [](::onnx::NodeProto& node) {
                            ModelWriter::set(node, "axis", 0);
                            ModelWriter::set(node, "axis", 1);
                          }),
                 "attribute 'axis' is given twice");
}

TEST(ModelForm, RefusesOperatorsThatTheSetDoesNotHaveYet) {
  const auto nothing = [](::onnx::NodeProto&) {};
  EXPECT_TRUE(imported(one_node(20, "Gelu", nothing)).ok());
  expect_invalid(one_node(19, "Gelu", nothing),
                 "(Gelu): operator set 19 does not have this operator; set 20 is the first");
}

TEST(ModelForm, RefusesNamesThatAreGivenTwice) {
  ModelWriter inputs;
  inputs.input("x", {2});
  inputs.input("x", {3});
  inputs.node("Relu", {"x"}, "y");
  inputs.output("y");
  expect_invalid(inputs, "two inputs are called 'x'");

  ModelWriter initializers;
  initializers.input("x", {2});
  initializers.floats("w", {2}, {1, 2});
  initializers.floats("w", {2}, {3, 4});
  initializers.node("Add", {"x", "w"}, "y");
  initializers.output("y");
  expect_invalid(initializers, "two initializers are called 'w'");

  ModelWriter nodes;
  nodes.input("x", {2});
  nodes.node("Relu", {"x"}, "y");
  nodes.node("Exp", {"x"}, "y");
  nodes.output("y");
  expect_invalid(nodes, "node 'the_y' (Exp): its output 'y' is also one of node 'the_y' (Relu)");

  ModelWriter over_input;
  over_input.input("x", {2});
  over_input.node("Relu", {"x"}, "x");
  over_input.output("x");
  expect_invalid(over_input, "its output 'x' is also an input or an initializer of the model");

  ModelWriter over_initializer;
  over_initializer.input("x", {2});
  over_initializer.floats("w", {2}, {1, 2});
  over_initializer.node("Add", {"x", "w"}, "w");
  over_initializer.output("w");
  expect_invalid(over_initializer, "its output 'w' is also an input or an initializer of the model");

  ModelWriter one_node_twice;
  one_node_twice.input("x", {4});
  one_node_twice.node("Split", {"x"}, "y").add_output("y");
  one_node_twice.output("y");
  expect_invalid(one_node_twice, "its output 'y' is also one of node 'the_y' (Split)");

  ModelWriter outputs;
  outputs.input("x", {4});
  outputs.node("Relu", {"x"}, "y");
  outputs.output("y");
  outputs.output("y");
  expect_invalid(outputs, "two outputs are called 'y'");
}

TEST(ModelForm, LetsAnInitializerBeAnInputsDefault) {
  ModelWriter model;
  model.input("x", {2});
  model.input("w", {2});
  model.floats("w", {2}, {1, 2});
  model.node("Add", {"x", "w"}, "y");
  model.output("y");
  EXPECT_TRUE(imported(model).ok()) << imported(model);
}

TEST(ModelForm, SortsNodesAndRefusesACircle) {
  ModelWriter unsorted;
  unsorted.input("x", {2});
  unsorted.node("Neg", {"c"}, "y");
  unsorted.node("Exp", {"b"}, "c");
  unsorted.node("Relu", {"x"}, "b");
  unsorted.output("y");
  const absl::StatusOr<graph::Graph> graph = import_model(unsorted.bytes(), {}, {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto outputs = graph::evaluate(
      *graph, {{"x", tensor::Element::kFloat32, {2}, graph::make_blob(std::vector<float>{-1, 0})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].data->as<float>(), testing::ElementsAre(-1, -1));

  ModelWriter circle;
  circle.input("x", {2});
  circle.node("Add", {"x", "c"}, "b");
  circle.node("Relu", {"b"}, "c");
  circle.node("Neg", {"c"}, "y");
  circle.output("y");
  expect_invalid(circle, "node 'the_b' (Add): it depends on its own result");
}

TEST(ModelForm, NamesAnOutputThatIsNotSupportedOrThatNothingMakes) {
  ModelWriter unsupported;
  unsupported.input("x", {1, 2, 4, 4});
  unsupported.node("Relu", {"x"}, "y").add_output("z");
  unsupported.output("y");
  const absl::Status status = imported(unsupported);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("its output 1, 'z', is not supported"));

  ModelWriter nowhere;
  nowhere.input("x", {2});
  nowhere.node("Relu", {"x"}, "y");
  nowhere.output("z");
  expect_invalid(nowhere, "output 'z' is not produced by any node");

  ModelWriter unknown;
  unknown.input("x", {2});
  unknown.node("Add", {"x", "w"}, "y");
  unknown.output("y");
  expect_invalid(unknown, "reads 'w', which no earlier node produces");
}

}  // namespace
}  // namespace tf::onnx
