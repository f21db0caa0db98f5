// Tuning a small network, embedded and served, with everything real: what happens to the processes is the
// test's doing; nothing else is.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "database/sqlite/sqlite_connection.h"
#include "tests/integration/faster_records.h"
#include "tests/integration/tuning_fixture.h"

namespace tf::integration_test {
namespace {

using database::Measurement;
using testing::HasSubstr;
using testing::Not;

// What stands for a record in comparisons: everything of it.
std::set<std::string> digests(const std::vector<Measurement>& records) {
  std::set<std::string> all;
  for (const Measurement& record : records) all.insert(database::record_digest(record).hex());
  return all;
}

TEST_F(ServedTuning, AJobSurvivesTheDeathOfTunerTrackerAndAgentInTurn) {
  constexpr int kTrials = 90;
  wait_for_agent();
  auto follow = start("tuner", submission(kTrials, {"--follow"}), "follow.log");
  std::set<std::string> acknowledged;
  auto kill_after = [&](int64_t more, farm_test::Process& process) {
    wait_for_measurements("tune.db", static_cast<int64_t>(acknowledged.size()) + more);
    process.kill_9();
    acknowledged = digests(measurements("tune.db"));
  };
  kill_after(15, *tuner_);
  start_tuner();
  kill_after(10, *tracker_);
  start_tracker();
  kill_after(15, *agent_);
  start_agent();
  EXPECT_EQ(follow->wait(), 0);
  EXPECT_THAT(read_file(file("follow.log")).value_or(""), HasSubstr("job 1 done: 90 trials"));

  // Nothing lost, nothing counted twice, nothing repeated but by the final re-measurements, which come last.
  const std::vector<Measurement> records = measurements("tune.db");
  EXPECT_GE(records.size(), kTrials);
  EXPECT_THAT(digests(records), testing::IsSupersetOf(acknowledged));
  std::set<std::string> programs;
  std::set<std::tuple<std::string, uint64_t, uint64_t>> stamps;
  for (const Measurement& m : records) {
    EXPECT_EQ(m.job_id, 1);
    const bool again = static_cast<int>(programs.size()) == kTrials;
    EXPECT_EQ(programs.insert(program_of(m)).second, !again) << m.schedule;
    ASSERT_TRUE(m.lease.has_value()) << "measured without a lease";
    EXPECT_TRUE(stamps.emplace(m.lease->lease_id, m.lease->epoch, m.lease->sequence).second)
        << "one result of the device counts twice";
  }
  const auto job = nlohmann::json::parse(run("tuner", {"jobs", "--server", tuner_at_.text(), "--json"}).out);
  EXPECT_EQ(job["trials"], kTrials);
  EXPECT_EQ(job["state"], "done");
}

TEST_F(Tuning, AnInterruptedEmbeddedRunGoesOnWhereItStopped) {
  const std::vector<std::string> command = {
      "tune", file("mlp.onnx"),    "--target", "host", "--db", file("t.db"), "--trials",
      "40",   "--without-sandbox", "missing"};
  auto first = start("tuner", command, "first.log");
  wait_for_measurements("t.db", 8);
  first->signal(SIGINT);
  EXPECT_EQ(first->wait(), 130);
  EXPECT_THAT(*read_file(file("first.log")), HasSubstr("run the same command to continue"));
  const int64_t kept = measured("t.db");
  ASSERT_LT(kept, 40);
  const Result second = run("tuner", command);
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("continuing job 1, which has " + std::to_string(kept) + " trials"));
  EXPECT_EQ(measured("t.db"), 40);
}

TEST_F(Tuning, ARunWaitsForAProgramThatHoldsItsDatabaseLocked) {
  auto tuner = start("tuner",
                     {"tune", file("mlp.onnx"), "--target", "host", "--db", file("t.db"), "--trials", "30",
                      "--without-sandbox", "missing"},
                     "tune.log");
  wait_for_measurements("t.db", 3);
  {
    const auto other = database::Connection::open(file("t.db"), database::Access::kWrite);
    ASSERT_TRUE(other.ok() && (*other)->execute("BEGIN IMMEDIATE").ok());
    wait_until("the tuner's word of it", [&] {
      return read_file(file("tune.log")).value_or("").find("has locked it; waiting for it") !=
             std::string::npos;
    });
  }
  EXPECT_EQ(tuner->wait(), 0) << *read_file(file("tune.log"));
  EXPECT_EQ(measured("t.db"), 30);
}

TEST_F(Tuning, ARunForAnotherDeviceClassIsAnotherJob) {
  const std::vector<std::string> command = {
      "tune", file("mlp.onnx"),    "--target", "host", "--db", file("t.db"), "--trials",
      "500",  "--without-sandbox", "missing"};
  std::vector<std::string> of_lab = command;
  of_lab.insert(of_lab.end(), {"--device-class", "lab"});
  // Until it has said what it does; what it then said.
  const auto begun = [this](const std::vector<std::string>& arguments, const std::string& log) {
    const auto tuner = start("tuner", arguments, log);
    wait_until("beginning",
               [&] { return read_file(file(log)).value_or("").find("tuning ") != std::string::npos; });
    tuner->signal(SIGINT);
    EXPECT_EQ(tuner->wait(), 130);
    return read_file(file(log)).value_or("");
  };
  EXPECT_THAT(begun(command, "first.log"), Not(HasSubstr("continuing")));
  EXPECT_THAT(begun(of_lab, "lab.log"), Not(HasSubstr("continuing")));
  EXPECT_THAT(begun(command, "again.log"), HasSubstr("continuing job 1,"));
  EXPECT_THAT(begun(of_lab, "lab_again.log"), HasSubstr("continuing job 2,"));
}

TEST_F(Tuning, WhoHasNoTimeForATrialIsToldSoInOneLineAndShownNoTable) {
  const std::vector<std::string> command = {
      "tune",      file("mlp.onnx"), "--target",          "host",   "--db", file("t.db"),
      "--minutes", "0.0001",         "--without-sandbox", "missing"};
  const Result result = run("tuner", command);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("nothing was measured: the budget was spent before the first trial"));
  EXPECT_THAT(result.err, Not(HasSubstr("timing the whole network")));
  EXPECT_EQ(measured("t.db"), 0);
}

