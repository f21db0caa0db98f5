// The programs as users run them: a small network is tuned, embedded and served, with everything real. What
// happens to the processes is the test's doing; nothing else is.

#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/file.h"
#include "database/open_records.h"
#include "tests/farm/harness.h"

namespace tf {
namespace {

using database::Measurement;
using farm_test::Process;
using farm_test::program;
using testing::HasSubstr;

struct Result {
  int code = 0;
  std::string output;  // both streams
};

class Tuning : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(run("compiler", {"zoo", "mlp", "-o", file("mlp.onnx")}).code, 0); }

  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }

  std::unique_ptr<Process> start(const std::string& name, std::vector<std::string> arguments,
                                 const std::string& log) {
    arguments.insert(arguments.begin(), program(name));
    return std::make_unique<Process>(std::move(arguments), file(log));
  }

  Result run(const std::string& name, std::vector<std::string> arguments) {
    const std::string log = "run" + std::to_string(++runs_);
    const int code = start(name, std::move(arguments), log)->wait();
    return {code, read_file(file(log)).value_or("")};
  }

  int64_t measured(const std::string& db) {
    auto records = database::open_records(file(db));
    int64_t count = 0;
    if (records.ok()) {
      EXPECT_TRUE((*records)->scan({}, [&](const Measurement&) { return ++count, absl::OkStatus(); }).ok());
    }
    return count;
  }

  void wait_for_measurements(const std::string& db, int64_t count) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (measured(db) < count && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ASSERT_GE(measured(db), count);
  }

  farm_test::TempDir folder_;
  int runs_ = 0;
};

// All programs of a farm on loopback.
class ServedTuning : public Tuning {
 protected:
  void SetUp() override {
    Tuning::SetUp();
    start_tracker();
    start_tuner();
    start_agent();
  }
  void TearDown() override {
    if (!HasFailure()) return;
    for (const char* log : {"tracker.log", "tuner.log", "agent.log", "follow.log"}) {
      std::fprintf(stderr, "== %s\n%s", log, read_file(file(log)).value_or("").c_str());
    }
  }

  void start_tracker() {
    tracker_ = start("tracker", {"serve", "--listen", tracker_at_.text(), "--state", file("tracker.db")},
                     "tracker.log");
  }
  void start_tuner() {
    tuner_ = start(
        "tuner",
        {"serve", "--db", file("tune.db"), "--tracker", tracker_at_.text(), "--listen", tuner_at_.text()},
        "tuner.log");
  }
  void start_agent() {
    agent_ =
        start("device_agent", {"--tracker", tracker_at_.text(), "--key", "box", "--state-dir", file("agent")},
              "agent.log");
  }

