#include "tuner/cli/follow.h"

#include <nlohmann/json.hpp>

namespace tf::tuner_cli {
namespace {

TEST(JobJson, SaysWhoseJobItIs) {
  const service::JobView view{.job = {.id = 3, .device = "desk", .submitter = "ada"}};
  const nlohmann::json json = nlohmann::json::parse(job_json(view));
  EXPECT_EQ(json["job"], 3);
  EXPECT_EQ(json["submitter"], "ada");
}

}  // namespace
}  // namespace tf::tuner_cli
