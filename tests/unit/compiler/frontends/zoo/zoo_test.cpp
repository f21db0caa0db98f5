#include "compiler/frontends/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/frontends/frontends.h"

namespace tf::zoo {
namespace {

using testing::HasSubstr;

TEST(Zoo, EveryNetworkCanBeReadAndNamesItsBatch) {
  for (const Network& network : networks()) {
    absl::StatusOr<std::string> bytes = model(network.name, {.batch_name = "batch"});
    ASSERT_TRUE(bytes.ok());
    absl::StatusOr<graph::Graph> graph = frontends::import_model(*bytes, {{{"batch", 3}}});
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_THAT(graph::to_string(graph->type(graph->outputs[0].node)), HasSubstr("f32[batch, 1"))
        << network.name;
  }
  EXPECT_THAT(std::string(model("nothing", {}).status().message()),
              HasSubstr("inception_v1, mlp, mobilenet_v2"));
}

TEST(Zoo, TextNetworksReadAsManyTokensAsAskedFor) {
  absl::StatusOr<std::string> bytes = model("bert_mini", {.sequence = 7});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  absl::StatusOr<graph::Graph> graph = frontends::import_model(*bytes, {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph::to_string(graph->type(graph->outputs[0].node)), "f32[1, 7, 256]");
  EXPECT_THAT(std::string(model("bert_mini", {.sequence = 513}).status().message()),
              HasSubstr("give 1 to 512"));
}

TEST(Zoo, SameSeedGivesTheSameBytes) {
  EXPECT_EQ(*model("mlp", {.seed = 5}), *model("mlp", {.seed = 5}));
  EXPECT_NE(*model("mlp", {.seed = 5}), *model("mlp", {.seed = 6}));
}

}  // namespace
}  // namespace tf::zoo
