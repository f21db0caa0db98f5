// What `compiler show --graph` prints and draws.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/integration/compiler/commands.h"
#include "tests/support/onnx/model_writer.h"

namespace tf {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class GraphCommand : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    onnx::ModelWriter model;
    model.input("x", {4});
    model.floats("one", {1}, {1});
    model.node("Add", {"x", "one"}, "sum");
    model.node("Relu", {"sum"}, "y");
    model.output("y");
    std::ofstream(file("net.onnx"), std::ios::binary) << model.bytes();
  }
};

TEST_F(GraphCommand, PrintsTheNetworkAsTextAndAsJson) {
  const Answer text = run("show --graph " + file("net.onnx"));
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("n0 = input() \"x\" : f32[4]"), HasSubstr("= add(n0, n1)"),
                              HasSubstr("output \"y\" = n3")));
  const Answer json = run("show --graph " + file("net.onnx") + " --expose sum --json");
  ASSERT_EQ(json.code, 0) << json.err;
  const nlohmann::json graph = nlohmann::json::parse(json.out);
  EXPECT_EQ(graph["nodes"][2]["op"], "add");
  EXPECT_EQ(graph["nodes"][2]["inputs"], nlohmann::json({0, 1}));
  EXPECT_EQ(graph["nodes"][2]["types"][0], "f32[4]");
  EXPECT_EQ(graph["outputs"][1], nlohmann::json({{"name", "sum"}, {"node", 2}}));
  EXPECT_EQ(graph["structure"].get<std::string>().size(), 64u);
}

TEST_F(GraphCommand, DrawsByGraphviz) {
  if (std::system("dot -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "Graphviz is not installed";
  const Answer drawn = run("show --graph " + file("net.onnx") + " --svg " + file("net.svg"));
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_EQ(drawn.out, "");
  EXPECT_THAT(*read_file(file("net.svg")),
              AllOf(HasSubstr("<svg"), HasSubstr(">relu<"), HasSubstr(">f32[4]<")));
}

TEST_F(GraphCommand, SaysWhatIsMissing) {
  const std::string path = getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  const Answer drawn = run("show --graph " + file("net.onnx") + " --svg " + file("none.svg"));
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(drawn.code, 1);
  EXPECT_THAT(drawn.err,
              HasSubstr("--svg needs the program dot, which is not on the path: install Graphviz"));
  EXPECT_EQ(lines(drawn.err), 1);
  const Answer nothing = run("show");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("give a workload's key and --db, or --graph MODEL"));
  EXPECT_EQ(run("show abcdef --graph " + file("net.onnx")).code, 2);
  EXPECT_EQ(run("show --svg " + file("net.svg")).code, 2);
}

}  // namespace
}  // namespace tf
