// The checker against good histories, and against one bad history for each of its rules.

#include "tests/farm/history_checker.h"

#include <unistd.h>

#include <fstream>

#include "base/files/temporary_folder.h"
#include "base/testing/event_log.h"
#include "tests/farm/harness.h"

namespace tf::farm_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

Event lease_event(const std::string& kind, const std::string& lease, uint64_t epoch, int64_t at_ns = 0) {
  return {.kind = kind,
          .process = "tracker",
          .pid = 1,
          .at_ns = at_ns,
          .lease = lease,
          .epoch = epoch,
          .slot = "box/0",
          .term_ms = 10'000};
}

Event trial(const std::string& kind, const std::string& lease, uint64_t epoch, uint64_t sequence,
            int64_t at_ns = 0) {
  return {.kind = kind,
          .process = "agent",
          .pid = 2,
          .at_ns = at_ns,
          .lease = lease,
          .epoch = epoch,
          .sequence = sequence};
}

Event result(const std::string& kind, const std::string& candidate, const std::string& lease, uint64_t epoch,
             uint64_t sequence) {
  return {.kind = kind,
          .process = "tuner",
          .pid = 3,
          .lease = lease,
          .epoch = epoch,
          .sequence = sequence,
          .candidate = candidate};
}

Event candidate(const std::string& kind, const std::string& name, const std::string& outcome = "") {
  return {.kind = kind, .process = "tuner", .pid = 3, .candidate = name, .outcome = outcome};
}

Event best(uint64_t ns) {
  return {.kind = "best_changed", .process = "tuner", .candidate = "task", .ns = ns};
}

std::vector<Event> good_history() {
  return {candidate("candidate_proposed", "a"),     lease_event("lease_granted", "L", 1),
          trial("lease_accepted", "L", 1, 0),       trial("trial_started", "L", 1, 1),
          trial("trial_ended", "L", 1, 1),          trial("reply_relayed", "L", 1, 1),
          result("result_durable", "a", "L", 1, 1), best(20),
          result("acknowledged", "", "L", 1, 1),    candidate("candidate_ended", "a", "ok"),
          lease_event("lease_ended", "L", 1),       lease_event("lease_granted", "M", 2),
          trial("lease_accepted", "M", 2, 0),       best(10)};
}

const std::vector<StoredRow> kRows = {{"L", 1, 1, "a"}};

// The one thing that is wrong with the good history and these at its end.
std::string problem(const std::vector<Event>& more, const std::vector<StoredRow>& rows = kRows) {
  std::vector<Event> history = good_history();
  history.insert(history.end(), more.begin(), more.end());
  const std::vector<std::string> problems = check_history(history, rows);
  EXPECT_EQ(problems.size(), 1u) << testing::PrintToString(problems);
  return problems.empty() ? "" : problems[0];
}

TEST(HistoryChecker, FindsNothingWrongWithAGoodHistory) {
  EXPECT_THAT(check_history(good_history(), kRows), IsEmpty());
}

TEST(HistoryChecker, MissesAnAcknowledgedMeasurement) {
  const std::vector<std::string> problems = check_history(good_history(), {});
  EXPECT_THAT(problems, ElementsAre("(L, 1, 1) was durable, but is not in the database",
                                    "(L, 1, 1) was acknowledged, but is not in the database"));
}

TEST(HistoryChecker, SeesAnAcknowledgementBeforeTheDisk) {
  EXPECT_EQ(problem({result("acknowledged", "", "M", 2, 1)}, {kRows[0], {"M", 2, 1, "b"}}),
            "(M, 2, 1) was acknowledged before it was durable");
}

TEST(HistoryChecker, SeesTwoRowsOfOneName) {
  EXPECT_EQ(problem({}, {kRows[0], {"L", 1, 1, "b"}}), "(L, 1, 1) has two rows");
}

TEST(HistoryChecker, SeesACandidateStoredTwice) {
  EXPECT_EQ(problem({}, {kRows[0], {"M", 2, 1, "a"}}), "a is stored twice");
}

TEST(HistoryChecker, SeesANameThatMeansTwoCandidates) {
  const std::vector<std::string> problems = check_history(
      {result("result_durable", "a", "L", 1, 1), result("result_durable", "b", "L", 1, 1)}, kRows);
  EXPECT_THAT(problems, testing::Contains("(L, 1, 1) names a and b"));
}

TEST(HistoryChecker, SeesAnEpochGrantedTwice) {
  EXPECT_THAT(problem({lease_event("lease_ended", "M", 2), lease_event("lease_granted", "N", 2)}),
              HasSubstr("has epoch 2, but 2 was granted before"));
}

TEST(HistoryChecker, SeesTwoLeasesOnASlot) {
  EXPECT_THAT(problem({lease_event("lease_granted", "N", 3)}), HasSubstr("while M was active"));
}

TEST(HistoryChecker, TakesALeaseOfARestartedTrackerForTheOneThatIsActive) {
  std::vector<Event> history = good_history();
  history.push_back(lease_event("lease_restored", "N", 3));  // the log missed M's end and N's grant
  history.push_back(lease_event("lease_ended", "N", 3));
  history.push_back(lease_event("lease_granted", "O", 4));
  EXPECT_THAT(check_history(history, kRows), IsEmpty());
}

TEST(HistoryChecker, LetsATrackerThatLostItsStateForgetLeasesButNoEpoch) {
  std::vector<Event> history = good_history();
  history.push_back({.kind = "state_lost"});
  history.push_back(lease_event("lease_granted", "N", 3));
  EXPECT_THAT(check_history(history, kRows), IsEmpty());
  EXPECT_THAT(problem({{.kind = "state_lost"}, lease_event("lease_granted", "N", 2)}),
              HasSubstr("has epoch 2, but 2 was granted before"));
}

TEST(HistoryChecker, SeesAnAgentGoBackToAnOlderEpoch) {
  EXPECT_THAT(problem({trial("lease_accepted", "L", 1, 0)}), HasSubstr("accepted epoch 1 after 2"));
}

TEST(HistoryChecker, SeesATimeThatBecomesWorse) {
  EXPECT_EQ(problem({best(11)}), "the best of task became worse: 10 ns, then 11 ns");
}

TEST(HistoryChecker, SeesACandidateThatIsForgotten) {
  EXPECT_EQ(problem({candidate("candidate_proposed", "b")}), "b was proposed and never ended");
  std::vector<Event> history = good_history();
  history.push_back(candidate("candidate_proposed", "b"));
  EXPECT_THAT(check_history(history, kRows, {.job_finished = false}), IsEmpty());
}

TEST(HistoryChecker, SeesACandidateThatEndsInNoState) {
  EXPECT_EQ(problem({candidate("candidate_ended", "b")}), "b ended in no state");
}

TEST(HistoryChecker, SeesAReplyThatOutlivesItsLease) {
  EXPECT_EQ(problem({trial("reply_relayed", "L", 1, 2)}),
            "the reply of trial (L, 1, 2) was relayed after its lease's end");
}

TEST(HistoryChecker, SeesATrialOfASupersededLease) {
  EXPECT_THAT(problem({trial("trial_started", "L", 1, 2)}),
              HasSubstr("started after epoch 2 had been accepted"));
}

TEST(HistoryChecker, SeesATrialOfAnExpiredLease) {
  EXPECT_EQ(problem({trial("trial_started", "M", 2, 1, 12 * kSecond)}),
            "trial (M, 2, 1) was started after its lease had expired");
  std::vector<Event> renewed = good_history();
  renewed.push_back(lease_event("lease_renewed", "M", 2, 9 * kSecond));
  renewed.push_back(trial("trial_started", "M", 2, 1, 12 * kSecond));
  EXPECT_THAT(check_history(renewed, kRows), IsEmpty());
}

TEST(HistoryChecker, SeesATrialThatRunsOnAfterItsLease) {
  const std::vector<Event> late = {trial("trial_started", "M", 2, 1, 5 * kSecond),
                                   trial("trial_ended", "M", 2, 1, 12 * kSecond)};
  EXPECT_EQ(problem(late), "trial (M, 2, 1) ran on after its lease had expired");
  std::vector<Event> history = good_history();
  history.insert(history.end(), late.begin(), late.end());
  EXPECT_THAT(check_history(history, kRows, {.agent_stopped = absl::Seconds(3)}), IsEmpty());
  history.insert(history.end() - 1, lease_event("lease_renewed", "M", 2, 9 * kSecond));
  EXPECT_THAT(check_history(history, kRows), IsEmpty());
}

TEST(HistoryChecker, SeesTwoTrialsAtOnceOnASlot) {
  EXPECT_EQ(problem({trial("trial_started", "M", 2, 1), trial("trial_started", "M", 2, 2)}),
            "trial (M, 2, 2) was started while (M, 2, 1) ran on box/0");
}

TEST(HistoryChecker, SeesALeaseThatNobodyGranted) {
  EXPECT_EQ(problem({trial("trial_started", "X", 3, 1)}), "trial_started of lease X, which nobody granted");
}

TEST(EventLog, IsReadBackAsItWasWritten) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("history");
  EXPECT_FALSE(event_log_is_open());
  log_event("nothing", {});  // goes nowhere
  ASSERT_TRUE(open_event_log(path, "tracker").ok());
  log_event("lease_granted", {{"lease", "L"}, {"epoch", uint64_t{7}}, {"slot", "box/0"}});
  event_log_detail::file = -1;
  const absl::StatusOr<std::vector<Event>> history = read_history(path);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->size(), 1u);
  const Event& event = history->front();
  EXPECT_EQ(event.kind, "lease_granted");
  EXPECT_EQ(event.process, "tracker");
  EXPECT_EQ(event.pid, getpid());
  EXPECT_GT(event.at_ns, 0);
  EXPECT_EQ(event.lease, "L");
  EXPECT_EQ(event.epoch, 7u);
  EXPECT_EQ(event.slot, "box/0");
}

TEST(EventLog, ALineThatIsNoEventIsRefused) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::ofstream(folder.file("history")) << "{\"event\":\"a\"}\nnonsense\n";
  EXPECT_TRUE(absl::IsDataLoss(read_history(folder.file("history")).status()));
}

}  // namespace
}  // namespace tf::farm_test
