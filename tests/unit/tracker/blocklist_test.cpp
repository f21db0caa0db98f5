#include "tracker/health/blocklist.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "proto/farm/v1/farm.pb.h"
#include "tests/support/fake_clock.h"
#include "tracker/health/blocklist_wire.h"

namespace tf::tracker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr absl::Duration kTimeout = absl::Seconds(1);

TrialOutcome outcome(const std::string& candidate, TrialEnd end, absl::Duration timeout = kTimeout,
                     const std::string& user = "") {
  return {
      .candidate = candidate, .user = user, .end = end, .run_timeout = timeout, .signal = 0, .detail = ""};
}

TrialOutcome outcome_of(const std::string& user, const std::string& candidate, TrialEnd end) {
  return outcome(candidate, end, kTimeout, user);
}

TEST(Blocklist, CandidateThatFailsOnTwoDevicesIsBadAndTheDevicesAreNot) {
  Blocklist blocklist;
  EXPECT_FALSE(blocklist.observe("a", outcome("c", TrialEnd::kCrashed)));
  EXPECT_FALSE(blocklist.observe("a", outcome("c", TrialEnd::kCrashed))) << "the same device again";
  EXPECT_EQ(blocklist.blocked_candidate("c", kTimeout), nullptr);
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 1u);
  EXPECT_TRUE(blocklist.observe("b", outcome("c", TrialEnd::kTimedOut)));
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 0u);
  EXPECT_EQ(blocklist.failures_in_a_row("b"), 0u);
  ASSERT_NE(blocklist.blocked_candidate("c", kTimeout), nullptr);
  EXPECT_THAT(blocklist.blocked_candidate("c", kTimeout)->devices, ElementsAre("a", "b"));
  blocklist.observe("a", outcome("c", TrialEnd::kCrashed));
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 0u) << "a bad candidate says nothing of a device";
}

TEST(Blocklist, DifferentCandidatesThatFailInARowAreCountedUntilOneIsMeasured) {
  Blocklist blocklist;
  for (int i = 0; i < 5; ++i) blocklist.observe("a", outcome("c" + std::to_string(i), TrialEnd::kCrashed));
  blocklist.observe("a", outcome("c5", TrialEnd::kNotMeasured));
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 6u);
  EXPECT_EQ(blocklist.failures_in_a_row("b"), 0u);
  blocklist.observe("a", outcome("x", TrialEnd::kOther));
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 6u);
  blocklist.observe("a", outcome("good", TrialEnd::kMeasured));
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 0u);
}

TEST(Blocklist, UserWhoseCandidatesFailWhereverTheyRunIsAtFaultAndNoDeviceIs) {
  Blocklist blocklist;
  for (int i = 0; i < 5; ++i) blocklist.observe("a", outcome_of("eve", absl::StrCat(i), TrialEnd::kTimedOut));
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 5u) << "it may be the device";
  for (int i = 5; i < 9; ++i) blocklist.observe("b", outcome_of("eve", absl::StrCat(i), TrialEnd::kTimedOut));
  EXPECT_EQ(blocklist.failures_in_a_row("b"), 0u) << "on the second device it is the user";
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 0u) << "and was all along";
  blocklist.observe("b", outcome_of("ada", "x", TrialEnd::kCrashed));
  EXPECT_EQ(blocklist.failures_in_a_row("b"), 1u) << "another's count";
}

TEST(Blocklist, UserOfWhomOneCandidateIsMeasuredElsewhereIsNotAtFault) {
  Blocklist blocklist;
  for (int i = 0; i < 5; ++i) {
    blocklist.observe("broken", outcome_of("ada", absl::StrCat("f", i), TrialEnd::kCrashed));
    blocklist.observe("good", outcome_of("ada", absl::StrCat("m", i), TrialEnd::kMeasured));
  }
  EXPECT_EQ(blocklist.failures_in_a_row("broken"), 5u);
}

TEST(Blocklist, DeviceThatCannotRunCandidatesIsToBlameWhoseverTheyAre) {
  Blocklist blocklist;
  for (const char* device : {"a", "b"}) blocklist.observe(device, outcome_of("eve", "c", TrialEnd::kCrashed));
  for (int i = 0; i < 5; ++i)
    blocklist.observe("a", outcome_of("eve", absl::StrCat(i), TrialEnd::kNotMeasured));
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 5u);
}