TEST_F(Tuning, ANetworksOwnTrialCanBeInterrupted) {
  const auto command = [&](const char* trials) {
    return std::vector<std::string>{
        "tune",     file("mlp.onnx"), "--target",          "host",   "--db", file("t.db"),
        "--trials", trials,           "--without-sandbox", "missing"};
  };
  ASSERT_EQ(run("tuner", command("10")).code, 0);
  ASSERT_EQ(run("tuner", {"export", "--db", file("t.db"), "-o", file("r.jsonl")}).code, 0);
  std::vector<std::string> records = absl::StrSplit(*read_file(file("r.jsonl")), '\n', absl::SkipEmpty());
  std::erase_if(records, [](const std::string& line) { return line.find("network_verdict") != line.npos; });
  ASSERT_TRUE(write_file(file("faster.jsonl"), faster_records(records, 0)).ok());
  ASSERT_EQ(run("tuner", {"import", file("faster.jsonl"), "--db", file("t.db")}).code, 0);

  auto tuner = start("tuner", command("20"), "tune.log");
  wait_until("the network's trial", [&] {
    return read_file(file("tune.log")).value_or("").find("timing the whole network") != std::string::npos;
  });
  tuner->signal(SIGINT);
  EXPECT_EQ(tuner->wait(), 130);
  EXPECT_THAT(*read_file(file("tune.log")), HasSubstr("cancelling the timing of the network; "));
  EXPECT_THAT(*read_file(file("tune.log")), HasSubstr("run the same command to continue"));
  const int64_t before = measured("t.db");
  const Result again = run("tuner", command("20"));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("whole network")) << "what was left to do";
  EXPECT_EQ(measured("t.db"), before);
}

TEST_F(Tuning, ShowAndBestNameTheRecordsThatABuildUses) {
  ASSERT_EQ(run("tuner", {"tune", file("mlp.onnx"), "--target", "host", "--db", file("t.db"), "--trials",
                          "20", "--without-sandbox", "missing"})
                .code,
            0);
  const Result build = run("compiler", {"build", file("mlp.onnx"), "--target", "host", "--db", file("t.db"),
                                        "-o", file("tuned"), "--json"});
  ASSERT_EQ(build.code, 0) << build.err;
  int compared = 0;
  const nlohmann::json built = nlohmann::json::parse(build.out);
  for (const nlohmann::json& task : built["tasks"]) {
    if (!task.contains("record")) continue;
    const std::string key = task["key"];
    const auto best = nlohmann::json::parse(run("tuner", {"best", key, "--db", file("t.db"), "--json"}).out);
    const auto show =
        nlohmann::json::parse(run("compiler", {"show", key, "--db", file("t.db"), "--json"}).out);
    const auto names_it = [&](const nlohmann::json& answer) { return answer["record"] == task["record"]; };
    EXPECT_TRUE(std::ranges::any_of(best, names_it)) << key;
    EXPECT_TRUE(std::ranges::any_of(show, names_it)) << key;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_F(Tuning, TheFirstLinesOfJsonAreProgressAndParse) {
  const Result result = run("tuner", {"tune", file("mlp.onnx"), "--target", "host", "--db", file("t.db"),
                                      "--trials", "10", "--json", "--without-sandbox", "missing"});
  ASSERT_EQ(result.code, 0) << result.err;
  std::istringstream lines(result.out);
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
  EXPECT_EQ(last["trials"], 10);
  EXPECT_EQ(last["tasks"].size(), 5u);
  ASSERT_TRUE(last.contains("network"));
  if (last["network"]["rounds"] == 0) return;  // so few trials need not find anything faster
  EXPECT_GT(last["network"]["ratio"], 0) << "the network itself was tried";
  EXPECT_GT(last["network"]["tuned_ns"], 0);
}

}  // namespace
}  // namespace tf::integration_test
