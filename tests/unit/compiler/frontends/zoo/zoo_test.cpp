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
    EXPECT_EQ(graph->shape(graph->outputs[0].node)[0], 3) << network.name;
  }
  EXPECT_THAT(std::string(model("nothing", {}).status().message()), HasSubstr("mlp_mixer, mobilenet_v2"));
}

TEST(Zoo, NetworksThatReadSequencesNameTheirLengths) {
  int count = 0;
  for (const Network& network : networks()) {
    if (network.lengths.empty()) continue;
    ++count;
    absl::StatusOr<std::string> bytes = model(network.name, {.named_lengths = true});
    ASSERT_TRUE(bytes.ok());
    frontends::ImportOptions options;
    for (const std::string& name : network.lengths) options.dims[name] = 5;
    absl::StatusOr<graph::Graph> graph = frontends::import_model(*bytes, options);
    ASSERT_TRUE(graph.ok()) << network.name << ": " << graph.status();
    EXPECT_EQ(graph->shape(graph->outputs[0].node)[1], 5) << network.name;
  }
  EXPECT_GE(count, 5);
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