TEST(Blocklist, DeviceThatCannotRunACandidateSaysNothingOfTheCandidate) {
  Blocklist blocklist;
  blocklist.observe("a", outcome("c", TrialEnd::kNotMeasured));
  EXPECT_FALSE(blocklist.observe("b", outcome("c", TrialEnd::kNotMeasured)));
  EXPECT_EQ(blocklist.blocked_candidate("c", kTimeout), nullptr);
}

TEST(Blocklist, CandidateThatTimedOutIsRunAgainWithMoreTime) {
  Blocklist blocklist;
  blocklist.observe("a", outcome("c", TrialEnd::kTimedOut));
  blocklist.observe("b", outcome("c", TrialEnd::kTimedOut));
  EXPECT_NE(blocklist.blocked_candidate("c", kTimeout), nullptr);
  EXPECT_EQ(blocklist.blocked_candidate("c", 2 * kTimeout), nullptr);
  blocklist.observe("a", outcome("c", TrialEnd::kTimedOut, 2 * kTimeout));
  EXPECT_NE(blocklist.blocked_candidate("c", 2 * kTimeout), nullptr);
}

TEST(Blocklist, DevicesOfOneBoardCountOnce) {
  Blocklist blocklist;
  for (const char* device : {"box", "box/a", "box/b"})
    EXPECT_FALSE(blocklist.observe(device, outcome("c", TrialEnd::kCrashed))) << device;
  EXPECT_EQ(blocklist.blocked_candidate("c", kTimeout), nullptr);
  EXPECT_TRUE(blocklist.observe("box2/a", outcome("c", TrialEnd::kCrashed)));
  EXPECT_THAT(blocklist.blocked_candidate("c", kTimeout)->devices,
              ElementsAre("box", "box/a", "box/b", "box2/a"));
  EXPECT_EQ(blocklist.failures_in_a_row("box/a"), 0u);
}

TEST(Blocklist, EntriesEndAndTwoBoardsMustFailAnew) {
  rpc::FakeClock clock;
  Blocklist blocklist({}, clock);
  for (const char* device : {"a", "b"}) blocklist.observe(device, outcome("c", TrialEnd::kCrashed));
  clock.advance(Blocklist::kBlockedFor - absl::Seconds(1));
  EXPECT_NE(blocklist.blocked_candidate("c", kTimeout), nullptr);
  clock.advance(absl::Seconds(1));
  EXPECT_EQ(blocklist.blocked_candidate("c", kTimeout), nullptr);
  EXPECT_FALSE(blocklist.observe("a", outcome("c", TrialEnd::kCrashed)));
  EXPECT_TRUE(blocklist.observe("b", outcome("c", TrialEnd::kCrashed)));
}

TEST(Blocklist, PardonedCandidateBeginsWithACleanRecord) {
  Blocklist blocklist;
  EXPECT_FALSE(blocklist.pardon("c"));
  blocklist.observe("a", outcome("c", TrialEnd::kCrashed));
  EXPECT_FALSE(blocklist.pardon("c")) << "one failure blocks nothing";
  blocklist.observe("b", outcome("c", TrialEnd::kCrashed));
  EXPECT_TRUE(blocklist.pardon("c"));
  EXPECT_EQ(blocklist.blocked_candidate("c", kTimeout), nullptr);
  EXPECT_FALSE(blocklist.observe("b", outcome("c", TrialEnd::kCrashed)));
}

TEST(Blocklist, RemembersALimitedNumberOfFailuresOfADevice) {
  Blocklist blocklist({.open_failures = 3});
  for (int i = 0; i < 100; ++i)
    blocklist.observe(
        "a", outcome("c" + std::to_string(i), i % 2 == 0 ? TrialEnd::kCrashed : TrialEnd::kNotMeasured));
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 3u);
}

TEST(Blocklist, RepairedDeviceBeginsWithACleanRecord) {
  Blocklist blocklist;
  blocklist.observe("a", outcome("c", TrialEnd::kCrashed));
  blocklist.forgive("a");
  EXPECT_EQ(blocklist.failures_in_a_row("a"), 0u);
}

