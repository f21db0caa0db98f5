#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"

namespace tf::graph {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& lines) {
  const absl::StatusOr<Graph> graph = parse_graph("graph \"g\" {\n" + lines + "}\n", nullptr);
  return graph.ok() ? "it is legal" : std::string(graph.status().message());
}

std::string loop(const std::string& attributes, const std::string& type) {
  return R"(
    n = constant(4i64) "n" : i64[]
    s = input() "s" : f32[2]
    x = input() "x" : f32[3, 2]
    y = loop(n, s, x; )" +
         attributes + R"(, body=graph "b" {
      i = input() "i" : i64[]
      s = input() "s" : f32[2]
      x = input() "x" : f32[2]
      output "o0" = s
    }) "loop" : )" +
         type + "\n    output \"y\" = y\n";
}

TEST(InferControl, RefusesALoopThatScansMoreThanThereIs) {
  EXPECT_THAT(refusal(loop("carried=1, scanned=1, conditional=false, backward=[0]", "f32[2]")),
              HasSubstr("does not have a slice for each trip"));
}

TEST(InferControl, RefusesABodyWhoseInputsDoNotFit) {
  EXPECT_THAT(refusal(loop("carried=2, scanned=0, conditional=false, backward=[]", "f32[2]")),
              HasSubstr("input 2 of the body is f32[2], but f32[3, 2] is given"));
  EXPECT_THAT(refusal(loop("carried=1, scanned=0, conditional=true, backward=[]", "f32[2]")),
              HasSubstr("its condition is f32[2], not one element of bool"));
}

TEST(InferControl, RefusesBranchesOfDifferentResults) {
  EXPECT_THAT(refusal(R"(
    c = input() "c" : bool[]
    x = input() "x" : f32[3]
    y = if(c, x; then=graph "t" {
      x = input() "x" : f32[3]
      output "o0" = x
    }, else=graph "e" {
      x = input() "x" : f32[3]
      y = reshape(x; extents=[3, 1]) "y" : f32[3, 1]
      output "o0" = y
    }) "if" : f32[3]
    output "y" = y
  )"),
              HasSubstr("result 0 is f32[3] in one branch and f32[3, 1] in the other"));
}

TEST(InferControl, RefusesAResultThatTheOperatorDoesNotHave) {
  const std::string top = R"(
    x = input() "x" : f32[5]
    y = topk(x; axis=0, k=2, largest=true) "top" : f32[2], i64[2]
  )";
  EXPECT_THAT(refusal(top + "z = result(y; index=2) \"z\" : i64[2]\n output \"z\" = z\n"),
              HasSubstr("there is no result 2 of topk, which has 2"));
  EXPECT_THAT(refusal(R"(
    x = input() "x" : f32[5]
    y = topk(x; axis=0, k=6, largest=true) "top" : f32[6], i64[6]
    output "y" = y
  )"),
              HasSubstr("takes 6 of 5 elements"));
}

}  // namespace
}  // namespace tf::graph
