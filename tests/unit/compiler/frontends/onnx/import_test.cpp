#include "compiler/frontends/onnx/import.h"

#include <filesystem>
#include <fstream>

#include "base/files/file.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/program/evaluate.h"
#include "compiler/graph/program/program.h"
#include "compiler/graph/text.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::onnx {
namespace {

using testing::HasSubstr;

std::string error_of(const ModelWriter& model, const tensor::Binding& dims = {},
                     const std::string& folder = "") {
  absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {folder, folder}, {dims});
  return graph.ok() ? "imported" : std::string(graph.status().message());
}

// The type of the only output, or the error.
std::string output_type(const ModelWriter& model, const tensor::Binding& dims = {}) {
  absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, {dims});
  return graph.ok() ? graph::to_string(graph->type(graph->outputs[0].node))
                    : std::string(graph.status().message());
}

TEST(Import, FoldsShapeArithmeticIntoAReshape) {
  ModelWriter model;
  model.input("x", {2, 3, 4, 5});
  model.ints("first", {0});
  model.ints("rest", {-1});
  model.node("Shape", {"x"}, "shape");
  model.node("Gather", {"shape", "first"}, "batch");
  ModelWriter::set(model.node("Concat", {"batch", "rest"}, "target"), "axis", 0);
  model.node("Reshape", {"x", "target"}, "y");
  model.output("y");
  EXPECT_EQ(output_type(model), "f32[2, 60]");
}

TEST(Import, KeepsTheNameOfADimensionThroughFlatten) {
  ModelWriter model;
  model.input("x", {-1, 3, 4}).mutable_shape()->mutable_dim(0)->set_dim_param("batch size");
  ModelWriter::set(model.node("Flatten", {"x"}, "flat"), "axis", 1);
  model.ints("target", {0, 3, -1});
  model.node("Reshape", {"flat", "target"}, "y");
  model.output("y");
  EXPECT_EQ(output_type(model, {{"batch_size", 7}}), "f32[batch_size, 3, 4]");
  EXPECT_EQ(output_type(model, {{"batch size", 7}}), "f32[batch_size, 3, 4]");
}

// An output that is declared with that shape, as in input(): an extent below 0 is open.
::onnx::TypeProto_Tensor& declare(ModelWriter& model, const std::string& name,
                                  const std::vector<int64_t>& shape, int type = 1) {
  model.output(name);
  auto& tensor =
      *model.graph().mutable_output(model.graph().output_size() - 1)->mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const int64_t extent : shape) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (extent >= 0) dim.set_dim_value(extent);
  }
  return tensor;
}

TEST(Import, RefusesAnOutputThatIsNotOfItsDeclaredType) {
  const auto declared_as = [](const std::vector<int64_t>& shape, int type = 1) {
    ModelWriter model;
    model.input("x", {2, 3});
    model.node("Relu", {"x"}, "y");
    declare(model, "y", shape, type);
    return output_type(model);
  };
  const auto refused = [](const std::string& declared) {
    return "output 'y' is declared as " + declared +
           ", but its nodes compute f32[2, 3]: correct the declared type in the model, or export it again";
  };
  EXPECT_EQ(declared_as({2, 3}), "f32[2, 3]");
  EXPECT_EQ(declared_as({2, 3}, ::onnx::TensorProto::INT64), refused("i64[2, 3]"));
  EXPECT_EQ(declared_as({2, 3}, ::onnx::TensorProto::STRING), refused("element type 8 [2, 3]"));
  EXPECT_EQ(declared_as({2, 4}), refused("f32[2, 4]"));
  EXPECT_EQ(declared_as({-1, 4}), refused("f32[?, 4]"));
  EXPECT_EQ(declared_as({2, 3, 1}), refused("f32[2, 3, 1]"));
  ModelWriter sequence;
  sequence.input("x", {2, 3});
  sequence.node("Relu", {"x"}, "y");
  sequence.output("y");
  sequence.graph().mutable_output(0)->mutable_type()->mutable_sequence_type();
  EXPECT_EQ(output_type(sequence), refused("no tensor"));
}

TEST(Import, TakesWhatADeclaredOutputLeavesOpen) {
  ModelWriter model;
  model.input("x", {2, 3});
  for (const char* name : {"open", "unknown", "untyped", "shapeless", "bare"})
    model.node("Relu", {"x"}, name);
  declare(model, "open", {-1, 0}).mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  declare(model, "unknown", {});
  declare(model, "untyped", {2, 3}, ::onnx::TensorProto::UNDEFINED);
  declare(model, "shapeless", {}).clear_shape();
  model.output("bare");
  EXPECT_EQ(output_type(model), "f32[2, 3]");
}

