// Sequences and optionals, whose lengths are known while a model is imported.
#include <gmock/gmock.h>

#include "compiler/frontends/onnx/import.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/program/evaluate.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::onnx {
namespace {

using graph::HostTensor;
using testing::HasSubstr;
using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

HostTensor tensor_of(const Ints& shape, const std::vector<float>& values) {
  return {"", tensor::Element::kFloat32, shape, graph::make_blob(values)};
}

// Of every output, in order.
std::vector<Doubles> results_of(const ModelWriter& model, const std::vector<HostTensor>& inputs,
                                const frontends::ImportOptions& options = {}) {
  const absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, options);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const absl::StatusOr<std::vector<HostTensor>> results =
      graph::evaluate(graph::optimize(*graph, {}), inputs);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<Doubles> all;
  for (const HostTensor& result : results.value_or(std::vector<HostTensor>()))
    all.push_back(graph::read_floats(result.element, result.data->bytes()));
  return all;
}

std::string why_refused(const ModelWriter& model, const frontends::ImportOptions& options = {}) {
  return std::string(import_model(model.bytes(), {}, options).status().message());
}

::onnx::TypeProto& sequence_input(ModelWriter& model, const std::string& name, bool optional = false) {
  auto& info = *model.graph().add_input();
  info.set_name(name);
  ::onnx::TypeProto& type =
      optional ? *info.mutable_type()->mutable_optional_type()->mutable_elem_type() : *info.mutable_type();
  auto& tensor = *type.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type();
  tensor.set_elem_type(1);
  tensor.mutable_shape()->add_dim()->set_dim_param("n");
  return *info.mutable_type();
}

// A model with the sequence s of a, b and c, each of two floats.
ModelWriter of_three() {
  ModelWriter model(18);
  for (const char* name : {"a", "b", "c"}) model.input(name, {2});
  model.node("SequenceConstruct", {"a", "b", "c"}, "s");
  return model;
}
const std::vector<HostTensor>& three() {
  static const std::vector<HostTensor> kThree = {tensor_of({2}, {1, 2}), tensor_of({2}, {3, 4}),
                                                 tensor_of({2}, {5, 6})};
  return kThree;
}

TEST(Sequences, AreInsertedIntoErasedFromAndIndexed) {
  ModelWriter model = of_three();
  model.ints("first", {0});
  model.ints("last", {-1});
  model.ints("end", {3});
  model.node("SequenceInsert", {"s", "c", "first"}, "c_a_b_c");
  model.node("SequenceInsert", {"s", "a", "end"}, "a_b_c_a");
  model.node("SequenceErase", {"c_a_b_c"}, "c_a_b");
  model.node("SequenceErase", {"a_b_c_a", "first"}, "b_c_a");
  model.node("SequenceAt", {"c_a_b", "first"}, "y0");
  model.node("SequenceAt", {"c_a_b", "last"}, "y1");
  model.node("SequenceAt", {"b_c_a", "last"}, "y2");
  model.node("SequenceLength", {"b_c_a"}, "y3");
  for (const char* name : {"y0", "y1", "y2", "y3"}) model.output(name);
  EXPECT_EQ(results_of(model, three()), (std::vector<Doubles>{{5, 6}, {3, 4}, {1, 2}, {3}}));
}

TEST(Sequences, AreJoinedAndSplit) {
  ModelWriter model = of_three();
  auto& stacked = model.node("ConcatFromSequence", {"s"}, "y0");
  ModelWriter::set(stacked, "axis", -1);
  ModelWriter::set(stacked, "new_axis", 1);
  ModelWriter::set(model.node("ConcatFromSequence", {"s"}, "joined"), "axis", 0);
  auto& four = *model.graph().add_initializer();  // a scalar: parts of four, the last of two
  four.set_name("four");
  four.set_data_type(7);
  four.add_int64_data(4);
  model.node("SplitToSequence", {"joined", "four"}, "parts");
  auto& rows = model.node("SplitToSequence", {"y0"}, "rows");
  ModelWriter::set(rows, "keepdims", 0);
  model.ints("last", {-1});
  model.node("SequenceAt", {"parts", "last"}, "y1");
  model.node("SequenceAt", {"rows", "last"}, "y2");
  model.node("SequenceLength", {"parts"}, "y3");
  for (const char* name : {"y0", "y1", "y2", "y3"}) model.output(name);
  EXPECT_EQ(results_of(model, three()), (std::vector<Doubles>{{1, 3, 5, 2, 4, 6}, {5, 6}, {2, 4, 6}, {2}}));
}

TEST(Sequences, AreMapped) {
  ModelWriter model = of_three();
  auto& node = model.node("SequenceMap", {"s", "a"}, "t");
  auto& body = *node.add_attribute();
  body.set_name("body");
  body.set_type(::onnx::AttributeProto::GRAPH);
  for (const char* name : {"u", "v"}) body.mutable_g()->add_input()->set_name(name);
  auto& sum = *body.mutable_g()->add_node();
  sum.set_op_type("Add");
  sum.add_input("u");
  sum.add_input("v");
  sum.add_output("w");
  body.mutable_g()->add_output()->set_name("w");
  auto& output = *model.graph().add_output();
  output.set_name("t");
  output.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      1);
  EXPECT_EQ(results_of(model, three()), (std::vector<Doubles>{{2, 4}, {4, 6}, {6, 8}}));
}

