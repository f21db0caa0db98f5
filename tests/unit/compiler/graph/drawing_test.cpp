#include "compiler/graph/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/compiler/graph/parsed_graph.h"

namespace tf::graph {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Drawing, HasABoxForEachOperatorAndAnArrowForEachValue) {
  const std::string text = drawing(parsed(R"(
    n0 = input() "x" : f32[1, 2]
    n1 = constant(1f32, 2f32, 3f32, 4f32) "w" : f32[2, 2]
    n2 = matmul(n0, n1; transpose_a=false, transpose_b=true) "a \"quoted\" name" : f32[1, 2]
    n3 = topk(n2; axis=1, k=1, largest=true) "best" : f32[1, 1], i64[1, 1]
    n4 = result(n3; index=1) "place" : i64[1, 1]
    output "y" = n4
)"));
  EXPECT_THAT(text, AllOf(HasSubstr(R"(g0_0 [label="x")"), HasSubstr(R"(g0_0 -> g0_2 [label="f32[1, 2]"])"),
                          HasSubstr(R"(label="matmul\na \"quoted\" name\nf32[2, 2]")"),
                          HasSubstr(R"(tooltip="transpose_a=false, transpose_b=true")"),
                          HasSubstr(R"(g0_3 -> g0_out0 [label="i64[1, 1]"])")));
  EXPECT_THAT(text, Not(HasSubstr("g0_1 "))) << "constants are part of what reads them";
}

TEST(Drawing, ShortensNamesAtTheirBeginning) {
  const std::string name = "/model/encoder/" + std::string(50, 'x') + "/end";
  const std::string text = drawing(
      parsed("n0 = input() \"x\" : f32[2]\nn1 = relu(n0) \"" + name + "\" : f32[2]\noutput \"y\" = n1\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("…xxx"), HasSubstr("x/end"), Not(HasSubstr("encoder"))));
}

TEST(StructureDigest, DependsOnAllButNames) {
  const auto digest = [](const std::string& text) { return structure_digest(parsed(text)); };
  const std::string text =
      "n0 = input() \"x\" : f32[2]\nn1 = constant(1f32, 2f32) \"c\" : f32[2]\nn2 = add(n0, n1) \"sum\" : "
      "f32[2]\noutput "
      "\"y\" = n2\n";
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return other;
  };
  EXPECT_EQ(digest(text), digest(replaced("\"sum\"", "\"other\"")));
  EXPECT_EQ(digest(text), digest(replaced("\"c\"", "\"other\"")));
  EXPECT_NE(digest(text), digest(replaced("2f32) ", "3f32) ")));
  EXPECT_NE(digest(text), digest(replaced("add(", "mul(")));
  EXPECT_NE(digest(text), digest(replaced("\"x\"", "\"z\"")));
  EXPECT_NE(digest(text), digest(replaced("\"y\"", "\"z\"")));
}

}  // namespace
}  // namespace tf::graph
