#include "tracker/blame.h"

#include <random>

#include "proto/farm/v1/farm.pb.h"

namespace tf::tracker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr absl::Duration kTimeout = absl::Seconds(1);

TrialOutcome outcome(const std::string& candidate, TrialEnd end, absl::Duration timeout = kTimeout) {
  return {.candidate = candidate, .end = end, .run_timeout = timeout, .reply = ""};
}

TEST(Blame, CandidateThatFailsOnTwoDevicesIsBadAndTheDevicesAreNot) {
  Blame blame;
  EXPECT_FALSE(blame.observe("a", outcome("c", TrialEnd::kCrashed)).convicted);
  EXPECT_FALSE(blame.observe("a", outcome("c", TrialEnd::kCrashed)).convicted) << "the same device again";
  EXPECT_EQ(blame.conviction("c", kTimeout), nullptr);
  EXPECT_EQ(blame.failures_in_a_row("a"), 1u);
  const Blame::Verdict verdict = blame.observe("b", outcome("c", TrialEnd::kTimedOut));
  EXPECT_TRUE(verdict.convicted);
  EXPECT_THAT(verdict.exonerated, ElementsAre("a", "b"));
  EXPECT_EQ(blame.failures_in_a_row("a"), 0u);
  EXPECT_EQ(blame.failures_in_a_row("b"), 0u);
  ASSERT_NE(blame.conviction("c", kTimeout), nullptr);
  EXPECT_THAT(blame.conviction("c", kTimeout)->devices, ElementsAre("a", "b"));
  blame.observe("a", outcome("c", TrialEnd::kCrashed));
  EXPECT_EQ(blame.failures_in_a_row("a"), 0u) << "a bad candidate says nothing of a device";
}

TEST(Blame, DifferentCandidatesThatFailInARowAreCountedUntilOneIsMeasured) {
  Blame blame;
  for (int i = 0; i < 5; ++i) blame.observe("a", outcome("c" + std::to_string(i), TrialEnd::kCrashed));
  blame.observe("a", outcome("c5", TrialEnd::kNotMeasured));
  EXPECT_EQ(blame.failures_in_a_row("a"), 6u);
  EXPECT_EQ(blame.failures_in_a_row("b"), 0u);
  blame.observe("a", outcome("x", TrialEnd::kOther));
  EXPECT_EQ(blame.failures_in_a_row("a"), 6u);
  blame.observe("a", outcome("good", TrialEnd::kMeasured));
  EXPECT_EQ(blame.failures_in_a_row("a"), 0u);
}

TEST(Blame, DeviceThatCannotRunACandidateSaysNothingOfTheCandidate) {
  Blame blame;
  blame.observe("a", outcome("c", TrialEnd::kNotMeasured));
  EXPECT_FALSE(blame.observe("b", outcome("c", TrialEnd::kNotMeasured)).convicted);
  EXPECT_EQ(blame.conviction("c", kTimeout), nullptr);
}

TEST(Blame, CandidateThatTimedOutIsRunAgainWithMoreTime) {
  Blame blame;
  blame.observe("a", outcome("c", TrialEnd::kTimedOut));
  blame.observe("b", outcome("c", TrialEnd::kTimedOut));
  EXPECT_NE(blame.conviction("c", kTimeout), nullptr);
  EXPECT_EQ(blame.conviction("c", 2 * kTimeout), nullptr);
  blame.observe("a", outcome("c", TrialEnd::kTimedOut, 2 * kTimeout));
  EXPECT_NE(blame.conviction("c", 2 * kTimeout), nullptr);
}

TEST(Blame, RepairedDeviceBeginsWithACleanRecord) {
  Blame blame;
  blame.observe("a", outcome("c", TrialEnd::kCrashed));
  blame.forgive("a");
  EXPECT_EQ(blame.failures_in_a_row("a"), 0u);
}

TEST(Blame, RemembersALimitedNumberOfCandidates) {
  Blame blame(3);
  for (int i = 0; i < 100; ++i) blame.observe("a", outcome("c" + std::to_string(i), TrialEnd::kCrashed));
  EXPECT_EQ(blame.candidates(), 3u);
  EXPECT_TRUE(blame.observe("b", outcome("c99", TrialEnd::kCrashed)).convicted);
  EXPECT_FALSE(blame.observe("b", outcome("c0", TrialEnd::kCrashed)).convicted) << "forgotten";
}

// Against the rule itself, computed from the whole history.
TEST(Blame, AgreesWithTheRuleOnRandomHistories) {
  std::mt19937_64 random(7);
  for (int history = 0; history < 2000; ++history) {
    Blame blame;
    std::map<std::string, std::set<std::string>> failed_on;
    std::map<std::string, std::set<std::string>> failures;
    for (int event = 0; event < 40; ++event) {
      const std::string device = "d" + std::to_string(random() % 3);
      const std::string candidate = "c" + std::to_string(random() % 6);
      const bool crashed = random() % 3 != 0;
      blame.observe(device, outcome(candidate, crashed ? TrialEnd::kCrashed : TrialEnd::kMeasured));
      if (crashed) {
        failed_on[candidate].insert(device);
        failures[device].insert(candidate);
      } else {
        failures[device].clear();
      }
      for (const auto& [name, devices] : failed_on) {
        EXPECT_EQ(blame.conviction(name, kTimeout) != nullptr, devices.size() >= 2) << name;
      }
      for (const auto& [name, candidates] : failures) {
        size_t open = 0;
        for (const std::string& each : candidates) open += failed_on[each].size() < 2 ? 1 : 0;
        EXPECT_EQ(blame.failures_in_a_row(name), open) << name;
      }
    }
  }
}

TEST(ConvictedReply, IsTheKnownOutcomeUnderTheNewTrialsName) {
  tunefarm::farm::v1::MeasureReply last;
  last.mutable_result()->set_outcome(tunefarm::farm::v1::OUTCOME_TIMED_OUT);
  last.mutable_result()->set_detail("no answer after 1 s");
  last.mutable_result()->set_lease_id("old");
  const Conviction conviction{.end = TrialEnd::kTimedOut,
                              .devices = {"a", "b"},
                              .run_timeout = kTimeout,
                              .reply = last.SerializeAsString()};
  tunefarm::farm::v1::MeasureReply reply;
  ASSERT_TRUE(reply.ParseFromString(convicted_reply(conviction, "digest", "lease", 7, 42)));
  EXPECT_EQ(reply.sequence(), 42u);
  EXPECT_EQ(reply.result().outcome(), tunefarm::farm::v1::OUTCOME_TIMED_OUT);
  EXPECT_EQ(reply.result().detail(), "not run: it failed on a and b, at last: no answer after 1 s");
  EXPECT_EQ(reply.result().artifact_digest(), "digest");
  EXPECT_EQ(reply.result().lease_id(), "lease");
  EXPECT_EQ(reply.result().epoch(), 7u);
  EXPECT_EQ(reply.result().sequence(), 42u);
}

TEST(ConvictedReply, OfACandidateThatNobodyAnsweredForIsACrash) {
  const Conviction conviction{.end = TrialEnd::kLost, .devices = {"a", "b"}, .run_timeout = {}, .reply = ""};
  tunefarm::farm::v1::MeasureReply reply;
  ASSERT_TRUE(reply.ParseFromString(convicted_reply(conviction, "digest", "lease", 7, 42)));
  EXPECT_EQ(reply.result().outcome(), tunefarm::farm::v1::OUTCOME_CRASHED);
  EXPECT_THAT(reply.result().detail(), HasSubstr("failed on a and b"));
}

}  // namespace
}  // namespace tf::tracker
