#include "compiler/frontends/network_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "compiler/frontends/zoo/zoo.h"

namespace tf::frontends {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NetworkRequest of_dims(const std::vector<std::string>& dims) {
  NetworkRequest request;
  for (const std::string& dim : dims) EXPECT_TRUE(add_dim(dim, request).ok()) << dim;
  return request;
}

TEST(NetworkRequest, DimsAreValuesOrRanges) {
  const NetworkRequest request = of_dims({"batch=1..64", "a=b=128"});
  EXPECT_EQ(request.options.dims, (tensor::Binding{{"a=b", 128}}));
  ASSERT_EQ(request.ranges.size(), 1u);
  EXPECT_EQ(request.ranges[0].var->name, "batch");
  EXPECT_EQ(greatest_sizes(request), (tensor::Binding{{"a=b", 128}, {"batch", 64}}));
}

TEST(NetworkRequest, WrongDimsAreRefusedWithTheRightForm) {
  NetworkRequest request = of_dims({"batch=1..64"});
  for (const char* bad : {"seq", "seq=", "=3", "seq=x", "seq=1..", "seq=1..x", "seq=1..4:", "seq=1..4:x"})
    EXPECT_THAT(std::string(add_dim(bad, request).message()), HasSubstr("write it as NAME=N")) << bad;
  for (const char* bad : {"seq=0..4", "rows=8..4", "columns=1..99999999999"})
    EXPECT_THAT(std::string(add_dim(bad, request).message()), HasSubstr("a range goes from 1")) << bad;
  EXPECT_THAT(std::string(add_dim("height=8..60:8", request).message()), HasSubstr("a multiple of 8"));
  EXPECT_THAT(std::string(add_dim("width=8..64:0", request).message()), HasSubstr("multiples of 1 or more"));
  EXPECT_THAT(std::string(add_dim("batch=4", request).message()),
              HasSubstr("gives \"batch\" twice: give it once"));
}

TEST(NetworkRequest, AnchorsAreAllCombinations) {
  NetworkRequest request = of_dims({"batch=1..64", "seq=16..128"});
  ASSERT_TRUE(add_anchors({"seq=16,128", "batch=1,8"}, request).ok());
  using Sizes = tensor::Binding;
  EXPECT_THAT(request.anchors,
              ElementsAre(Sizes{{"batch", 1}, {"seq", 16}}, Sizes{{"batch", 1}, {"seq", 128}},
                          Sizes{{"batch", 8}, {"seq", 16}}, Sizes{{"batch", 8}, {"seq", 128}}));
  EXPECT_TRUE(check_sizes(request).ok());
}

TEST(NetworkRequest, AnchorsOutsideOfTheRangesAreRefused) {
  NetworkRequest request = of_dims({"batch=1..64", "seq=16..128:16"});
  const auto told = [&](const std::vector<std::string>& texts) {
    return std::string(add_anchors(texts, request).message());
  };
  EXPECT_THAT(told({"batch=65"}), HasSubstr("write sizes from 1 to 64"));
  EXPECT_THAT(told({"batch=1", "seq=24"}), HasSubstr("write sizes from 16 to 128 that are multiples of 16"));
  EXPECT_THAT(told({"batch"}), HasSubstr("write sizes from 1 to 64"));
  EXPECT_THAT(told({"rows=4"}), HasSubstr("no --dim gives 'rows' a range"));
  EXPECT_THAT(told({"batch=4"}), HasSubstr("none of 'seq'"));
}

TEST(NetworkRequest, InputsAreGivenOnce) {
  NetworkRequest request;
  EXPECT_TRUE(add_input("axes=0,2", request).ok());
  EXPECT_EQ(request.options.given.at("axes"), "0,2");
  EXPECT_THAT(std::string(add_input("axes=1", request).message()), HasSubstr("twice"));
  EXPECT_THAT(std::string(add_input("=1", request).message()), HasSubstr("NAME=VALUE"));
}

TEST(NetworkRequest, ImportsTheNetworkAtEachSize) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("mlp.onnx");
  ASSERT_TRUE(write_file(path, *zoo::model("mlp", {.batch_name = "batch"})).ok());
  const auto open = import_network(path, of_dims({"batch=1..64"}));
  ASSERT_TRUE(open.ok()) << open.status();
  ASSERT_EQ(open->dims.size(), 1u);
  for (const int64_t size : {1, 64}) {
    const auto graph = open->at({{"batch", size}});
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->shape(graph->outputs.at(0).node).at(0), size);
  }
  const auto fixed = import_network(path, of_dims({"batch=4"}));
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  EXPECT_TRUE(fixed->dims.empty());
  EXPECT_FALSE(import_network(path, {}).ok());
}

}  // namespace
}  // namespace tf::frontends
