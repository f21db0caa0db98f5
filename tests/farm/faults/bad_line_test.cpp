// Agent and tuner behind a line that is slow, or dead while both of its ends believe that it lives.

#include <thread>

#include "tests/farm/farm_run.h"
#include "tests/farm/stored_candidates.h"
#include "tests/farm/tcp_proxy.h"

namespace tf::farm_test {
namespace {

using testing::IsEmpty;

class BadLineTest : public testing::Test {
 protected:
  void begin(int candidates) {
    run_.set_candidates(candidates);
    run_.start(Role::kTracker);
    run_.start(Role::kAgent);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(500));  // else the tuner finds no such device, and ends
    run_.start(Role::kTuner);
  }

  void wait_for_rows(size_t count) {
    for (int i = 0;
         i < 1000 && stored_rows(run_.database()).value_or(std::vector<StoredRow>()).size() < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  void expect_finished() {
    EXPECT_TRUE(run_.finish_job(absl::Seconds(60)));
    EXPECT_THAT(run_.problems(), IsEmpty());
    if (!HasFailure()) return;
    for (const std::string& line : lines_of(run_.output())) std::fprintf(stderr, "  %s\n", line.c_str());
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
  begin(20);
  expect_finished();
}

TEST_F(BadLineTest, AJobOutlivesAnAgentsLineThatGoesSilent) {
  begin(200);
  wait_for_rows(30);
  agents_line_.set_silent(true);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  agents_line_.set_silent(false);
  expect_finished();
}

// Its lease expires; what the tracker told it meanwhile arrives late, when it is no longer true.
TEST_F(BadLineTest, AJobOutlivesATunersLineThatGoesSilent) {
  begin(200);
  wait_for_rows(30);
  tuners_line_.set_silent(true);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  tuners_line_.set_silent(false);
  expect_finished();
}

// What an agent was told before a silence that outlasts its lease arrives together with the lease's end.
TEST_F(BadLineTest, AnAgentStartsNothingOfALeaseThatEndedWhileItsLineWasSilent) {
  begin(200);
  wait_for_rows(30);
  agents_line_.set_silent(true);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  run_.start(Role::kTuner);  // its new run ends the old one's lease
  std::this_thread::sleep_for(std::chrono::seconds(3));
  agents_line_.set_silent(false);
  expect_finished();
}

}  // namespace
}  // namespace tf::farm_test
