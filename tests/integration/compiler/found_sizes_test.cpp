// Networks whose sizes depend on data, against plain C++.

#include <cmath>
#include <functional>

#include "compiler/driver/build_model.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/graph/element_values.h"
#include "gmock/gmock.h"
#include "tests/integration/compiler/open_sizes.h"

namespace tf::driver {
namespace {

using graph::HostTensor;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

graph::Network network(const onnx::ModelWriter& writer, std::vector<graph::NamedDimension> dims = {}) {
  return network_of(writer.bytes(), std::move(dims));
}

HostTensor floats(const Ints& shape, const Floats& values) {
  return {"", tensor::Element::kFloat32, shape, graph::make_blob(values)};
}
Floats floats_of(const HostTensor& tensor) {
  const std::vector<double> values = graph::read_floats(tensor.element, tensor.data->bytes());
  return {values.begin(), values.end()};
}
Ints ints_of(const HostTensor& tensor) {
  return graph::read_integers(tensor.element, tensor.data->bytes());
}

// From -0.5 to 0.5, another sequence for each seed.
Floats seeded_floats(size_t count, size_t seed = 0) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(((i + seed) * 37 + seed * 11) % 101) / 101 - 0.5f;
  return values;
}

class FoundSizes : public BuiltModels {
 protected:
  static std::vector<HostTensor> outputs(LoadedModel& model, const std::vector<HostTensor>& inputs) {
    absl::StatusOr<std::vector<HostTensor>> got = model.run(inputs);
    EXPECT_TRUE(got.ok()) << got.status();
    return got.ok() ? *std::move(got) : std::vector<HostTensor>(8);
  }
};

// Rows with a score above a threshold, and from there on a kernel each, a sum, and the shape itself.
onnx::ModelWriter rows_above(float threshold) {
  onnx::ModelWriter w(13);
  w.input("x", {40, 6});
  w.input("scores", {40});
  w.floats("threshold", {}, {threshold});
  w.floats("weights", {6, 5}, seeded_floats(30));
  w.ints("zero", {0});
  w.node("Greater", {"scores", "threshold"}, "mask");
  w.node("NonZero", {"mask"}, "places");
  w.node("Squeeze", {"places", "zero"}, "list");
  w.node("Gather", {"x", "list"}, "rows");
  w.node("MatMul", {"rows", "weights"}, "product");
  w.node("Relu", {"product"}, "y");
  onnx::ModelWriter::set(w.node("ReduceSum", {"y", "zero"}, "sum"), "keepdims", int64_t{0});
  w.node("Shape", {"y"}, "shape");
  for (const char* name : {"y", "sum", "shape"}) w.output(name);
  return w;
}

TEST_F(FoundSizes, RowsThatAMaskSelects) {
  const auto model = build(network(rows_above(0)));
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->dims().empty());  // no input has one
  const Floats x = seeded_floats(240, 5), weights = seeded_floats(30);
  for (const float bias : {0.0f, -1.0f, 1.0f, -0.49f}) {  // some rows, none, all, one
    Floats scores = seeded_floats(40, 9);
    for (float& score : scores) score += bias;
    Floats want, sums(5);
    for (size_t row = 0; row < 40; ++row) {
      for (size_t column = 0; column < 5 && scores[row] > 0; ++column) {
        float sum = 0;
        for (size_t k = 0; k < 6; ++k) sum += x[row * 6 + k] * weights[k * 5 + column];
        want.push_back(std::max(sum, 0.0f));
        sums[column] += want.back();
      }
    }
    const auto got = outputs(*model, {floats({40, 6}, x), floats({40}, scores)});
    const auto count = static_cast<int64_t>(want.size() / 5);
    EXPECT_EQ(got[0].shape, Ints({count, 5}));
    EXPECT_THAT(floats_of(got[0]), Pointwise(FloatNear(1e-5f), want));
    EXPECT_THAT(floats_of(got[1]), Pointwise(FloatNear(1e-5f), sums));
    EXPECT_THAT(ints_of(got[2]), ElementsAre(count, 5));
  }
}

