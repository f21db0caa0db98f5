#include "tuner/cli/job_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"

namespace tf::tuner_cli {
namespace {

using database::JobState;
using service::JobUpdate;

void set_state(JobUpdate& job, JobState state) {
  job.set_state(static_cast<tunefarm::tune::v1::JobState>(state));
}

JobUpdate job_in(JobState state, const std::string& detail = "") {
  JobUpdate job;
  job.set_job_id(3);
  set_state(job, state);
  job.set_detail(detail);
  return job;
}

TEST(JobJson, SaysWhoseJobItIs) {
  JobUpdate job = job_in(JobState::kQueued);
  job.set_submitter("ada");
  const nlohmann::json json = nlohmann::json::parse(job_json(job));
  EXPECT_EQ(json["job"], 3);
  EXPECT_EQ(json["submitter"], "ada");
}

TEST(JobJson, SaysWhatTheJobWasAskedFor) {
  JobUpdate job = job_in(JobState::kQueued);
  tunefarm::tune::v1::JobSpec& spec = *job.mutable_spec();
  spec.set_model_name("mlp.onnx");
  spec.set_target("x86_64");
  spec.set_device_key("desk");
  spec.set_selector("room=lab3");
  spec.set_priority(5);
  spec.set_slots(4);
  spec.set_threads(2);
  spec.set_trials(60);
  spec.add_allowed_numerics("bf16");
  (*spec.mutable_dims())["batch"] = 4;
  (*spec.mutable_inputs())["rate"] = "16000";
  auto& open = *spec.add_open_dims();
  open.set_name("sequence");
  open.set_least(1);
  open.set_most(128);
  open.set_multiple_of(8);
  (*spec.add_anchors()->mutable_sizes())["sequence"] = 16;
  spec.set_seed(7);
  spec.set_strategy("random");
  const nlohmann::json json = nlohmann::json::parse(job_json(job));
  EXPECT_EQ(json["model"], "mlp.onnx");
  EXPECT_EQ(json["target"], "x86_64");
  EXPECT_EQ(json["device"], "desk");
  EXPECT_EQ(json["most_slots"], 4);
  EXPECT_EQ(json["selector"], "room=lab3");
  EXPECT_EQ(json["priority"], 5);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["allow"], std::vector<std::string>{"bf16"});
  EXPECT_EQ(json["dims"], (std::map<std::string, int64_t>{{"batch", 4}}));
  EXPECT_EQ(json["open_dims"].dump(), R"({"sequence":[1,128,8]})");
  EXPECT_EQ(json["anchors"].dump(), R"([{"sequence":16}])");
  EXPECT_EQ(json["inputs"].dump(), R"({"rate":"16000"})");
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["strategy"], "random");
  EXPECT_EQ(json["budget"]["trials"], 60);
  EXPECT_EQ(json["budget"]["minutes"], 0);
}

TEST(JobJson, HasProgressWhetherThereIsSomeOrNot) {
  JobUpdate job = job_in(JobState::kRunning);
  EXPECT_TRUE(nlohmann::json::parse(job_json(job)).at("progress").is_null());
  job.mutable_progress()->set_trials(4);
  job.mutable_progress()->set_remaining_s(19);
  EXPECT_EQ(nlohmann::json::parse(job_json(job)).at("progress").at("trials"), 4);
  EXPECT_EQ(nlohmann::json::parse(job_json(job)).at("progress").at("remaining_s"), 19);
  set_state(job, JobState::kCancelled);
  EXPECT_FALSE(nlohmann::json::parse(job_json(job)).at("progress").contains("remaining_s"));
}