  // Until the agent is known a submission is refused, as it should be.
  std::vector<std::string> submission(int trials, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "submit",   file("mlp.onnx"),       "--target", "host",          "--device", "box",
        "--trials", std::to_string(trials), "--server", tuner_at_.text()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void wait_for_agent() {
    for (int i = 0; i < 100; ++i) {
      if (run("tracker", {"devices", "--tracker", tracker_at_.text(), "--json"}).output.find("\"box\"") !=
          std::string::npos)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    FAIL() << "the agent did not come";
  }

  const rpc::Endpoint tracker_at_ = farm_test::free_endpoint();
  const rpc::Endpoint tuner_at_ = farm_test::free_endpoint();
  std::unique_ptr<Process> tracker_, tuner_, agent_;
};

TEST_F(ServedTuning, AJobSurvivesTheDeathOfTunerTrackerAndAgentInTurn) {
  constexpr int kTrials = 90;
  wait_for_agent();
  auto follow = start("tuner", submission(kTrials, {"--follow"}), "follow.log");
  wait_for_measurements("tune.db", 15);
  tuner_->kill_9();
  const int64_t acknowledged = measured("tune.db");
  start_tuner();
  wait_for_measurements("tune.db", acknowledged + 10);
  tracker_->kill_9();
  start_tracker();
  wait_for_measurements("tune.db", acknowledged + 25);
  agent_->kill_9();
  start_agent();
  EXPECT_EQ(follow->wait(), 0);
  EXPECT_THAT(read_file(file("follow.log")).value_or(""), HasSubstr("job 1 done: 90 trials"));

  // Nothing lost, nothing repeated, nothing counted twice.
  auto records = database::open_records(file("tune.db"));
  ASSERT_TRUE(records.ok()) << records.status();
  std::set<std::pair<std::string, std::string>> programs;
  std::set<std::string> stamps;
  int64_t count = 0;
  ASSERT_TRUE(
      (*records)
          ->scan(
              {},
              [&](const Measurement& m) {
                ++count;
                EXPECT_EQ(m.job_id, 1);
                EXPECT_TRUE(programs.emplace(m.problem.workload.hex() + m.problem.binding, m.schedule).second)
                    << m.schedule;
                if (m.lease) {
                  EXPECT_TRUE(
                      stamps.insert(m.lease->lease_id + "/" + std::to_string(m.lease->sequence)).second);
                }
                return absl::OkStatus();
              })
          .ok());
  EXPECT_EQ(count, kTrials);
}

TEST_F(ServedTuning, RecordsOfARunningTunerAreReadExportedAndImported) {
  wait_for_agent();
  ASSERT_EQ(run("tuner", submission(12, {"--follow"})).code, 0);
  const std::string remote = "tuner://" + tuner_at_.text();
  ASSERT_EQ(run("tuner", {"export", "--db", remote, "-o", file("r.jsonl")}).code, 0);
  ASSERT_EQ(run("tuner", {"import", file("r.jsonl"), "--db", file("other.db")}).code, 0);
  const Result here = run("tuner", {"best", "--db", remote, "--json"});
  EXPECT_EQ(here.code, 0);
  EXPECT_FALSE(nlohmann::json::parse(here.output).empty());
  EXPECT_EQ(run("tuner", {"best", "--db", file("other.db"), "--json"}).output, here.output);
  EXPECT_EQ(run("tuner", {"best", "--db", file("r.jsonl"), "--json"}).output, here.output);
}

TEST_F(ServedTuning, RequestsThatCannotWorkAreRefusedWithOneLineAndTheirExitCode) {
  wait_for_agent();
  auto refused = [&](std::vector<std::string> arguments, int code, const std::string& words) {
    const Result result = run("tuner", std::move(arguments));
    EXPECT_EQ(result.code, code) << result.output;
    EXPECT_THAT(result.output, HasSubstr(words));
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
  };
  const std::string server = tuner_at_.text(), model = file("mlp.onnx"), torn = file("torn.onnx");
  ASSERT_TRUE(write_file(torn, read_file(model)->substr(0, 4000)).ok());
  refused({"submit", model, "--target", "host", "--device", "nowhere", "--server", server}, 3,
          "no device has the key");
  refused({"submit", model, "--target", "z80", "--device", "box", "--server", server}, 2, "z80");
  refused({"submit", torn, "--target", "host", "--device", "box", "--server", server}, 2, "ONNX");
  refused({"submit", file("no.onnx"), "--target", "host", "--device", "box", "--server", server}, 1,
          "cannot read");
  refused({"cancel", "77", "--server", server}, 1, "there is no job 77");
  refused({"import", file("no.jsonl"), "--db", file("tune.db")}, 1, "is writing it");
  refused({"serve", "--db", file("other.db"), "--tracker", tracker_at_.text(), "--listen", server}, 1,
          "port is in use");
  refused({"jobs", "--server", farm_test::free_endpoint().text()}, 1, "no tuner answers");
  EXPECT_EQ(measured("tune.db"), 0);
}

TEST_F(Tuning, AnInterruptedEmbeddedRunGoesOnWhereItStopped) {
  const std::vector<std::string> command = {"tune", file("mlp.onnx"), "--target", "host",
                                            "--db", file("t.db"),     "--trials", "40"};
  auto first = start("tuner", command, "first.log");
  wait_for_measurements("t.db", 8);
  first->signal(SIGINT);
  EXPECT_EQ(first->wait(), 130);
  EXPECT_THAT(*read_file(file("first.log")), HasSubstr("goes on from here"));
  const int64_t kept = measured("t.db");
  ASSERT_LT(kept, 40);
  const Result second = run("tuner", command);
  EXPECT_EQ(second.code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr("going on with job 1, which has " + std::to_string(kept) + " trials"));
  EXPECT_EQ(measured("t.db"), 40);
}

TEST_F(Tuning, TheFirstLinesOfJsonAreProgressAndParse) {
  const Result result = run("tuner", {"tune", file("mlp.onnx"), "--target", "host", "--db", file("t.db"),
                                      "--trials", "10", "--json"});
  ASSERT_EQ(result.code, 0) << result.output;
  std::istringstream lines(result.output);
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
  EXPECT_EQ(last["trials"], 10);
  EXPECT_EQ(last["tasks"].size(), 5u);
}

}  // namespace
}  // namespace tf