// What is selected of a selection, joined with both and the whole; a limit of seven rows.
TEST_F(FoundSizes, SelectionsOfSelections) {
  onnx::ModelWriter w(13);
  w.input("x", {24, 16});
  w.floats("zero", {}, {0});
  w.ints("axis0", {0});
  w.ints("axis1", {1});
  w.ints("limit", {7});
  w.ints("column", {0});
  w.floats("half", {}, {0.2f});
  onnx::ModelWriter::set(w.node("Gather", {"x", "column"}, "first"), "axis", int64_t{1});
  w.node("Squeeze", {"first", "axis1"}, "flat");
  w.node("Greater", {"flat", "zero"}, "mask");
  onnx::ModelWriter::set(w.node("Compress", {"x", "mask"}, "positive"), "axis", int64_t{0});
  onnx::ModelWriter::set(w.node("Gather", {"positive", "column"}, "again"), "axis", int64_t{1});
  w.node("Squeeze", {"again", "axis1"}, "level");
  w.node("Greater", {"level", "half"}, "high");
  onnx::ModelWriter::set(w.node("Compress", {"positive", "high"}, "highest"), "axis", int64_t{0});
  onnx::ModelWriter::set(w.node("Concat", {"highest", "positive", "x"}, "all"), "axis", int64_t{0});
  w.node("Slice", {"positive", "axis0", "limit", "axis0"}, "few");
  w.output("all");
  w.output("few");
  const auto model = build(network(w));
  ASSERT_TRUE(model);
  for (const size_t seed : {1, 2, 3, 60}) {
    Floats x = seeded_floats(24 * 16, seed);
    if (seed == 60)
      for (float& value : x) value = -1;
    Floats highest, positive;
    for (size_t row = 0; row < 24; ++row) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * 16);
      if (*begin > 0) positive.insert(positive.end(), begin, begin + 16);
      if (*begin > 0.2f) highest.insert(highest.end(), begin, begin + 16);
    }
    Floats all = highest, few = positive;
    all.insert(all.end(), positive.begin(), positive.end());
    all.insert(all.end(), x.begin(), x.end());
    few.resize(std::min<size_t>(few.size(), 7 * 16));
    const auto got = outputs(*model, {floats({24, 16}, x)});
    EXPECT_EQ(got[0].shape, Ints({static_cast<int64_t>(all.size() / 16), 16}));
    EXPECT_EQ(floats_of(got[0]), all);
    EXPECT_EQ(got[1].shape, Ints({static_cast<int64_t>(few.size() / 16), 16}));
    EXPECT_EQ(floats_of(got[1]), few);
  }
}

// A batch of any number, of which a run finds elements; both sizes are in one kernel.
TEST_F(FoundSizes, InABatchOfAnyNumber) {
  onnx::ModelWriter w(13);
  w.input("x", {-1, 10});
  auto& type = *w.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
  type.mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  w.floats("zero", {}, {0});
  w.node("Greater", {"x", "zero"}, "mask");
  w.node("NonZero", {"mask"}, "places");
  onnx::ModelWriter::set(w.node("Transpose", {"places"}, "pairs"), "perm", std::vector<int64_t>{1, 0});
  w.node("GatherND", {"x", "pairs"}, "values");
  w.node("Add", {"values", "values"}, "y");
  w.output("y");
  w.output("pairs");
  graph::Network net = network(w, {{{tensor::var("batch"), 1, 9}}});
  net.anchors = {{{"batch", 4}}};
  const auto model = build(net);
  ASSERT_TRUE(model);
  for (const int64_t batch : {1, 2, 4, 9}) {
    const Floats x = seeded_floats(static_cast<size_t>(batch * 10), 4);
    Floats want;
    Ints pairs;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!(x[i] > 0)) continue;
      want.push_back(2 * x[i]);
      pairs.insert(pairs.end(), {static_cast<int64_t>(i / 10), static_cast<int64_t>(i % 10)});
    }
    const auto got = outputs(*model, {floats({batch, 10}, x)});
    EXPECT_EQ(got[0].shape, Ints({static_cast<int64_t>(want.size())}));
    EXPECT_EQ(floats_of(got[0]), want);
    EXPECT_EQ(ints_of(got[1]), pairs);
  }
}

