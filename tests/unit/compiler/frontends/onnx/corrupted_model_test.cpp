// Models are not trusted: whatever the bytes, an import ends in a graph or in one line.
#include <random>

#include "compiler/frontends/frontends.h"
#include "compiler/frontends/onnx/import.h"
#include "compiler/frontends/zoo/zoo.h"
#include "compiler/graph/program/program.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::onnx {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CorruptedModel, RefusesEveryTruncationWithOneLine) {
  absl::StatusOr<std::string> whole = zoo::model("mlp", {});
  ASSERT_TRUE(whole.ok());
  std::vector<size_t> lengths = {0, whole->size() / 3, whole->size() / 2, whole->size() - 1,
                                 whole->size() - 20};
  for (size_t i = 1; i < 60; ++i) lengths.push_back(i);
  for (size_t length : lengths) {
    absl::StatusOr<graph::Graph> graph = import_model(whole->substr(0, length), {}, {});
    ASSERT_FALSE(graph.ok()) << length;
    EXPECT_THAT(std::string(graph.status().message()), Not(HasSubstr("\n")));
  }
  EXPECT_THAT(std::string(import_model("definitely not protobuf", {}, {}).status().message()),
              HasSubstr("not a whole ONNX model"));
  EXPECT_THAT(std::string(frontends::import_file("/nonexistent/a.onnx", {}).status().message()),
              HasSubstr("/nonexistent/a.onnx"));
}

// A model in which most rules have attributes and shapes to lose.
std::string varied_model() {
  ModelWriter model;
  model.input("x", {1, 4, 8, 8});
  model.floats("w", {4, 4, 3, 3}, std::vector<float>(144, 0.5f));
  model.floats("four", {4}, {1, 2, 3, 4});
  model.floats("b", {64, 5}, std::vector<float>(320, 0.25f));
  model.ints("target", {1, -1});
  model.ints("starts", {0, 1});
  model.ints("ends", {4, 9223372036854775807});
  model.ints("axes", {1, -1});
  model.ints("pads", {0, 0, 0, 0, 0, 0, 0, 1});
  auto& conv = model.node("Conv", {"x", "w", "four"}, "c");
  ModelWriter::set(conv, "pads", {1, 1, 1, 1});
  ModelWriter::set(conv, "strides", {1, 1});
  model.node("BatchNormalization", {"c", "four", "four", "four", "four"}, "n");
  auto& pool = model.node("AveragePool", {"n"}, "p");
  ModelWriter::set(pool, "kernel_shape", {3, 3});
  ModelWriter::set(pool, "pads", {1, 1, 1, 1});
  ModelWriter::set(model.node("LRN", {"p"}, "l"), "size", 3);
  ModelWriter::set(model.node("Concat", {"l", "n"}, "k"), "axis", 1);
  model.node("Slice", {"k", "starts", "ends", "axes"}, "s");
  model.node("Pad", {"s", "pads"}, "d");
  ModelWriter::set(model.node("Transpose", {"d"}, "t"), "perm", {0, 2, 3, 1});
  ModelWriter::set(model.node("ReduceMean", {"t"}, "m"), "axes", std::vector<int64_t>{1});
  ModelWriter::set(model.node("Split", {"m"}, "h"), "axis", 2);
  model.node("Shape", {"h"}, "z");
  model.node("ConstantOfShape", {"z"}, "o");
  model.node("Add", {"h", "o"}, "a");
  model.node("Reshape", {"a", "target"}, "r");
  ModelWriter::set(model.node("Softmax", {"r"}, "y"), "axis", 1);
  model.output("y");
  return model.bytes();
}

// Named dimensions, tensors without elements, whole numbers at the end of their range.
std::string unusual_model() {
  ModelWriter model;
  auto& shape = *model.input("x", {-1, 4}).mutable_shape();
  shape.mutable_dim(0)->set_dim_param("N");
  model.floats("none", {0, 4}, {});
  model.ints("nothing", {});
  model.ints("big", {9223372036854775807});
  model.node("Shape", {"x"}, "s");
  ModelWriter::set(model.node("Concat", {"s", "nothing"}, "t"), "axis", 0);
  model.node("ConstantOfShape", {"t"}, "o");
  model.node("Add", {"x", "o"}, "a");
  ModelWriter::set(model.node("ReduceMean", {"none"}, "m"), "axes", std::vector<int64_t>{0});
  ModelWriter::set(model.node("ReduceMax", {"big"}, "r"), "axes", std::vector<int64_t>{0});
  model.node("Div", {"big", "r"}, "d");
  model.node("Mul", {"a", "m"}, "y");
  model.output("y");
  model.output("none");
  model.output("d");
  return model.bytes();
}

void expect_a_line(const absl::Status& status) {
  EXPECT_NE(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_FALSE(status.message().empty());
  EXPECT_THAT(std::string(status.message()), Not(testing::ContainsRegex("[[:cntrl:]]")));
}

struct Seed {
  const char* name;
  std::string (*make)();
  tensor::Binding dims;
};
void PrintTo(const Seed& seed, std::ostream* out) {
  *out << seed.name;
}

// Whatever the bytes: an error in one line, or a graph that can be planned, or again an error in one line.
void import_and_plan(const std::string& bytes, const tensor::Binding& dims) {
  absl::StatusOr<graph::Graph> graph = import_model(bytes, {}, {.dims = dims, .most_made_bytes = 1 << 20});
  if (!graph.ok()) return expect_a_line(graph.status());
  absl::StatusOr<graph::Program> program = graph::plan_program(*std::move(graph), {.lanes = 4});
  if (!program.ok()) expect_a_line(program.status());
}

class CorruptedBytes : public testing::TestWithParam<Seed> {};

TEST_P(CorruptedBytes, AreRefusedInOneLineOrPlanned) {
  const std::string whole = GetParam().make();
  absl::StatusOr<graph::Graph> good = import_model(whole, {}, {.dims = GetParam().dims});
  ASSERT_TRUE(good.ok()) << good.status();
  absl::StatusOr<graph::Program> program = graph::plan_program(*std::move(good), {.lanes = 4});
  ASSERT_TRUE(program.ok()) << program.status();
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i % 7 != 0 && i > 100 && i + 1500 < whole.size()) continue;  // most of the file is weights
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      import_and_plan(bytes, GetParam().dims);
    }
  }
  std::mt19937 random(1);
  for (int round = 0; round < 800; ++round) {
    std::string bytes = whole;
    for (uint32_t changes = 1 + random() % 4; changes > 0; --changes) {
      // What rules read stands in the last part of the file.
      const size_t at = bytes.size() - 1 - random() % std::min<size_t>(bytes.size(), 1500);
      bytes[at] =
          static_cast<char>(random() % 4 == 0 ? random() : bytes[at] + static_cast<int>(random() % 5) - 2);
    }
    import_and_plan(bytes, GetParam().dims);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CorruptedBytes,
                         testing::Values(Seed{"Varied", varied_model, {}},
                                         Seed{"Unusual", unusual_model, {{"N", 3}}}),
                         [](const auto& seed) { return seed.param.name; });

}  // namespace
}  // namespace tf::onnx
