// What is said of replays.

#include "tests/bench/search/replay/report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace tf::replay {
namespace {

using testing::HasSubstr;
using testing::Not;

// One run, which has its best from the first trial on.
Runs run(size_t trials, double best_seconds) {
  std::vector<Step> steps;
  for (size_t i = 1; i <= trials; ++i) steps.push_back({static_cast<double>(i), best_seconds});
  return {steps};
}

class Replays : public testing::Test {
 protected:
  Replays() { task_.task.label = "gemm"; }

  Replayed replayed(std::map<std::string, Runs> curves, double coverage = 1) {
    return {&task_, coverage, /*best_seconds=*/1, std::move(curves)};
  }
  static std::string printed(const std::vector<Replayed>& replays) {
    testing::internal::CaptureStdout();
    print_replays(replays, "ansor", /*peak_gflops=*/0);
    return testing::internal::GetCapturedStdout();
  }
  static nlohmann::json json(const std::vector<Replayed>& replays) {
    return replays_json(replays, "ansor", /*peak_gflops=*/0);
  }

  BenchTask task_;
};

TEST_F(Replays, ShorterThanARoundOfTheBaselineAreNotCompared) {
  const std::vector<Replayed> replays = {replayed({{"ansor", run(63, 2)}, {"evolutionary", run(63, 1)}})};
  const std::string text = printed(replays);
  EXPECT_THAT(text, HasSubstr("\nNothing is compared with ansor: that takes runs of at least 64 trials"));
  EXPECT_THAT(text, Not(HasSubstr("to the same quality")));
  EXPECT_THAT(text, Not(HasSubstr("needs")));
  const nlohmann::json report = json(replays);
  EXPECT_TRUE(report.at("means").empty());
  ASSERT_EQ(report.at("runs").size(), 2u);
  for (const nlohmann::json& row : report.at("runs")) {
    EXPECT_FALSE(row.contains("same_quality"));
    EXPECT_TRUE(row.at("quality_at_64").is_null());
    EXPECT_TRUE(row.at("share_of_peak_at_64").is_null());
    EXPECT_FALSE(row.at("quality_at_end").is_null());
  }
}

TEST_F(Replays, OfARoundOfTheBaselineAreCompared) {
  const std::vector<Replayed> replays = {replayed({{"ansor", run(64, 2)}, {"evolutionary", run(64, 1)}})};
  const std::string text = printed(replays);
  EXPECT_THAT(text, HasSubstr("to the same quality as ansor"));
  EXPECT_THAT(text, HasSubstr("of the device-seconds of ansor (1 task, geometric mean)"));
  EXPECT_THAT(text, Not(HasSubstr("Nothing is compared")));
  EXPECT_EQ(json(replays).at("runs").at(1).at("quality_at_64"), 1);
}

TEST_F(Replays, ThatSpentTheirSpaceStayAsTheyEnded) {
  const nlohmann::json report = json({replayed({{"ansor", run(256, 2)}, {"evolutionary", run(256, 1)}}),
                                      replayed({{"ansor", run(30, 2)}, {"evolutionary", run(30, 1)}})});
  EXPECT_EQ(report.at("runs").at(2).at("quality_at_64"), 0.5);
  EXPECT_EQ(report.at("means").at(0).at("tasks"), 2);
}

TEST_F(Replays, ThatThePoolDoesNotKnowToTheirEndSayNothingOfLaterTrials) {
  const nlohmann::json report = json({replayed({{"ansor", run(256, 2)}, {"evolutionary", run(256, 1)}}),
                                      replayed({{"ansor", run(30, 2)}, {"evolutionary", run(30, 1)}}, 0.1)});
  EXPECT_TRUE(report.at("runs").at(2).at("quality_at_64").is_null());
  EXPECT_EQ(report.at("means").at(0).at("tasks"), 1);
}

TEST_F(Replays, WithoutTheBaselineHaveNoHeadingOfAComparison) {
  const std::string text = printed({replayed({{"evolutionary", run(64, 1)}})});
  EXPECT_THAT(text, Not(HasSubstr("ansor")));
  EXPECT_THAT(text, HasSubstr("64:peak\n"));
}

}  // namespace
}  // namespace tf::replay
