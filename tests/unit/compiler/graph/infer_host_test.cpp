// Types and text form of operators that host functions compute.
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "parsed_graph.h"

namespace tf::graph {
namespace {

using testing::HasSubstr;

// One node of each operator and kind, with the type that it has.
constexpr const char* kHostOperators = R"(
  dim batch = 4 in [1, 64]
  n0 = input() "x" : f32[batch, 3, 8, 8]
  n1 = input() "i" : i64[batch, 3, 8, 8]
  n2 = input() "rois" : f32[6, 4]
  n3 = input() "which" : i64[6]
  n4 = constant(3i64) "run" : i64[]
  n5 = input() "p" : f32[batch, 5]
  n6 = input() "slices" : i64[2, 1]
  n7 = input() "updates" : f32[2, 3, 8, 8]
  n8 = scatter_elements(n0, n1, n0; axis=1) "a" : f32[batch, 3, 8, 8]
  n9 = scatter_elements_max(n0, n1, n0; axis=0) "b" : f32[batch, 3, 8, 8]
  n10 = scatter_slices(n0, n6, n7) "c" : f32[batch, 3, 8, 8]
  n11 = scatter_slices_add(n0, n6, n7) "d" : f32[batch, 3, 8, 8]
  n12 = cumulative_sum(n0; axis=3, exclusive=1, reverse=0, product=1) "e" : f32[batch, 3, 8, 8]
  n13 = determinant(n0) "f" : f32[batch, 3]
  n14 = max_unpool(n0, n1; extents=[batch, 3, 16, 16]) "g" : f32[batch, 3, 16, 16]
  n15 = roi_align(n0, n2, n3; height=7, width=5, maximum=0, half_pixel=1, sampling_ratio=2, scale=0.25f64) "h" : f32[6, 3, 7, 5]
  n16 = random_uniform(n4; seed=-5, first=-1.0f64, second=2.0f64, element=f16, extents=[batch, 2]) "j" : f16[batch, 2]
  n17 = random_normal(n4; seed=7, first=0.0f64, second=1.0f64, element=f64, extents=[]) "k" : f64[]
  n18 = bernoulli(n5, n4; seed=1, element=bool) "l" : bool[batch, 5]
  n19 = multinomial(n5, n4; seed=1, samples=9, element=i64) "m" : i64[batch, 9]
  n20 = bit_cast(n0; element=u32) "n" : u32[batch, 3, 8, 8]
  output "y" = n19
)";

TEST(InferHost, GivesTheTypeThatEachOperatorHas) {
  const Graph graph = parsed(kHostOperators);
  EXPECT_TRUE(verify(graph).ok()) << verify(graph);
  EXPECT_EQ(to_string(*parse_graph(to_string(graph), nullptr)), to_string(graph));
  int host_functions = 0;
  for (const Node& node : graph.nodes) host_functions += is_host_function(node.op) ? 1 : 0;
  EXPECT_EQ(host_functions, 13);
}

TEST(InferHost, RefusesWhatDoesNotFit) {
  const struct {
    const char *line, *message;
  } cases[] = {
      {"y = scatter_elements(x, i, x; axis=2) \"y\" : f32[3, 4]", "axis 2 of a tensor of rank 2"},
      {"y = scatter_elements(x, x, x; axis=0) \"y\" : f32[3, 4]", "not i32 or i64"},
      {"y = scatter_elements(x, i, v; axis=0) \"y\" : f32[3, 4]", "not one index an update"},
      {"y = scatter_elements(v, i, x; axis=0) \"y\" : f32[4]", "indices have rank 2, the data 1"},
      {"y = scatter_slices(x, i, v) \"y\" : f32[3, 4]", "4 indices of an element of rank 2"},
      {"y = bit_cast(x; element=u16) \"y\" : u16[3, 4]", "makes u16 of f32[3, 4]"},
      {"y = determinant(x) \"y\" : f32[]", "needs square matrices, not f32[3, 4]"},
      {"y = max_unpool(v, i; extents=[9]) \"y\" : f32[9]", "one i64 for each of f32[4] is needed"},
      {"y = roi_align(x, x, i; height=1, width=1, maximum=0, half_pixel=0, sampling_ratio=0, scale=1.0f64) "
       "\"y\" : f32[1]",
       "needs rank 4"},
      {"y = random_normal(x; seed=0, first=0.0f64, second=1.0f64, element=f32, extents=[2]) \"y\" : f32[2]",
       "the run is f32[3, 4], not one i64"},
      {"y = random_normal(run; seed=0, first=0.0f64, second=1.0f64, element=i32, extents=[2]) \"y\" : i32[2]",
       "needs floating point, not i32"},
      {"y = bernoulli(i, run; seed=0, element=f32) \"y\" : f32[3, 4]", "needs floating point, not i64[3, 4]"},
      {"y = multinomial(x, run; seed=0, samples=2, element=f32) \"y\" : f32[3, 2]", "classes are i32 or i64"},
  };
  for (const auto& [line, message] : cases) {
    const auto graph = parse_graph(std::string("graph \"g\" {\n") + R"(
      x = input() "x" : f32[3, 4]
      i = input() "i" : i64[3, 4]
      v = input() "v" : f32[4]
      run = constant(0i64) "run" : i64[]
      )" + line + "\n output \"y\" = y\n}\n",
                                   nullptr);
    EXPECT_THAT(std::string(graph.status().message()), HasSubstr(message)) << line;
  }
}

}  // namespace
}  // namespace tf::graph
