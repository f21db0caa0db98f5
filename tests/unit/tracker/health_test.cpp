#include "tracker/health/health.h"

#include "tests/support/fake_clock.h"

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
              HasSubstr("16 different candidates failed in a row on this device, the last: timed out"));
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
  EXPECT_TRUE(health.golden_in_place());
  EXPECT_EQ(health.health(), Health::kHealthy);
  EXPECT_EQ(health.reason(), "");
}

TEST_F(HealthTest, OfADeviceThatRunsTheGoldenKernelCandidatesAloneAreNoMoreThanASuspicion) {
  DeviceHealth health = make();
  health.golden_in_place();
  for (size_t i = 1; i <= 100; ++i) health.candidates_failed(i, "timed out");
  EXPECT_EQ(health.health(), Health::kSuspect);
  EXPECT_TRUE(health.wants_golden());
  EXPECT_TRUE(health.golden_in_place());
  EXPECT_EQ(health.health(), Health::kHealthy);
  health.golden_off("off", true);
  health.golden_in_place();
  ASSERT_EQ(health.health(), Health::kProbation);
  EXPECT_FALSE(health.candidates_failed(1, "timed out"));
  EXPECT_EQ(health.health(), Health::kProbation);
}

TEST_F(HealthTest, GoldenKernelThatIsOffAgainQuarantines) {
  DeviceHealth health = make();
  EXPECT_TRUE(health.golden_off("2 ms instead of 1 ms", false));
  EXPECT_EQ(health.health(), Health::kSuspect);
  EXPECT_FALSE(health.golden_off("2 ms instead of 1 ms", false)) << "another slot, at the same moment";
  EXPECT_EQ(health.health(), Health::kSuspect);
  EXPECT_TRUE(health.golden_off("2 ms instead of 1 ms", true));
  EXPECT_EQ(health.health(), Health::kQuarantined);
  EXPECT_THAT(health.reason(), HasSubstr("2 ms instead of 1 ms"));
}

TEST_F(HealthTest, ACandidateThatIsMeasuredClearsNoSuspicionOfTheGoldenKernel) {
  DeviceHealth health = make();
  health.candidates_failed(8, "crashed");
  EXPECT_TRUE(health.candidate_measured());
  EXPECT_EQ(health.health(), Health::kHealthy);
  health.golden_off("2 ms instead of 1 ms", false);
  EXPECT_FALSE(health.candidate_measured()) << "at twice its time, perhaps";
  EXPECT_EQ(health.health(), Health::kSuspect);
  EXPECT_TRUE(health.golden_in_place());
  health.candidates_failed(8, "crashed");
  health.golden_off("2 ms instead of 1 ms", false);
  EXPECT_FALSE(health.candidate_measured());
}

TEST_F(HealthTest, ADeviceThatIsLostIsSuspectUntilSomethingRunsThere) {
  DeviceHealth health = make();
  EXPECT_TRUE(health.lost());
  EXPECT_EQ(health.health(), Health::kSuspect);
  EXPECT_FALSE(health.lost());
  EXPECT_TRUE(health.candidate_measured());
  EXPECT_EQ(health.health(), Health::kHealthy);
}

TEST_F(HealthTest, GoldenKernelInPlaceEndsAQuarantineAndTwoMoreTheProbation) {
  DeviceHealth health = make();
  quarantine(health);
  EXPECT_FALSE(health.candidate_measured()) << "what ran before may come late";
  EXPECT_TRUE(health.golden_in_place());
  EXPECT_EQ(health.health(), Health::kProbation);
  EXPECT_TRUE(health.may_measure());
  EXPECT_FALSE(health.golden_in_place());
  EXPECT_FALSE(health.candidate_measured()) << "says nothing of its speed";
  EXPECT_TRUE(health.golden_in_place());
  EXPECT_EQ(health.health(), Health::kHealthy);
}

TEST_F(HealthTest, OneFailureEndsAProbation) {
  DeviceHealth by_candidates = make();
  quarantine(by_candidates);
  clock_.advance(options_.shortest_quarantine);
  ASSERT_TRUE(by_candidates.tick());
  EXPECT_TRUE(by_candidates.candidates_failed(1, "crashed"));
  EXPECT_EQ(by_candidates.health(), Health::kQuarantined);
  DeviceHealth by_golden = make();
  by_golden.golden_off("3 ms", true);
  by_golden.golden_in_place();
  EXPECT_TRUE(by_golden.golden_off("3 ms", false));
  EXPECT_EQ(by_golden.health(), Health::kQuarantined);
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
  health.golden_off("off", true);
  EXPECT_EQ(health.next_tick(), std::nullopt);
  clock_.advance(absl::Hours(100));
  EXPECT_FALSE(health.tick());
  EXPECT_FALSE(health.golden_off("off", true));
  EXPECT_TRUE(health.golden_in_place());
}

TEST_F(HealthTest, OperatorReadmitsAQuarantinedDeviceAndOneThatIsSuspect) {
  DeviceHealth health = make();
  EXPECT_FALSE(health.readmit());
  health.golden_off("off", false);
  EXPECT_TRUE(health.readmit());
  EXPECT_EQ(health.health(), Health::kHealthy);
  health.golden_off("off", true);
  EXPECT_TRUE(health.readmit());
  EXPECT_EQ(health.health(), Health::kProbation);
}

TEST_F(HealthTest, SuspicionDoesNotOutliveTheTracker) {
  DeviceHealth health = make();
  const StoredHealth before = health.stored();
  health.golden_off("off", false);
  EXPECT_EQ(health.stored(), before) << "nothing to write";
  EXPECT_EQ(make({.health = Health::kSuspect, .reason = "of an older tracker"}).health(), Health::kHealthy);
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
