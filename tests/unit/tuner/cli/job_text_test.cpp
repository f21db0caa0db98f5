#include "tuner/cli/job_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"

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
  view.job.options = to_json(service::JobSpec{.selector = "room=lab3",
                                              .priority = 5,
                                              .threads = 2,
                                              .trials = 60,
                                              .allowed_numerics = {"bf16"},
                                              .dims = {{"batch", 4}},
                                              .seed = 7,
                                              .strategy = "random"});
  const nlohmann::json json = nlohmann::json::parse(job_json(view));
  EXPECT_EQ(json["selector"], "room=lab3");
  EXPECT_EQ(json["priority"], 5);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["allow"], std::vector<std::string>{"bf16"});
  EXPECT_EQ(json["dims"], (std::map<std::string, int64_t>{{"batch", 4}}));
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["strategy"], "random");
  EXPECT_EQ(json["budget"]["trials"], 60);
  EXPECT_EQ(json["budget"]["minutes"], 0);
}

TEST(JobJson, HasProgressWhetherThereIsSomeOrNot) {
  service::JobView view{.job = {.id = 3, .state = JobState::kRunning}};
  EXPECT_TRUE(nlohmann::json::parse(job_json(view)).at("progress").is_null());
  view.progress.emplace();
  view.progress->set_trials(4);
  view.progress->set_remaining_s(19);
  EXPECT_EQ(nlohmann::json::parse(job_json(view)).at("progress").at("trials"), 4);
  EXPECT_EQ(nlohmann::json::parse(job_json(view)).at("progress").at("remaining_s"), 19);
  view.job.state = JobState::kCancelled;
  EXPECT_FALSE(nlohmann::json::parse(job_json(view)).at("progress").contains("remaining_s"));
}

TEST(JobsTable, ShowsPriorityAndBudgetBelowTheirNames) {
  service::JobView view{.job = {.id = 3,
                                .model_name = "mlp.onnx",
                                .target = "x86_64",
                                .device = "desk",
                                .submitter = "ada",
                                .state = JobState::kQueued,
                                .detail = "waits for a free device"},
                        .trials = 12,
                        .slots = {"m1/0", "m2/0"}};
  view.job.options = to_json(service::JobSpec{.priority = 5, .trials = 450, .minutes = 2.5});
  service::JobView other{.job = {.id = 12, .model_name = "a\nb", .options = "of another program"}};
  const std::vector<std::string> lines =
      absl::StrSplit(jobs_table({view, other}, 61'000'000'000, 0), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3u);
  const auto below = [&](const std::string& name) { return lines[1].substr(lines[0].find(name)); };
  EXPECT_THAT(lines[1], testing::StartsWith("  3  queued"));
  EXPECT_THAT(below("prio"), testing::StartsWith("   5  ada "));
  EXPECT_THAT(below("model"), testing::StartsWith("mlp.onnx "));
  EXPECT_THAT(below("slots"), testing::StartsWith("    2  x86_64 "));
  EXPECT_THAT(below("target"), testing::StartsWith("x86_64 "));
  EXPECT_THAT(below("budget"), testing::StartsWith("450 trials, 2.5 min "));
  EXPECT_THAT(lines[1], testing::EndsWith("  1m1s  waits for a free device"));
  EXPECT_THAT(lines[2], testing::AllOf(testing::HasSubstr(" a?b "), testing::HasSubstr(" (embedded) ")));
  view.job.options = to_json(service::JobSpec{.trials = 1, .until_gain_percent = 0.5});
  EXPECT_THAT(jobs_table({view}, 0, 0), testing::HasSubstr("1 trial, gain of 0.5%"));
}

TEST(JobsTable, FitsATerminalOfEightyColumns) {
  service::JobView view{
      .job = {.id = 1234,
              .model_name = "a-network-with-a-name-of-many-words-in-it.onnx",
              .target = "x86_64:cpu=znver4",
              .device = "desk-in-the-corner-of-the-lab",
              .submitter = "ada",
              .state = JobState::kRunning,
              .detail = "waits: no device with the key desk is free, 39 are leased to others"},
      .trials = 123456};
  const std::string table = jobs_table({view}, 61'000'000'000, 80);
  for (const absl::string_view line : absl::StrSplit(table, '\n'))
    EXPECT_LE(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }), 80) << line;
  for (const char* kept : {"1234  running", "123456", "1m1s", "…"})
    EXPECT_THAT(table, testing::HasSubstr(kept));
}

TEST(StateText, OfAJobThatTriesAgainAndAgainIsTheSameAllTheTime) {
  service::JobView view{.job = {.state = JobState::kQueued, .detail = "waits: no device is free"}};
  EXPECT_EQ(state_text(view), "waits: no device is free");
  view.job.state = JobState::kRunning;
  EXPECT_EQ(state_text(view), "waits: no device is free");
  view.job.detail = "";
  EXPECT_EQ(state_text(view), "running");
  view.job = {.state = JobState::kFailed, .detail = "it waits: for nothing"};
  EXPECT_EQ(state_text(view), "failed: it waits: for nothing");
}

TEST(SlotsText, NamesTheFirstOfMany) {
  EXPECT_EQ(slots_text({}), "");
  EXPECT_EQ(slots_text({"m1/0"}), "measures on 1 device slot: m1/0");
  EXPECT_EQ(slots_text({"a/0", "b/0", "c/0", "d/0", "e/0", "f/0", "g/0", "h/0", "i/0"}),
            "measures on 9 device slots: a/0, b/0, c/0, d/0, e/0, f/0, g/0 and 2 others");
  EXPECT_THAT(slots_text(std::vector<std::string>(128, "a/0")),
              testing::EndsWith("and 121 others (a job has 128 at most)"));
}

TEST(StateText, SaysNothingTwice) {
  service::JobView view{.job = {.state = JobState::kPaused, .detail = "paused"}};
  EXPECT_EQ(state_text(view), "paused");
  view.job.detail = "paused after 12 trials, 0 failed";
  EXPECT_EQ(state_text(view), "paused after 12 trials, 0 failed");
  view.job = {.state = JobState::kCancelled, .detail = "cancelled while it was paused"};
  EXPECT_EQ(state_text(view), "cancelled while it was paused");
}

TEST(LeftJobText, SaysOfAPausedJobThatItStaysSo) {
  EXPECT_EQ(left_job_text(3, JobState::kRunning), "job 3 continues");
  EXPECT_EQ(left_job_text(3, JobState::kQueued), "job 3 is queued and will run without this command");
  EXPECT_EQ(left_job_text(3, JobState::kPaused), "job 3 is paused; `tuner resume 3` continues it");
  EXPECT_EQ(left_job_text(3, JobState::kDone), "job 3 is done");
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
  EXPECT_EQ(change_text(view, "stops"), "job 3 is already paused");
  view.job.state = JobState::kRunning;
  EXPECT_EQ(change_text(view, "continues"), "job 3 is already running");
  view.unchanged = false;
  EXPECT_EQ(change_text(view, "stops"), "job 3 stops when its running trials finish");
}

}  // namespace
}  // namespace tf::tuner_cli
