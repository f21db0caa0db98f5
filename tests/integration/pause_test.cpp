// A served job is paused, resumed and cancelled with the commands that people use, while its tuner restarts.

#include <gmock/gmock.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/files/file.h"
#include "tests/integration/tuning_fixture.h"

namespace tf::integration_test {
namespace {

using database::Measurement;
using testing::HasSubstr;

constexpr const char* kJob = "1";

class PausedJob : public ServedTuning {
 protected:
  // Watched by watch_, and so much of it measured.
  void submit(int trials, int64_t measured) {
    wait_for_agent();
    ASSERT_EQ(run("tuner", submission(trials)).out, std::string(kJob) + "\n");
    watch_ = start("tuner", of_job("watch"), "follow.log");
    wait_for_measurements("tune.db", measured);
  }

  std::vector<std::string> of_job(const std::string& command) const {
    return {command, kJob, "--server", tuner_at_.text()};
  }
  // Done, and told so in one line that has `words`.
  void order(const std::string& command, const std::string& words = "job 1 ") {
    const Result result = run("tuner", of_job(command));
    EXPECT_EQ(result.code, 0) << command << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(words));
  }

  std::string state() {
    const std::string jobs = run("tuner", {"jobs", "--server", tuner_at_.text(), "--json"}).out;
    return jobs.empty() ? "" : nlohmann::json::parse(jobs)["state"].get<std::string>();
  }
  void wait_for_state(const std::string& wanted) {
    wait_until(wanted + " job", [&] { return state() == wanted; });
  }

  bool is_leased() {
    const Result devices = run("tracker", {"devices", "--tracker", tracker_at_.text(), "--json"});
    return devices.out.find("\"lease\"") != std::string::npos;
  }

  // Nothing is measured for a while, and the device is free for others.
  void expect_rest() {
    const int64_t before = static_cast<int64_t>(measurements("tune.db").size());
    std::this_thread::sleep_for(std::chrono::seconds(2));
    EXPECT_EQ(static_cast<int64_t>(measurements("tune.db").size()), before);
    EXPECT_FALSE(is_leased());
    EXPECT_FALSE(watch_->has_exited()) << "the job has not ended";
  }

  void restart_tuner() {
    tuner_->signal(SIGTERM);
    EXPECT_EQ(tuner_->wait(), 0);
    start_tuner();
    wait_until("tuner", [this] { return !state().empty(); });
  }

  std::unique_ptr<farm_test::Process> watch_;
};

TEST_F(PausedJob, RestsOverARestartOfTheTunerAndGoesOnWhereItStopped) {
  constexpr int kTrials = 60;
  submit(kTrials, 10);
  order("pause");
  wait_for_state("paused");
  expect_rest();
  const auto leaves = start("tuner", of_job("watch"), "leaves.log");
  wait_until("word of that", [&] {
    return read_file(file("leaves.log")).value_or("").find("job 1 paused") != std::string::npos;
  });
  leaves->signal(SIGINT);
  EXPECT_EQ(leaves->wait(), 130);
  EXPECT_THAT(read_file(file("leaves.log")).value_or(""), HasSubstr("job 1 is paused; "));
  restart_tuner();
  EXPECT_EQ(state(), "paused");
  order("pause", "job 1 is already paused\n");
  expect_rest();
  const int64_t before = measured("tune.db");
  ASSERT_LT(before, kTrials);
  order("resume");
  wait_for_measurements("tune.db", before + 10);
  tuner_->kill_9();
  start_tuner();
  EXPECT_EQ(watch_->wait(), 0);
  const std::string seen = read_file(file("follow.log")).value_or("");
  EXPECT_THAT(seen, HasSubstr("job 1 paused"));
  EXPECT_THAT(seen, HasSubstr("job 1 done: 60 trials"));
  // Programs are measured again by the final re-measurements only, which come last.
  std::set<std::string> programs;
  for (const Measurement& m : measurements("tune.db")) {
    const bool again = static_cast<int>(programs.size()) == kTrials;
    EXPECT_EQ(programs.insert(program_of(m)).second, !again) << m.schedule;
  }
  EXPECT_FALSE(is_leased());
}

TEST_F(PausedJob, IsCancelledForGood) {
  submit(500, 5);
  order("resume", "job 1 is already running\n");
  order("pause");
  wait_for_state("paused");
  order("cancel");
  EXPECT_EQ(watch_->wait(), 1) << "of what was cancelled nobody waits for a result";
  EXPECT_THAT(read_file(file("follow.log")).value_or(""), HasSubstr("job 1 cancelled while it was paused"));
  const int64_t before = measured("tune.db");
  restart_tuner();
  EXPECT_EQ(state(), "cancelled");
  expect_refusal("tuner", of_job("resume"), 1, "cannot resume job 1: it is cancelled");
  EXPECT_EQ(measured("tune.db"), before);
  EXPECT_FALSE(is_leased());
}

// Its last trial ends late, since its device is held up; before that the tuner dies.
TEST_F(PausedJob, StaysPausedThoughTheTunerDiesBeforeItHasStopped) {
  submit(500, 5);
  agent_->signal(SIGSTOP);
  order("pause");
  EXPECT_EQ(state(), "running") << "a trial is under way";
  tuner_->kill_9();
  agent_->signal(SIGCONT);
  start_tuner();
  wait_until("tuner", [this] { return !state().empty(); });
  EXPECT_EQ(state(), "paused");
}

}  // namespace
}  // namespace tf::integration_test
