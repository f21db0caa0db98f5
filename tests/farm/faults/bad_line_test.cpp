// Agent and tuner behind a line that is slow, or dead while one or both of its ends believe that it lives.

#include <algorithm>
#include <thread>

#include "tests/farm/farm_run.h"
#include "tests/farm/tcp_proxy.h"

namespace tf::farm_test {
namespace {

using testing::IsEmpty;

class BadLineTest : public testing::Test {
 protected:
  void expect_finished() {
    EXPECT_TRUE(run_.finish_job(absl::Seconds(60)));
    EXPECT_THAT(run_.problems(), IsEmpty());
    if (!HasFailure()) return;
    for (const std::string& line : lines_of(run_.output())) std::fprintf(stderr, "  %s\n", line.c_str());
  }

  // Until that often somebody has come to the agent's place where what there is to tell is taken.
  bool wait_for_takers(int count) const {
    const auto is_one = [](const std::string& line) {
      return line.find("\"failpoint\"") != std::string::npos &&
             line.find("agent.report.taking") != std::string::npos;
    };
    for (int i = 0; i < 3000; ++i) {
      if (std::ranges::count_if(lines_of(run_.history()), is_one) >= count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  const rpc::Endpoint tracker_ = free_endpoint();
  TcpProxy agents_line_{tracker_};
  TcpProxy tuners_line_{tracker_};
  FarmRun run_{FarmRunOptions{
      .listen = tracker_, .agent_dials = agents_line_.endpoint(), .tuner_dials = tuners_line_.endpoint()}};
};

TEST_F(BadLineTest, AJobOutlivesSlowLines) {
  agents_line_.set_delay(absl::Milliseconds(60));
  tuners_line_.set_delay(absl::Milliseconds(60));
  ASSERT_TRUE(run_.begin_job(20, 1));
  expect_finished();
}

TEST_F(BadLineTest, AJobOutlivesAnAgentsLineThatGoesSilent) {
  ASSERT_TRUE(run_.begin_job(200, 30));
  agents_line_.set_silent(true);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  agents_line_.set_silent(false);
  expect_finished();
}

// Its lease expires; what the tracker told it meanwhile arrives late, when it is no longer true.
TEST_F(BadLineTest, AJobOutlivesATunersLineThatGoesSilent) {
  ASSERT_TRUE(run_.begin_job(200, 30));
  tuners_line_.set_silent(true);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  tuners_line_.set_silent(false);
  expect_finished();
}

// Whoever believes in the dead line finds out by pings; the other one has long gone on without it.
struct HalfOpen {
  const char* name;
  bool is_tuners;  // else the agent's
  LineEnd believer;
};
void PrintTo(const HalfOpen& each, std::ostream* out) {
  *out << each.name;
}

class HalfOpenLineTest : public BadLineTest, public testing::WithParamInterface<HalfOpen> {};

TEST_P(HalfOpenLineTest, AJobOutlivesIt) {
  const HalfOpen& line = GetParam();
  ASSERT_TRUE(run_.begin_job(300, 30));
  (line.is_tuners ? tuners_line_ : agents_line_).leave_half_open(line.believer);
  EXPECT_TRUE(run_.process(Role::kTuner).exited_within(60000)) << "the tuner waits for ever";
  EXPECT_FALSE(run_.has_ended(Role::kAgent));
  EXPECT_FALSE(run_.has_ended(Role::kTracker));
  expect_finished();
}

INSTANTIATE_TEST_SUITE_P(, HalfOpenLineTest,
                         testing::Values(HalfOpen{"OfAnAgentWhoBelievesInIt", false, LineEnd::kNear},
                                         HalfOpen{"OfAnAgentInWhomTheTrackerBelieves", false, LineEnd::kFar},
                                         HalfOpen{"OfATunerWhoBelievesInIt", true, LineEnd::kNear},
                                         HalfOpen{"OfATunerInWhomTheTrackerBelieves", true, LineEnd::kFar}),
                         [](const auto& line) { return line.param.name; });

// It is taken for the old session after the new one has asked for everything, and before that one takes it.
// Of the three who take what there is, who takes it at the end of a trial is held up when the line goes dead,
// then the new session for longer, and who looks now and then for all of the test: else he would tell it.
TEST_F(BadLineTest, AnAnswerThatIsToldToASessionThatHasEndedIsToldInTheNextOne) {
  ASSERT_TRUE(run_.begin_job(100, 10));
  run_.start(Role::kAgent,
             "agent.look.beginning:1+:delay=60000,agent.report.taking:1+:record,"
             "agent.report.taking:4:delay=4000,agent.report.taking:5:delay=8000");
  ASSERT_TRUE(wait_for_takers(4)) << "a trial has ended, and what it is told to is chosen";
  agents_line_.leave_half_open(LineEnd::kFar);
  ASSERT_TRUE(wait_for_takers(5)) << "there is another session";
  EXPECT_TRUE(run_.process(Role::kTuner).exited_within(20000)) << "the tuner waits for ever";
  expect_finished();
}

// What an agent was told before a silence that outlasts its lease arrives together with the lease's end.
TEST_F(BadLineTest, AnAgentStartsNothingOfALeaseThatEndedWhileItsLineWasSilent) {
  ASSERT_TRUE(run_.begin_job(200, 30));
  agents_line_.set_silent(true);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  run_.start(Role::kTuner);  // its new run ends the old one's lease
  std::this_thread::sleep_for(std::chrono::seconds(3));
  agents_line_.set_silent(false);
  expect_finished();
}

}  // namespace
}  // namespace tf::farm_test