// Labels of what each class finds: constants as long as a run says.
TEST_F(FoundSizes, LabelsOfEachClass) {
  onnx::ModelWriter w(13);
  w.input("scores", {3, 12});
  w.floats("zero", {}, {0});
  w.ints("axis", {0});
  std::vector<std::string> labels;
  for (int64_t label = 0; label < 3; ++label) {
    const std::string name = std::to_string(label);
    w.ints("number" + name, {label});
    w.node("Gather", {"scores", "number" + name}, "row" + name);
    w.node("Squeeze", {"row" + name, "axis"}, "flat" + name);
    w.node("Greater", {"flat" + name, "zero"}, "mask" + name);
    onnx::ModelWriter::set(w.node("Compress", {"flat" + name, "mask" + name}, "found" + name), "axis",
                           int64_t{0});
    w.node("Shape", {"found" + name}, "shape" + name);
    w.node("Expand", {"number" + name, "shape" + name}, "label" + name);
    labels.push_back("label" + name);
  }
  onnx::ModelWriter::set(w.node("Concat", labels, "labels"), "axis", int64_t{0});
  w.output("labels");
  const auto model = build(network(w));
  ASSERT_TRUE(model);
  const Floats scores = seeded_floats(36, 7);
  Ints want;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > 0) want.push_back(static_cast<int64_t>(i / 12));
  EXPECT_EQ(ints_of(outputs(*model, {floats({3, 12}, scores)})[0]), want);
}

// A range as long as what is found, as an output and in a product; how many as a float; a branch on nothing found.
TEST_F(FoundSizes, CountsAndRanges) {
  onnx::ModelWriter w(13);
  w.input("x", {20});
  w.floats("zero", {}, {0});
  w.node("Greater", {"x", "zero"}, "mask");
  onnx::ModelWriter::set(w.node("Compress", {"x", "mask"}, "found"), "axis", int64_t{0});
  w.node("Size", {"found"}, "count");
  auto& none = *w.graph().add_initializer();
  none.set_name("none");
  none.set_data_type(::onnx::TensorProto::INT64);
  none.add_int64_data(0);
  auto& one = *w.graph().add_initializer();
  one = none;
  one.set_name("one");
  one.set_int64_data(0, 1);
  w.node("Range", {"none", "count", "one"}, "range");
  onnx::ModelWriter::set(w.node("Cast", {"range"}, "numbers"), "to", int64_t{1});
  w.node("Mul", {"numbers", "found"}, "y");
  onnx::ModelWriter::set(w.node("Cast", {"count"}, "length"), "to", int64_t{1});
  for (const char* name : {"range", "y", "length"}) w.output(name);
  const auto model = build(network(w));
  ASSERT_TRUE(model);
  for (const float bias : {0.0f, -1.0f, 1.0f}) {
    Floats x = seeded_floats(20, 3), want;
    Ints range;
    for (float& value : x) value += bias;
    for (const float value : x) {
      if (!(value > 0)) continue;
      want.push_back(static_cast<float>(range.size()) * value);
      range.push_back(static_cast<int64_t>(range.size()));
    }
    const auto got = outputs(*model, {floats({20}, x)});
    EXPECT_EQ(ints_of(got[0]), range);
    EXPECT_EQ(floats_of(got[1]), want);
    EXPECT_THAT(floats_of(got[2]), ElementsAre(static_cast<float>(range.size())));
  }
}