TEST(Import, ComparesNoExtentsOfOutputsWhereDimensionsAreNamed) {
  const auto declared_as = [](const std::vector<int64_t>& shape) {
    ModelWriter model;
    model.input("x", {-1, 3}).mutable_shape()->mutable_dim(0)->set_dim_param("N");
    model.node("Relu", {"x"}, "y");
    declare(model, "y", shape);
    return output_type(model, {{"N", 8}});
  };
  EXPECT_EQ(declared_as({1, 3}), "f32[N, 3]") << "an exporter's example had N = 1";
  EXPECT_THAT(declared_as({8}),
              HasSubstr("output 'y' is declared as f32[8], but its nodes compute f32[N, 3]"));
}

TEST(Import, SaysWhichDimensionHasNoValue) {
  ModelWriter model;
  model.input("x", {-1, 3}).mutable_shape()->mutable_dim(0)->set_dim_param("N");
  model.node("Relu", {"x"}, "y");
  model.output("y");
  EXPECT_THAT(error_of(model), HasSubstr("as in --dim N=1"));
  EXPECT_THAT(error_of(model, {{"N", 2}, {"M", 3}}),
              HasSubstr("--dim M=3: the model has no such dimension; it has: N"));
  EXPECT_THAT(error_of(model, {{"N", 0}}), HasSubstr("outside [1, 1048576]"));
  const auto checked = [&](const tensor::Binding& dims) {
    return std::string(check_dims(model.bytes(), dims).message());
  };
  EXPECT_THAT(checked({}), HasSubstr("as in --dim N=1"));
  EXPECT_THAT(checked({{"N", 2}, {"M", 3}}), HasSubstr("it has: N"));
  model.node("NonMaxSuppression", {"x"}, "boxes");
  EXPECT_EQ(checked({{"N", 2}}), "") << "its operators are another's to judge";
  ModelWriter nameless;
  nameless.input("x", {3, -1});
  nameless.node("Relu", {"x"}, "y");
  nameless.output("y");
  EXPECT_THAT(error_of(nameless), HasSubstr("--dim x_dim1=1"));
}

