#include "compiler/graph/text.h"

#include <map>

#include "compiler/graph/verify.h"

namespace tf::graph {
namespace {

using tensor::Element;

// One node of every form that the text has: a named dimension, inline and digested constants, every attribute
// type.
Graph sample() {
  Graph graph;
  graph.name = "net";
  graph.dims = {{tensor::var("batch")}};
  graph.binding = {{"batch", 4}};
  const tensor::Expr batch = graph.dims[0].var;
  auto fixed = [](std::vector<int64_t> shape) { return tensor_type(Element::kFloat32, shape); };
  auto add = [&](Op op, std::vector<NodeId> inputs, const char* name) {
    absl::StatusOr<NodeId> id = graph.add(std::move(op), std::move(inputs), name);
    EXPECT_TRUE(id.ok()) << id.status();
    return *id;
  };
  TensorType image = fixed({1, 3, 8, 8});
  image.extents[0] = batch;
  const NodeId x = graph.add_input(image, "x");
  const NodeId w = graph.add_constant(fixed({4, 3, 3, 3}), make_blob(std::vector<float>(108, 0.25f)), "w");
  const NodeId b = graph.add_constant(fixed({4}), make_blob(std::vector<float>{0.1f, -1, 3e-30f, 4}), "b");
  NodeId y = add(Conv{{1, 2}, {1, 1}, {1, 1}, {1, 0}, 1}, {x, w, b}, "conv \"1\"\n");
  y = add(Clip{0, 6}, {y}, "clip");
  y = add(Pool{PoolKind::kAverage, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, true}, {y}, "pool");
  const NodeId matrix = add(Reshape{{batch, tensor::imm(32)}}, {y}, "flat");
  const NodeId soft = add(Softmax{1, true}, {matrix}, "soft");
  const NodeId integers = add(Cast{Element::kInt64}, {soft}, "cast");
  const NodeId two = graph.add_constant({Element::kInt64, {}}, make_blob(std::vector<int64_t>{-2}), "two");
  graph.outputs = {{"y", add(Binary{BinaryKind::kMul}, {integers, two}, "mul")}, {"matrix", matrix}};
  return graph;
}

BlobSource blobs_of(const Graph& graph) {
  return [&graph](const Digest& digest) -> BlobRef {
    for (const Node& node : graph.nodes) {
      if (auto* known = as<Constant>(node); known && known->data->digest() == digest) return known->data;
    }
    return nullptr;
  };
}

TEST(GraphText, RoundTrips) {
  const Graph graph = sample();
  ASSERT_TRUE(verify(graph).ok()) << verify(graph);
  const std::string text = to_string(graph);
  absl::StatusOr<Graph> again = parse_graph(text, blobs_of(graph));
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
  EXPECT_EQ(to_string(*again), text);
  EXPECT_EQ(again->binding, graph.binding);
}

TEST(GraphText, PrintsAsDocumented) {
  Graph graph;
  graph.name = "net";
  graph.dims = {{tensor::var("batch")}};
  graph.binding = {{"batch", 4}};
  const std::vector<int64_t> two = {2, 1};
  const NodeId x = graph.add_input({Element::kFloat32, {graph.dims[0].var, tensor::imm(2)}}, "x");
  const NodeId w =
      graph.add_constant(tensor_type(Element::kFloat32, two), make_blob(std::vector<float>{1, 2.5f}), "w");
  graph.outputs = {{"y", *graph.add(MatMul{}, {x, w}, "fc")}};
  EXPECT_EQ(to_string(graph), R"(graph "net" {
  dim batch = 4 in [1, 1048576]
  n0 = input() "x" : f32[batch, 2]
  n1 = constant(1f32, 2.5f32) "w" : f32[2, 1]
  n2 = matmul(n0, n1; transpose_a=false, transpose_b=false) "fc" : f32[batch, 1]
  output "y" = n2
}
)");
}

TEST(GraphText, NamesTheConstantThatIsNotThere) {
  const Graph graph = sample();
  EXPECT_EQ(parse_graph(to_string(graph), nullptr).status().code(), absl::StatusCode::kNotFound);
}

TEST(GraphText, RefusesWhatIsNotAGraph) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "graph"},
      {"graph \"g\" {", ""},
      {"graph \"g\" { n0 = unknown() \"x\" : f32[1] output \"y\" = n0 }", "no operator unknown"},
      {"graph \"g\" { n0 = relu(n1) \"x\" : f32[1] output \"y\" = n0 }", "no node n1"},
      {"graph \"g\" { n0 = input() \"x\" : f32[2] n1 = relu(n0) \"r\" : f32[3] output \"y\" = n1 }",
       "is declared as f32[3]"},
      {"graph \"g\" { n0 = input() \"x\" : f32[2] n1 = softmax(n0; axis=1, log=false) \"r\" : f32[2] output "
       "\"y\" = n1 }",
       "axis 1"},
      {"graph \"g\" { n0 = constant(1f32) \"x\" : f32[2] output \"y\" = n0 }", "4 bytes, not 8"},
      {"graph \"g\" { n0 = input() \"x\" : f32[2] }", "no output"},
      {"graph \"g\" { n0 = input() \"x\" : f32[2] output \"y\" = n0 output \"y\" = n0 }", "two outputs"},
      {"graph \"g\" { dim n = 9 in [1, 8] n0 = input() \"x\" : f32[n] output \"y\" = n0 }", "outside [1, 8]"},
  };
  for (const auto& [text, message] : bad) {
    absl::StatusOr<Graph> graph = parse_graph(text, nullptr);
    ASSERT_FALSE(graph.ok()) << text;
    EXPECT_THAT(std::string(graph.status().message()), testing::HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace tf::graph