TEST(Sequences, OfAnInputAreInputsOfTheirOwn) {
  ModelWriter model(18);
  sequence_input(model, "s");
  ModelWriter::set(model.node("ConcatFromSequence", {"s"}, "y"), "axis", 0);
  model.output("y");
  const std::vector<HostTensor> inputs = {tensor_of({1}, {1}), tensor_of({3}, {2, 3, 4})};
  EXPECT_EQ(results_of(model, inputs, {.dims = {{"s_1_dim0", 3}, {"s_0_dim0", 1}, {"s", 2}}}),
            (std::vector<Doubles>{{1, 2, 3, 4}}));
  EXPECT_EQ(results_of(model, inputs, {.shapes = {{"s.0", {1}}, {"s.1", {3}}}, .lengths = {{"s", 2}}}),
            (std::vector<Doubles>{{1, 2, 3, 4}}));
  EXPECT_THAT(why_refused(model), HasSubstr("of no known length: give it, as in --dim s=1"));
  EXPECT_THAT(why_refused(model, {.dims = {{"s", 5000}}}), HasSubstr("is outside [0, 4096]"));
}

TEST(Sequences, OfGraphsInGraphsHaveAnEnd) {
  ModelWriter model(17);
  model.input("x", {4096});
  model.node("SplitToSequence", {"x"}, "s");
  // The body that a node maps the sequence by.
  const auto body_of = [](::onnx::NodeProto& node, const char* result) -> ::onnx::GraphProto& {
    node.set_op_type("SequenceMap");
    node.add_input("s");
    auto& body = *node.add_attribute();
    body.set_name("body");
    body.set_type(::onnx::AttributeProto::GRAPH);
    body.mutable_g()->add_input()->set_name(std::string(result) + "_of");
    body.mutable_g()->add_output()->set_name(result);
    return *body.mutable_g();
  };
  ::onnx::GraphProto& outer = body_of(model.node("SequenceMap", {}, "t"), "joined");
  ::onnx::NodeProto& map = *outer.add_node();
  map.add_output("all");
  ::onnx::NodeProto& constant = *body_of(map, "one").add_node();
  constant.set_op_type("Shape");
  constant.add_input("one_of");
  constant.add_output("one");
  ::onnx::NodeProto& join = *outer.add_node();
  join.set_op_type("SequenceAt");
  join.add_input("all");
  join.add_input("first");
  join.add_output("joined");
  model.ints("first", {0});
  model.output("t");
  EXPECT_THAT(why_refused(model), HasSubstr("have too many nodes"));
}

TEST(Optionals, HoldWhatTheirInputHolds) {
  for (const bool holds : {true, false}) {
    ModelWriter model(18);
    sequence_input(model, "o", true);
    model.node("OptionalHasElement", {"o"}, "has");
    auto& branch = model.node("If", {"has"}, "y");
    for (const bool then : {true, false}) {
      auto& graph = *branch.add_attribute();
      graph.set_name(then ? "then_branch" : "else_branch");
      graph.set_type(::onnx::AttributeProto::GRAPH);
      auto& get = *graph.mutable_g()->add_node();
      get.set_op_type(then ? "OptionalGetElement" : "SequenceEmpty");
      if (then) get.add_input("o");
      get.add_output("t");
      graph.mutable_g()->add_output()->set_name("t");
    }
    model.node("SequenceLength", {"y"}, "length");
    model.output("length");
    const std::optional<int64_t> length = holds ? std::optional<int64_t>(2) : std::nullopt;
    const std::vector<HostTensor> two = {tensor_of({1}, {1}), tensor_of({1}, {2})};
    EXPECT_EQ(results_of(model, holds ? two : std::vector<HostTensor>(),
                         {.shapes = {{"o.0", {1}}, {"o.1", {1}}}, .lengths = {{"o", length}}}),
              (std::vector<Doubles>{{holds ? 2.0 : 0.0}}));
  }
}

TEST(Sequences, AreRefusedWhereTheyAreMisused) {
  struct Case {
    const char* op_type;
    std::vector<std::string> operands;
    const char* message;
  } cases[] = {{"SequenceAt", {"s", "beyond"}, "position 3 of a sequence of 3"},
               {"SequenceErase", {"s", "before"}, "position -4 of a sequence of 3"},
               {"SequenceAt", {"a", "beyond"}, "is neither a sequence nor an optional"},
               {"Relu", {"s"}, "is a sequence or an optional, not a tensor"},
               {"SequenceAt", {"s", "i"}, "must be known when the model is built"}};
  for (const Case& c : cases) {
    ModelWriter model = of_three();
    model.input("i", {}, 7);
    model.ints("beyond", {3});
    model.ints("before", {-4});
    model.node(c.op_type, c.operands, "y");
    model.output("y");
    EXPECT_THAT(why_refused(model), HasSubstr(c.message)) << c.op_type;
  }
}

}  // namespace
}  // namespace tf::onnx
