#include "tracker/health.h"

namespace tf::tracker {
namespace {

using testing::HasSubstr;

class HealthTest : public testing::Test {
 protected:
  DeviceHealth make(StoredHealth stored = {}) { return {clock_, options_, std::move(stored)}; }

  void quarantine(DeviceHealth& health) {
    for (size_t i = 1; i <= options_.quarantine_after; ++i) health.candidates_failed(i, "crashed");
    ASSERT_EQ(health.health(), Health::kQuarantined);
  }

  rpc::FakeClock clock_;
  HealthOptions options_;
};

TEST_F(HealthTest, FailuresInARowMakeADeviceSuspectAndThenQuarantineIt) {
  DeviceHealth health = make();
  for (size_t i = 1; i < 8; ++i) EXPECT_FALSE(health.candidates_failed(i, "crashed"));
  EXPECT_TRUE(health.candidates_failed(8, "crashed"));
  EXPECT_EQ(health.health(), Health::kSuspect);
  EXPECT_TRUE(health.may_measure());
  EXPECT_TRUE(health.wants_golden());
  for (size_t i = 9; i < 16; ++i) EXPECT_FALSE(health.candidates_failed(i, "crashed"));
  EXPECT_TRUE(health.candidates_failed(16, "timed out"));
  EXPECT_EQ(health.health(), Health::kQuarantined);
  EXPECT_FALSE(health.may_measure());
  EXPECT_THAT(health.reason(),
              HasSubstr("16 different candidates failed here in a row, the last: timed out"));
}

TEST_F(HealthTest, ZeroNeverQuarantinesForCandidates) {
  options_.quarantine_after = 0;
  DeviceHealth health = make();
  EXPECT_FALSE(health.candidates_failed(1000, "crashed"));
  EXPECT_EQ(health.health(), Health::kHealthy);
}

TEST_F(HealthTest, GoldenKernelInPlaceClearsASuspicion) {
  DeviceHealth health = make();
  health.candidates_failed(8, "crashed");
  EXPECT_TRUE(health.golden(true, ""));
  EXPECT_EQ(health.health(), Health::kHealthy);
  EXPECT_EQ(health.reason(), "");
}

TEST_F(HealthTest, GoldenKernelThatIsOffTwiceQuarantines) {
  DeviceHealth health = make();
  EXPECT_TRUE(health.golden(false, "2 ms instead of 1 ms"));
  EXPECT_EQ(health.health(), Health::kSuspect);
  EXPECT_TRUE(health.golden(false, "2 ms instead of 1 ms"));
  EXPECT_EQ(health.health(), Health::kQuarantined);
  EXPECT_THAT(health.reason(), HasSubstr("2 ms instead of 1 ms"));
}

TEST_F(HealthTest, GoldenKernelInPlaceEndsAQuarantineAndTwoMoreTheProbation) {
  DeviceHealth health = make();
  quarantine(health);
  EXPECT_FALSE(health.candidate_measured()) << "what ran before may come late";
  EXPECT_TRUE(health.golden(true, ""));
  EXPECT_EQ(health.health(), Health::kProbation);
  EXPECT_TRUE(health.may_measure());
  EXPECT_FALSE(health.golden(true, ""));
  EXPECT_TRUE(health.candidate_measured());
  EXPECT_EQ(health.health(), Health::kHealthy);
}

TEST_F(HealthTest, OneFailureEndsAProbation) {
  DeviceHealth health = make();
  quarantine(health);
  health.golden(true, "");
  EXPECT_TRUE(health.candidates_failed(1, "crashed"));
  EXPECT_EQ(health.health(), Health::kQuarantined);
  health.golden(true, "");
  EXPECT_TRUE(health.golden(false, "3 ms"));
  EXPECT_EQ(health.health(), Health::kQuarantined);
}

TEST_F(HealthTest, QuarantineWithoutGoldenKernelEndsInTimeAndDoublesEachTime) {
  DeviceHealth health = make();
  absl::Duration expected = options_.shortest_quarantine;
  quarantine(health);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(health.next_tick(), clock_.now() + expected);
    clock_.advance(expected - absl::Nanoseconds(1));
    EXPECT_FALSE(health.tick());
    clock_.advance(absl::Nanoseconds(1));
    EXPECT_TRUE(health.tick());
    EXPECT_EQ(health.health(), Health::kProbation);
    EXPECT_EQ(health.next_tick(), std::nullopt);
    health.candidates_failed(1, "crashed");
    expected = std::min(2 * expected, options_.longest_quarantine);
  }
  EXPECT_EQ(health.next_tick(), clock_.now() + options_.longest_quarantine);
}

TEST_F(HealthTest, QuarantineOfADeviceThatRunsTheGoldenKernelEndsOnlyByIt) {
  DeviceHealth health = make();
  health.golden(false, "off");
  health.golden(false, "off");
  EXPECT_EQ(health.next_tick(), std::nullopt);
  clock_.advance(absl::Hours(100));
  EXPECT_FALSE(health.tick());
  EXPECT_FALSE(health.golden(false, "off"));
  EXPECT_TRUE(health.golden(true, ""));
}

TEST_F(HealthTest, OperatorReadmitsAQuarantinedDevice) {
  DeviceHealth health = make();
  EXPECT_FALSE(health.readmit());
  quarantine(health);
  EXPECT_TRUE(health.readmit());
  EXPECT_EQ(health.health(), Health::kProbation);
}

TEST_F(HealthTest, QuarantineSurvivesARestartAndBeginsItsTimeAgain) {
  DeviceHealth health = make();
  quarantine(health);
  clock_.advance(options_.shortest_quarantine / 2);
  const DeviceHealth after = make(health.stored());
  EXPECT_EQ(after.health(), Health::kQuarantined);
  EXPECT_EQ(after.reason(), health.reason());
  EXPECT_EQ(after.next_tick(), clock_.now() + options_.shortest_quarantine);
}

}  // namespace
}  // namespace tf::tracker