TEST(Blocklist, RemembersALimitedNumberOfCandidates) {
  Blocklist blocklist({.candidates = 3});
  for (int i = 0; i < 100; ++i) blocklist.observe("a", outcome("c" + std::to_string(i), TrialEnd::kCrashed));
  EXPECT_EQ(blocklist.candidates(), 3u);
  EXPECT_TRUE(blocklist.observe("b", outcome("c99", TrialEnd::kCrashed)));
  EXPECT_FALSE(blocklist.observe("b", outcome("c0", TrialEnd::kCrashed))) << "forgotten";
}

// Against the rule itself, computed from the whole history.
TEST(Blocklist, AgreesWithTheRuleOnRandomHistories) {
  std::mt19937_64 random(7);
  for (int history = 0; history < 2000; ++history) {
    Blocklist blocklist;
    std::map<std::string, std::set<std::string>> failed_on;
    std::map<std::string, std::set<std::string>> user_failed_on;  // since one was measured
    // By device: whose failures count there if their user is not at fault; each candidate once a user.
    std::map<std::string, std::map<std::string, std::set<std::string>>> failures;
    for (int event = 0; event < 40; ++event) {
      const std::string device = "d" + std::to_string(random() % 3);
      const std::string user = random() % 4 == 0 ? "" : "u" + std::to_string(random() % 2);
      const std::string candidate = user + " c" + std::to_string(random() % 6);
      const bool crashed = random() % 3 != 0;
      const bool was_blocked = failed_on[candidate].size() >= 2;
      blocklist.observe(device,
                        outcome_of(user, candidate, crashed ? TrialEnd::kCrashed : TrialEnd::kMeasured));
      if (!crashed) {
        failures[device].clear();
        user_failed_on[user].clear();
      } else if (!was_blocked) {
        failed_on[candidate].insert(device);
        if (!user.empty()) user_failed_on[user].insert(device);
        if (user_failed_on[user].size() < 2) failures[device][user].insert(candidate);
      }
      for (const auto& [name, devices] : failed_on) {
        EXPECT_EQ(blocklist.blocked_candidate(name, kTimeout) != nullptr, devices.size() >= 2) << name;
      }
      for (const auto& [name, users] : failures) {
        size_t open = 0;
        for (const auto& [whose, candidates] : users) {
          if (user_failed_on[whose].size() >= 2) continue;
          for (const std::string& each : candidates) open += failed_on[each].size() < 2 ? 1 : 0;
        }
        EXPECT_EQ(blocklist.failures_in_a_row(name), open) << name;
      }
    }
  }
}

TEST(Blocklist, RemembersOfTheLastFailureHowItEndedAndOneLine) {
  Blocklist blocklist;
  blocklist.observe("a", outcome("c", TrialEnd::kCrashed));
  TrialOutcome last = outcome("c", TrialEnd::kCrashed);
  last.signal = 11;
  last.detail = "killed by signal 11\n" + std::string(1 << 20, 'x');
  blocklist.observe("b", last);
  const BlockedCandidate* blocked_candidate = blocklist.blocked_candidate("c", kTimeout);
  ASSERT_NE(blocked_candidate, nullptr);
  EXPECT_EQ(blocked_candidate->signal, 11);
  EXPECT_EQ(blocked_candidate->detail, "killed by signal 11");
}

TEST(BlockedReply, IsTheKnownOutcomeUnderTheNewTrialsNameAndNothingElse) {
  const BlockedCandidate blocked_candidate{.end = TrialEnd::kTimedOut,
                                           .devices = {"a", "b"},
                                           .run_timeout = kTimeout,
                                           .signal = 9,
                                           .detail = "no answer after 1 s"};
  tunefarm::farm::v1::MeasureReply reply;
  ASSERT_TRUE(reply.ParseFromString(blocked_reply(blocked_candidate, "digest", "lease", 7, 42)));
  EXPECT_EQ(reply.sequence(), 42u);
  tunefarm::farm::v1::TrialResult& result = *reply.mutable_result();
  EXPECT_EQ(result.outcome(), tunefarm::farm::v1::OUTCOME_TIMED_OUT);
  EXPECT_EQ(result.signal(), 9);
  EXPECT_EQ(result.detail(), "blocked, not run: it failed on a and b; the last failure: no answer after 1 s");
  EXPECT_EQ(result.artifact_digest(), "digest");
  EXPECT_EQ(result.lease_id(), "lease");
  EXPECT_EQ(result.epoch(), 7u);
  EXPECT_EQ(result.sequence(), 42u);
}

}  // namespace
}  // namespace tf::tracker