// The branch on nothing found gives a value that the other one would not.
TEST_F(FoundSizes, AreRefusedWhereFindingNothingIsSpecial) {
  onnx::ModelWriter nothing(13), something(13);
  nothing.floats("minus", {}, {-7});
  nothing.node("Identity", {"minus"}, "a");
  nothing.output("a");
  onnx::ModelWriter::set(something.node("ReduceMax", {"found"}, "b"), "keepdims", int64_t{0});
  something.output("b");
  onnx::ModelWriter w(13);
  w.input("x", {20});
  w.floats("zero", {}, {0});
  w.node("Greater", {"x", "zero"}, "mask");
  onnx::ModelWriter::set(w.node("Compress", {"x", "mask"}, "found"), "axis", int64_t{0});
  w.node("Size", {"found"}, "count");
  onnx::ModelWriter::set(w.node("Cast", {"count"}, "some"), "to", int64_t{9});
  auto& branch = w.node("If", {"some"}, "y");
  for (const auto& [name, body] : {std::pair{"then_branch", &something}, {"else_branch", &nothing}}) {
    auto& attribute = *branch.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = body->graph();
  }
  w.output("y");
  EXPECT_THAT(std::string(graph::plan_network(network(w), {}).status().message()),
              HasSubstr("the network is another one where it finds found=0"));
}

// What a network computes of how many are found, where few are special.
TEST_F(FoundSizes, AreRefusedWhereAFewAreSpecial) {
  const auto refusal = [](const std::function<void(onnx::ModelWriter&)>& add) {
    onnx::ModelWriter w(13);
    w.input("x", {20});
    w.floats("zero", {}, {0});
    w.ints("none", {0});
    w.ints("one", {1});
    w.ints("two", {2});
    w.node("Greater", {"x", "zero"}, "mask");
    onnx::ModelWriter::set(w.node("Compress", {"x", "mask"}, "found"), "axis", int64_t{0});
    w.node("Shape", {"found"}, "count");
    add(w);
    w.output("y");
    return std::string(graph::plan_network(network(w), {}).status().message());
  };
  const std::string special = "the network is another one where it finds found=0";
  EXPECT_THAT(refusal([](auto& w) { w.node("Max", {"count", "one"}, "y"); }), HasSubstr(special));
  EXPECT_THAT(refusal([](auto& w) {
                w.node("Equal", {"count", "none"}, "nothing");
                w.node("Where", {"nothing", "one", "two"}, "y");
              }),
              HasSubstr(special));
  EXPECT_THAT(refusal([](auto& w) {
                w.node("Min", {"count", "two"}, "most");
                w.node("TopK", {"found", "most"}, "best").add_output("places");
                onnx::ModelWriter::set(w.node("ReduceSum", {"best"}, "y"), "keepdims", int64_t{0});
              }),
              HasSubstr(special));
  // Every sixth: primes do not tell where it begins.
  EXPECT_THAT(refusal([](auto& w) {
                w.ints("three", {3});
                w.ints("six", {6});
                w.ints("end", {1000});
                w.node("Slice", {"found", "three", "end", "none", "six"}, "y");
              }),
              HasSubstr("an extent of 'the_y'"));
}

TEST_F(FoundSizes, AreRefusedInABranch) {
  onnx::ModelWriter body(13);
  body.node("NonZero", {"x"}, "places");
  body.output("places");
  onnx::ModelWriter w(13);
  w.input("x", {8});
  w.input("condition", {}, ::onnx::TensorProto::BOOL);
  auto& branch = w.node("If", {"condition"}, "y");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *branch.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = body.graph();
  }
  w.output("y");
  EXPECT_THAT(std::string(graph::plan_network(network(w), {}).status().message()),
              HasSubstr("depends on data, which is not supported in a branch or a loop"));
}

// A graph says what it is at one number of elements found, which is not enough to build it.
TEST_F(FoundSizes, NeedTheNetworkAtEachSize) {
  const absl::StatusOr<graph::Graph> graph = frontends::import_model(rows_above(0).bytes(), {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(std::string(graph::plan_network(graph::Network(*graph), {}).status().message()),
              HasSubstr("depends on data, but the network is known at one size"));
}

}  // namespace
}  // namespace tf::driver
