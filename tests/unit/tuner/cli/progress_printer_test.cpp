#include "tuner/cli/progress_printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tf::tuner_cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ProgressPrinter, LeavesNoTimeToWhatIsOver) {
  session::Progress progress;
  progress.set_trials(4);
  progress.set_remaining_s(19);
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  ProgressPrinter(ProgressStyle::kPipe, 60, 7).finish(progress, std::nullopt);
  ProgressPrinter(ProgressStyle::kJson, 60, 7).finish(progress, std::nullopt);
  const std::string err = testing::internal::GetCapturedStderr();
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_THAT(err, HasSubstr("4/60 trials"));
  EXPECT_THAT(err, Not(HasSubstr("left")));
  const nlohmann::json last = nlohmann::json::parse(out.substr(out.find('{')));
  EXPECT_EQ(last["trials"], 4);
  EXPECT_FALSE(last.contains("remaining_s"));
}

TEST(ProgressPrinter, ShowsAtOnceThatTheFinalsBegin) {
  session::Progress progress;
  testing::internal::CaptureStderr();
  ProgressPrinter printer(ProgressStyle::kPipe, 60, 7);
  progress.set_trials(3);
  printer.show(progress);
  progress.set_trials(4);
  printer.show(progress);
  progress.set_phase(session::PHASE_FINALS);
  printer.show(progress);
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(err, '\n'), 2) << err;
  EXPECT_THAT(err, HasSubstr("re-measuring finalists"));
}

TEST(ProgressPrinter, HasNoTableOfWhatWasNeverMeasured) {
  session::Progress progress;
  progress.add_tasks()->set_label("matmul");
  const auto printed = [&progress](ProgressStyle style) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    ProgressPrinter(style, 60, 7).finish(progress, std::nullopt);
    const std::string err = testing::internal::GetCapturedStderr();
    return testing::internal::GetCapturedStdout() + err;
  };
  EXPECT_EQ(printed(ProgressStyle::kPipe), "");
  EXPECT_THAT(printed(ProgressStyle::kJson), HasSubstr("matmul")) << "programs are told all the same";
  progress.mutable_tasks(0)->set_best_ns(1000);  // by an earlier job
  EXPECT_THAT(printed(ProgressStyle::kPipe), HasSubstr("matmul"));
  progress.mutable_tasks(0)->clear_best_ns();
  progress.mutable_tasks(0)->set_given_up("refused");
  EXPECT_THAT(printed(ProgressStyle::kPipe), HasSubstr("gave up matmul: refused"));
  progress.mutable_tasks(0)->clear_given_up();
  progress.mutable_tasks(0)->set_trials(3);  // all failed
  progress.set_trials(3);
  EXPECT_THAT(printed(ProgressStyle::kPipe), HasSubstr("no trial has succeeded yet"));
}

TEST(ProgressPrinter, ShowsTheEndOnceWhetherItSucceededOrNot) {
  const auto printed = [](ProgressStyle style, bool finishes) {
    session::Progress progress;
    progress.set_trials(4);
    progress.set_phase(session::PHASE_OVER);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    {
      ProgressPrinter printer(style, 60, 7);
      printer.show(progress);
      if (finishes) printer.finish(progress, std::nullopt);
    }
    const std::string err = testing::internal::GetCapturedStderr();
    return testing::internal::GetCapturedStdout() + err;
  };
  for (const bool finishes : {false, true}) {
    const std::string lines = printed(ProgressStyle::kPipe, finishes);
    EXPECT_EQ(lines.find("4/60 trials"), lines.rfind("4/60 trials")) << lines;
    EXPECT_THAT(lines, HasSubstr("4/60 trials"));
    const std::string json = printed(ProgressStyle::kJson, finishes);
    EXPECT_EQ(std::ranges::count(json, '\n'), 1) << json;
    EXPECT_EQ(nlohmann::json::parse(json)["phase"], "PHASE_OVER");
  }
  EXPECT_THAT(printed(ProgressStyle::kTerminal, false), testing::EndsWith("trials  0.0/s\n"));
}

TEST(ProgressPrinter, ShowsWhatHoldsMeanwhileInTheLineThatIsUpdated) {
  const auto said = [](ProgressStyle style) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    {
      ProgressPrinter printer(style, 60, 7);
      printer.say_meanwhile("no answer");
      printer.say("an answer");
    }
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "") << "which is the results'";
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(ProgressStyle::kTerminal), "\r\x1b[Kno answer\r\x1b[Kan answer\n");
  EXPECT_EQ(said(ProgressStyle::kPipe), "no answer\nan answer\n");
  EXPECT_EQ(said(ProgressStyle::kJson), "no answer\nan answer\n");
}

}  // namespace
}  // namespace tf::tuner_cli
