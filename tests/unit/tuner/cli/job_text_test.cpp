#include "tuner/cli/job_text.h"

#include <nlohmann/json.hpp>

namespace tf::tuner_cli {
namespace {

using database::JobState;

TEST(JobJson, SaysWhoseJobItIs) {
  const service::JobView view{.job = {.id = 3, .device = "desk", .submitter = "ada"}};
  const nlohmann::json json = nlohmann::json::parse(job_json(view));
  EXPECT_EQ(json["job"], 3);
  EXPECT_EQ(json["submitter"], "ada");
}

TEST(JobJson, SaysWhatTheJobWasAskedFor) {
  service::JobView view{.job = {.id = 3, .device = "desk"}};
  view.job.options = to_json(service::JobSpec{
      .selector = "room=lab3", .priority = 5, .threads = 2, .trials = 60, .allowed_numerics = {"bf16"}});
  const nlohmann::json json = nlohmann::json::parse(job_json(view));
  EXPECT_EQ(json["selector"], "room=lab3");
  EXPECT_EQ(json["priority"], 5);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["allow"], std::vector<std::string>{"bf16"});
  EXPECT_EQ(json["budget"]["trials"], 60);
  EXPECT_EQ(json["budget"]["minutes"], 0);
}

TEST(ChangeJson, TellsProgramsWhatPeopleAreToldToo) {
  service::JobView view{.job = {.id = 3, .state = JobState::kPaused}};
  for (const bool unchanged : {false, true}) {
    view.unchanged = unchanged;
    const nlohmann::json json = nlohmann::json::parse(change_json(view));
    EXPECT_EQ(json["state"], "paused");
    EXPECT_EQ(json["unchanged"], unchanged);
    EXPECT_FALSE(nlohmann::json::parse(job_json(view)).contains("unchanged")) << "of no change";
  }
}

TEST(ChangeText, SaysWhatTheJobIsAndWhetherItWasSoAlready) {
  service::JobView view{.job = {.id = 3, .state = JobState::kPaused}};
  EXPECT_EQ(change_text(view, "stops"), "job 3 is paused");
  view.unchanged = true;
  EXPECT_EQ(change_text(view, "stops"), "job 3 is paused already");
  view.job.state = JobState::kRunning;
  EXPECT_EQ(change_text(view, "goes on"), "job 3 is running already");
  view.unchanged = false;
  EXPECT_EQ(change_text(view, "stops"), "job 3 finishes what it is measuring, then stops");
}

}  // namespace
}  // namespace tf::tuner_cli
