#include "tests/unit/tracker/farm_fixture.h"

namespace tf::tracker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FarmHealthTest : public FarmTest {};

TEST_F(FarmHealthTest, CandidateThatCrashedOnTwoDevicesIsAnsweredWithoutBeingRun) {
  const auto a = attach("a");
  const auto b = attach("b");
  const TrialFacts bad{.candidate = "bad", .run_timeout = absl::Seconds(1)};
  for (const auto& [device, session] : {std::pair("a", a), std::pair("b", b)}) {
    const Lease granted = lease();
    EXPECT_EQ(granted.slot.device_id, device);
    const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
    farm_->submit(*stream, 1, "trial", bad);
    AgentReply crashed = reply(granted, 1);
    crashed.end = TrialEnd::kCrashed;
    farm_->report(session, {crashed}, false);
  }
  attach("c");
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, holder);
  const int wakes = holder->wakes;
  farm_->submit(*stream, 1, "trial", bad);
  EXPECT_GT(holder->wakes, wakes);
  EXPECT_EQ(farm_->take_replies(*stream).size(), 1u);
  EXPECT_EQ(farm_->devices()[2].slots[0].unanswered, 0u);
  farm_->submit(*stream, 2, "trial", {.candidate = "other", .run_timeout = absl::Seconds(1)});
  EXPECT_EQ(farm_->devices()[2].slots[0].unanswered, 1u);
}

TEST_F(FarmHealthTest, DeviceOnWhichManyCandidatesCrashIsQuarantinedUntilItsGoldenKernelIsInPlace) {
  options_.health.quarantine_after = 4;
  open();
  std::vector<std::string> distress;
  farm_->on_distress([&](const std::string& device, const std::string&) { distress.push_back(device); });
  auto session = attach("a");
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, holder);
  for (uint64_t i = 1; i <= 4; ++i) {
    farm_->submit(*stream, i, "trial",
                  {.candidate = "c" + std::to_string(i), .run_timeout = absl::Seconds(1)});
    AgentReply crashed = reply(granted, i);
    crashed.end = TrialEnd::kCrashed;
    EXPECT_TRUE(holder->closed.ok()) << i;
    farm_->report(session, {crashed}, false);
  }
  EXPECT_TRUE(absl::IsNotFound(holder->closed)) << holder->closed;
  EXPECT_THAT(std::string(holder->closed.message()), HasSubstr("quarantined"));
  EXPECT_THAT(distress, ElementsAre("a"));
  EXPECT_TRUE(farm_->take_desired(session).at(0).golden_wanted);
  EXPECT_THAT(std::string(acquire("box")->grant->status().message()), HasSubstr("1 quarantined"));
  open();  // remembered
  session = attach("a");
  EXPECT_TRUE(absl::IsUnavailable(acquire("box")->grant->status()));
  const auto waiter = acquire("box", absl::Minutes(5), "other");
  farm_->report_golden(
      session, {{.slot = 0, .kernel = "k", .time_ns = 1'000'000, .spread = 0.01, .taken_at = clock_.now()}});
  EXPECT_EQ(farm_->devices()[0].health, Health::kProbation);
  EXPECT_TRUE(waiter->grant && waiter->grant->ok());
}

TEST_F(FarmHealthTest, QuarantineEndsInTimeWhereNoGoldenKernelRuns) {
  options_.health.quarantine_after = 1;
  open();
  const auto session = attach("a");
  const Lease granted = lease();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  farm_->submit(*stream, 1, "trial", {.candidate = "c", .run_timeout = absl::Seconds(1)});
  AgentReply crashed = reply(granted, 1);
  crashed.end = TrialEnd::kCrashed;
  farm_->report(session, {crashed}, false);
  EXPECT_EQ(farm_->tick(), clock_.now() + options_.health.shortest_quarantine);
  clock_.advance(options_.health.shortest_quarantine);
  farm_->tick();
  EXPECT_EQ(farm_->devices()[0].health, Health::kProbation);
  EXPECT_TRUE(acquire("box")->grant->ok());
}

TEST_F(FarmHealthTest, DeviceLostWhileItMeasuresIsInDistress) {
  std::vector<std::string> distress;
  farm_->on_distress([&](const std::string& device, const std::string&) { distress.push_back(device); });
  const auto session = attach("a");
  const Lease granted = lease();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  farm_->submit(*stream, 1, "trial", {.candidate = "c", .run_timeout = absl::Seconds(1)});
  farm_->detach(session);
  clock_.advance(options_.agent_grace);
  farm_->tick();
  EXPECT_THAT(distress, ElementsAre("a"));
  farm_->detach(attach("a"));
  clock_.advance(options_.agent_grace);
  farm_->tick();
  EXPECT_EQ(distress.size(), 1u) << "idle devices may come and go";
}

TEST_F(FarmHealthTest, GoldenBaselineSurvivesARestartAndTheDriftIsAgainstIt) {
  auto session = attach("a");
  const auto report = [&](int64_t time_ns) {
    clock_.advance(absl::Minutes(1));
    farm_->report_golden(session, {{.slot = 0, .kernel = "k", .time_ns = time_ns, .taken_at = clock_.now()}});
  };
  for (int i = 0; i < 5; ++i) report(1'000'000);
  open();
  session = attach("a");
  report(1'050'000);
  EXPECT_NEAR(farm_->devices()[0].slots[0].golden.drift(), 0.05, 1e-9);
  EXPECT_EQ(farm_->devices()[0].health, Health::kHealthy);
  report(1'500'000);
  EXPECT_EQ(farm_->devices()[0].health, Health::kSuspect);
  report(1'500'000);
  EXPECT_EQ(farm_->devices()[0].health, Health::kQuarantined);
  ASSERT_TRUE(farm_->readmit("a").ok());
  EXPECT_EQ(farm_->devices()[0].health, Health::kProbation);
  EXPECT_TRUE(absl::IsNotFound(farm_->readmit("nobody")));
}

}  // namespace
}  // namespace tf::tracker
