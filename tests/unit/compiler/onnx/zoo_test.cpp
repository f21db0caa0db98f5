#include "compiler/onnx/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/onnx/import.h"

namespace tf::onnx {
namespace {

using testing::HasSubstr;

TEST(Zoo, EveryNetworkCanBeReadAndNamesItsBatch) {
  for (const ZooNetwork& network : zoo_networks()) {
    absl::StatusOr<std::string> bytes = zoo_model(network.name, {.batch_name = "batch"});
    ASSERT_TRUE(bytes.ok());
    absl::StatusOr<graph::Graph> graph = import_model_bytes(*bytes, "", {{{"batch", 3}}});
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_THAT(graph::to_string(graph->type(graph->outputs[0].node)), HasSubstr("f32[batch, 1"))
        << network.name;
  }
  EXPECT_THAT(std::string(zoo_model("nothing", {}).status().message()),
              HasSubstr("inception_v1, mlp, mobilenet_v2"));
}

TEST(Zoo, TextNetworksReadAsManyTokensAsAskedFor) {
  absl::StatusOr<std::string> bytes = zoo_model("bert_mini", {.sequence = 7});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  absl::StatusOr<graph::Graph> graph = import_model_bytes(*bytes, "", {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph::to_string(graph->type(graph->outputs[0].node)), "f32[1, 7, 256]");
  EXPECT_THAT(std::string(zoo_model("bert_mini", {.sequence = 513}).status().message()),
              HasSubstr("give 1 to 512"));
}

TEST(Zoo, SameSeedGivesTheSameBytes) {
  EXPECT_EQ(*zoo_model("mlp", {.seed = 5}), *zoo_model("mlp", {.seed = 5}));
  EXPECT_NE(*zoo_model("mlp", {.seed = 5}), *zoo_model("mlp", {.seed = 6}));
}

}  // namespace
}  // namespace tf::onnx