TEST(JobsTable, ShowsPriorityAndBudgetBelowTheirNames) {
  JobUpdate job = job_in(JobState::kQueued, "waits for a free device");
  job.set_submitter("ada");
  job.set_trials(12);
  job.add_slots("m1/0");
  job.add_slots("m2/0");
  job.mutable_spec()->set_model_name("mlp.onnx");
  job.mutable_spec()->set_target("x86_64");
  job.mutable_spec()->set_device_key("desk");
  job.mutable_spec()->set_priority(5);
  job.mutable_spec()->set_trials(450);
  job.mutable_spec()->set_minutes(2.5);
  JobUpdate other = job_in(JobState::kQueued);
  other.set_job_id(12);
  other.mutable_spec()->set_model_name("a\nb");
  const std::vector<std::string> lines =
      absl::StrSplit(jobs_table({job, other}, 61'000'000'000, 0), '\n', absl::SkipEmpty());
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
  job.mutable_spec()->clear_minutes();
  job.mutable_spec()->set_trials(1);
  job.mutable_spec()->set_until_gain_percent(0.5);
  EXPECT_THAT(jobs_table({job}, 0, 0), testing::HasSubstr("1 trial, gain of 0.5%"));
}

TEST(JobsTable, FitsATerminalOfEightyColumns) {
  JobUpdate job =
      job_in(JobState::kRunning, "waits: no device with the key desk is free, 39 are leased to others");
  job.set_job_id(1234);
  job.set_submitter("ada");
  job.set_trials(123456);
  job.mutable_spec()->set_model_name("a-network-with-a-name-of-many-words-in-it.onnx");
  job.mutable_spec()->set_target("x86_64:cpu=znver4");
  job.mutable_spec()->set_device_key("desk-in-the-corner-of-the-lab");
  const std::string table = jobs_table({job}, 61'000'000'000, 80);
  for (const absl::string_view line : absl::StrSplit(table, '\n'))
    EXPECT_LE(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }), 80) << line;
  for (const char* kept : {"1234  running", "123456", "1m1s", "…"})
    EXPECT_THAT(table, testing::HasSubstr(kept));
}

TEST(StateText, OfAJobThatTriesAgainAndAgainIsTheSameAllTheTime) {
  for (const JobState state : {JobState::kQueued, JobState::kRunning})
    EXPECT_EQ(state_text(job_in(state, "waits: no device is free")), "waits: no device is free");
  EXPECT_EQ(state_text(job_in(JobState::kRunning)), "running");
  EXPECT_EQ(state_text(job_in(JobState::kFailed, "it waits: for nothing")), "failed: it waits: for nothing");
}

TEST(SlotsText, NamesTheFirstOfMany) {
  const auto text = [](const std::vector<std::string>& slots) {
    JobUpdate job;
    job.mutable_slots()->Assign(slots.begin(), slots.end());
    return slots_text(job);
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({"m1/0"}), "measures on 1 device slot: m1/0");
  EXPECT_EQ(text({"a/0", "b/0", "c/0", "d/0", "e/0", "f/0", "g/0", "h/0", "i/0"}),
            "measures on 9 device slots: a/0, b/0, c/0, d/0, e/0, f/0, g/0 and 2 others");
  EXPECT_THAT(text(std::vector<std::string>(128, "a/0")),
              testing::EndsWith("and 121 others (a job has 128 at most)"));
}

TEST(StateText, SaysNothingTwice) {
  for (const char* said : {"paused", "paused after 12 trials, 0 failed"})
    EXPECT_EQ(state_text(job_in(JobState::kPaused, said)), said);
  EXPECT_EQ(state_text(job_in(JobState::kCancelled, "cancelled while it was paused")),
            "cancelled while it was paused");
}

TEST(LeftJobText, SaysOfAPausedJobThatItStaysSo) {
  EXPECT_EQ(left_job_text(3, JobState::kRunning), "job 3 continues");
  EXPECT_EQ(left_job_text(3, JobState::kQueued), "job 3 is queued and will run without this command");
  EXPECT_EQ(left_job_text(3, JobState::kPaused), "job 3 is paused; `tuner resume 3` continues it");
  EXPECT_EQ(left_job_text(3, JobState::kDone), "job 3 is done");
}

TEST(ChangeJson, TellsProgramsWhatPeopleAreToldToo) {
  JobUpdate job = job_in(JobState::kPaused);
  for (const bool unchanged : {false, true}) {
    job.set_unchanged(unchanged);
    const nlohmann::json json = nlohmann::json::parse(change_json(job));
    EXPECT_EQ(json["state"], "paused");
    EXPECT_EQ(json["unchanged"], unchanged);
    EXPECT_FALSE(nlohmann::json::parse(job_json(job)).contains("unchanged")) << "of no change";
  }
}

TEST(ChangeText, SaysWhatTheJobIsAndWhetherItWasSoAlready) {
  JobUpdate job = job_in(JobState::kPaused);
  EXPECT_EQ(change_text(job, "stops"), "job 3 is paused");
  job.set_unchanged(true);
  EXPECT_EQ(change_text(job, "stops"), "job 3 is already paused");
  set_state(job, JobState::kRunning);
  EXPECT_EQ(change_text(job, "continues"), "job 3 is already running");
  job.set_unchanged(false);
  EXPECT_EQ(change_text(job, "stops"), "job 3 stops when its running trials finish");
}

}  // namespace
}  // namespace tf::tuner_cli