TEST(Import, GivesValuesInsideTheModelAsOutputs) {
  ModelWriter model;
  model.input("x", {2});
  model.node("Relu", {"x"}, "inner");
  model.node("Exp", {"inner"}, "y");
  model.output("y");
  const auto graph = import_model(model.bytes(), {}, {.outputs = {"inner", "y", "x"}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<std::string> names;
  for (const graph::Output& output : graph->outputs) names.push_back(output.name);
  EXPECT_THAT(names, testing::ElementsAre("y", "inner", "x"));
  EXPECT_EQ(std::string(import_model(model.bytes(), {}, {.outputs = {"z"}}).status().message()),
            "--expose z: no node of the model gives a value of that name");
}

TEST(Import, TakesDimensionsFromShapesOfInputs) {
  ModelWriter model;
  model.input("x", {-1, 3});
  model.node("Relu", {"x"}, "y");
  model.output("y");
  const auto graph = import_model(model.bytes(), {}, {.shapes = {{"x", {5, 3}}}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->binding, (tensor::Binding{{"x_dim0", 5}}));
  EXPECT_FALSE(import_model(model.bytes(), {}, {.shapes = {{"y", {5, 3}}}}).ok());
}

TEST(Import, FixesInputsToWhatAUserWrites) {
  ModelWriter model;
  model.input("x", {2, 3});
  model.input("shape", {2}, ::onnx::TensorProto::INT64);
  model.input("flag", {}, ::onnx::TensorProto::BOOL);
  model.node("Reshape", {"x", "shape"}, "y");
  model.output("y");
  const auto with = [&](std::map<std::string, std::string> given) {
    const auto graph = import_model(model.bytes(), {}, {.given = std::move(given)});
    return graph.ok() ? graph::to_string(graph->type(graph->outputs[0].node))
                      : std::string(graph.status().message());
  };
  EXPECT_EQ(with({{"shape", "3,2"}}), "f32[3, 2]");
  EXPECT_EQ(with({{"shape", "-1,1"}, {"flag", "true"}}), "f32[6, 1]");
  EXPECT_EQ(with({{"shape", "6"}}), "--input shape=6: it has 1 elements, but the input is [2]");
  EXPECT_EQ(with({{"shape", "6,x"}}), "--input shape=6,x: 'x' is not a value of i64");
  EXPECT_EQ(with({{"flag", "2"}, {"shape", "3,2"}}), "--input flag=2: '2' is not a value of bool");
  EXPECT_EQ(with({{"form", "3,2"}}), "--input form=3,2: the model has no such input; it has: flag, shape, x");
}

TEST(Import, NamesTheNodeOfAnUnsupportedOperator) {
  ModelWriter model;
  model.input("x", {2});
  model.node("RegexFullMatch", {"x"}, "y");
  model.output("y");
  model.node("RegexFullMatch", {"x", "x"}, "z");
  model.node("StringNormalizer", {"x"}, "text");
  EXPECT_EQ(error_of(model),
            "node 'the_y' (RegexFullMatch): this operator is not supported; operators of this model that "
            "are not "
            "supported: RegexFullMatch (2 nodes), StringNormalizer");
  ModelWriter foreign;
  foreign.input("x", {2});
  foreign.node("Relu", {"x"}, "y").set_domain("com.example");
  foreign.output("y");
  EXPECT_THAT(error_of(foreign), HasSubstr("domain 'com.example'"));
}

// The only output of a model with the input x, f32 of that shape.
std::vector<double> computed(const ModelWriter& model, const std::vector<float>& x,
                             const std::vector<int64_t>& shape, const tensor::Binding& dims = {}) {
  absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, {dims});
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const auto outputs =
      graph::evaluate(*graph, {{"x", tensor::Element::kFloat32, shape, graph::make_blob(x)}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  return graph::read_floats((*outputs)[0].element, (*outputs)[0].data->bytes());
}

TEST(Import, AddsAConstantOfTheShapeOfANamedInput) {
  ModelWriter model;
  model.input("x", {-1, 2}).mutable_shape()->mutable_dim(0)->set_dim_param("N");
  model.node("Shape", {"x"}, "shape");
  model.node("ConstantOfShape", {"shape"}, "zeros");
  model.node("Add", {"x", "zeros"}, "y");
  model.output("y");
  EXPECT_EQ(computed(model, {1, 2, 3, 4, 5, 6}, {3, 2}, {{"N", 3}}), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(Import, ReducesNothingWithoutDividingByIt) {
  ModelWriter model;
  auto& none = *model.graph().add_initializer();
  none.set_name("none");
  none.set_data_type(::onnx::TensorProto::INT64);
  none.add_dims(0);
  none.add_dims(3);
  ModelWriter::set(model.node("ReduceMean", {"none"}, "y"), "axes", std::vector<int64_t>{0});
  model.output("y");
  absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(graph::plan_program(*graph, {}).ok());
  const auto outputs = graph::evaluate(*graph, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].data->as<int64_t>(), testing::ElementsAre(0, 0, 0));
}

TEST(Import, ShowsNoControlCharactersOfNames) {
  ModelWriter model;
  model.input("x\x1b[31m", {-1}).mutable_shape()->mutable_dim(0)->set_dim_param("n\n\x1b[2J");
  model.node("Relu", {"x\x1b[31m"}, "y");
  model.output("y");
  EXPECT_THAT(error_of(model), HasSubstr("dimension 'n??[2J' (axis 0 of input 'x?[31m')"));
  EXPECT_THAT(error_of(model, {{"n\n\x1b[2J", 1}, {"m", 1}}), HasSubstr("it has: n??[2J"));
}

TEST(Import, ClipsWholeNumbersByExactBounds) {
  ModelWriter model;
  model.input("x", {2}, ::onnx::TensorProto::INT64);
  for (const char* name : {"low", "high"}) {
    model.ints(name, {name[0] == 'l' ? (int64_t{1} << 60) + 1 : INT64_MAX});
    model.graph().mutable_initializer(model.graph().initializer_size() - 1)->clear_dims();
  }
  model.node("Clip", {"x", "low", "high"}, "y");
  model.output("y");
  absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph::to_string(*graph), HasSubstr("1152921504606846977"));
}

TEST(Import, NormalizesHalvesInFloat32) {
  ModelWriter model(17);
  model.input("x", {1, 4});
  ModelWriter::set(model.node("Cast", {"x"}, "half"), "to", ::onnx::TensorProto::FLOAT16);
  model.floats("ones", {4}, {1, 1, 1, 1});
  ModelWriter::set(model.node("Cast", {"ones"}, "scale"), "to", ::onnx::TensorProto::FLOAT16);
  auto& norm = model.node("LayerNormalization", {"half", "scale"}, "y");
  norm.add_output("mean");
  norm.add_output("inverse");
  for (const char* name : {"y", "mean", "inverse"}) model.output(name);
  absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<std::string> types;
  for (const graph::Output& output : graph->outputs)
    types.push_back(graph::to_string(graph->type(output.node)));
  EXPECT_THAT(types, testing::ElementsAre("f16[1, 4]", "f32[1, 1]", "f32[1, 1]"));
  for (const graph::Node& node : graph->nodes) {
    // Squares of 600 are beyond what f16 holds.
    if (graph::as<graph::Reduce>(node)) {
      EXPECT_EQ(node.type.element, tensor::Element::kFloat32);
    }
  }
  EXPECT_EQ(computed(model, {0, 600, 0, 600}, {1, 4}), (std::vector<double>{-1, 1, -1, 1}));
}

TEST(Import, RefusesDataThatDoesNotFillItsShape) {
  ModelWriter model;
  model.floats("w", {4}, {1, 2, 3});
  model.node("Relu", {"w"}, "y");
  model.output("y");
  EXPECT_THAT(error_of(model), HasSubstr("initializer 'w': it has 12 bytes of data, but its shape needs 16"));
  ModelWriter negative;
  negative.floats("w", {-4}, {});
  negative.output("w");
  EXPECT_THAT(error_of(negative), HasSubstr("negative size"));
  ModelWriter huge;
  huge.floats("w", {int64_t{1} << 40, int64_t{1} << 40}, {});
  huge.output("w");
  EXPECT_THAT(error_of(huge), HasSubstr("2^43"));
  ModelWriter bomb;
  bomb.ints("shape", {int64_t{1} << 20, int64_t{1} << 20});
  bomb.node("ConstantOfShape", {"shape"}, "y");
  bomb.output("y");
  EXPECT_THAT(error_of(bomb), HasSubstr("which exceeds the limit"));
}

TEST(Import, KeepsTheSizeOfANamedDimensionSmall) {
  ModelWriter model;
  model.input("x0", {-1}).mutable_shape()->mutable_dim(0)->set_dim_param("n");
  // Written out, the last extent has 2^40 terms.
  for (int i = 0; i < 40; ++i) {
    const std::string x = "x" + std::to_string(i);
    ModelWriter::set(model.node("Concat", {x, x}, "x" + std::to_string(i + 1)), "axis", 0);
  }
  model.output("x40");
  EXPECT_EQ(output_type(model, {{"n", 3}}), "f32[3298534883328]");
}

TEST(Import, RefusesBadAttributesByName) {
  auto conv = [](const char* name, const std::vector<int64_t>& values) {
    ModelWriter model;
    model.input("x", {1, 2, 6, 6});
    model.floats("w", {2, 2, 3, 3}, std::vector<float>(36, 0.5f));
    ModelWriter::set(model.node("Conv", {"x", "w"}, "y"), name, values);
    model.output("y");
    return error_of(model);
  };
  EXPECT_EQ(conv("strides", {2, 2}), "imported");
  EXPECT_THAT(conv("strides", {0, 1}), HasSubstr("node 'the_y' (Conv): attribute 'strides' has an entry 0"));
  EXPECT_THAT(conv("pads", {-1, 0, 0, 0}), HasSubstr("attribute 'pads' has an entry -1"));
  EXPECT_THAT(conv("dilations", {1}), HasSubstr("attribute 'dilations' has 1 entries, not 2"));
  EXPECT_THAT(conv("dilations", {INT64_MAX, 1}), HasSubstr("has an entry"));
  EXPECT_THAT(conv("group", {1}), HasSubstr("attribute 'group' is not a whole number"));
  EXPECT_THAT(conv("kernel_shape", {5, 5}), HasSubstr("kernel_shape differs from the shape of the weights"));
}

TEST(Import, ReadsSoftmaxByItsOperatorSet) {
  for (int opset : {11, 13}) {
    ModelWriter model(opset);
    model.input("x", {2, 3, 4});
    ModelWriter::set(model.node("Softmax", {"x"}, "y"), "axis", 1);
    model.output("y");
    absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, {});
    ASSERT_TRUE(graph.ok()) << graph.status();
    // The old form sees [2, 12], so it stands between two reshapes.
    EXPECT_EQ(graph->nodes.size(), opset < 13 ? 4u : 2u) << graph::to_string(*graph);
  }
}

}  // namespace
}  // namespace tf::onnx
