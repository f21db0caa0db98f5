#include "tuner/web/gateway/openapi.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tuner/web/gateway/routes.h"

namespace tf::web {
namespace {

using nlohmann::json;

// Every "$ref" below the value leads somewhere.
void check_refs(const json& value, const json& document) {
  if (value.is_object() && value.contains("$ref")) {
    const std::string pointer = value["$ref"].get<std::string>().substr(1);
    EXPECT_TRUE(document.contains(json::json_pointer(pointer))) << pointer;
  }
  for (const json& inner : value) {
    if (inner.is_structured()) check_refs(inner, document);
  }
}

TEST(OpenApi, DescribesEveryRouteWithWhatItTakesAndAnswers) {
  const json document = json::parse(openapi_text());
  EXPECT_EQ(document["openapi"], "3.1.0");
  for (const Route& route : routes()) {
    ASSERT_TRUE(document["paths"].contains(route.path)) << route.path;
    const json& path = document["paths"][route.path];
    EXPECT_TRUE(path.contains("post"));
    EXPECT_EQ(path.contains("get"), route.is_read() && !route.takes_model) << route.path;
    EXPECT_GT(path["post"]["description"].get<std::string>().size(), 20u) << route.path;
  }
  check_refs(document, document);
}

TEST(OpenApi, HasTheProtosComments) {
  const json document = json::parse(openapi_text());
  const json& job = document["components"]["schemas"]["JobUpdate"]["properties"];
  EXPECT_EQ(job["jobId"]["type"], "string") << "64 bits";
  EXPECT_EQ(job["state"]["$ref"], "#/components/schemas/JobState");
  EXPECT_NE(job["detail"]["description"].get<std::string>().find("one line for people"), std::string::npos);
}

TEST(ApiPage, NamesEveryRouteAndHasNoScript) {
  const std::string page(api_page());
  for (const Route& route : routes()) EXPECT_NE(page.find(route.path), std::string::npos) << route.path;
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("style="), std::string::npos);
}

}  // namespace
}  // namespace tf::web
