#include "tests/integration/tuning_fixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/files/file.h"
#include "database/stores/open_store.h"

namespace tf::integration_test {

using database::Measurement;
using farm_test::Process;
using testing::HasSubstr;

void Tuning::SetUp() {
  ASSERT_EQ(run("compiler", {"zoo", "mlp", "-o", file("mlp.onnx")}).code, 0);
}

std::unique_ptr<Process> Tuning::start(const std::string& name, std::vector<std::string> arguments,
                                       const std::string& log) {
  arguments.insert(arguments.begin(), farm_test::program(name));
  return std::make_unique<Process>(std::move(arguments), file(log));
}

Result Tuning::run(const std::string& name, std::vector<std::string> arguments) {
  const std::string log = file("run" + std::to_string(++runs_));
  arguments.insert(arguments.begin(), farm_test::program(name));
  const int code = Process(std::move(arguments), log, log + ".err").wait();
  return {code, read_file(log).value_or(""), read_file(log + ".err").value_or("")};
}

void Tuning::expect_refusal(const std::string& name, std::vector<std::string> arguments, int code,
                            const std::string& words) {
  std::string command = name;
  for (const std::string& argument : arguments) command += " " + argument;
  SCOPED_TRACE(command);
  const Result result = run(name, std::move(arguments));
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_THAT(result.err, HasSubstr(words));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.out, "") << "a mistake prints no result";
}

std::vector<Measurement> Tuning::measurements(const std::string& db) {
  std::vector<Measurement> all;
  auto records = database::open_records(file(db));
  if (!records.ok()) return all;
  const absl::Status status = (*records)->scan({}, [&](const Measurement& m) {
    if (m.job_id != 0) all.push_back(m);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return all;
}

int64_t Tuning::measured(const std::string& db) {
  std::set<std::string> programs;
  for (const Measurement& m : measurements(db)) programs.insert(program_of(m));
  return static_cast<int64_t>(programs.size());
}

std::string program_of(const Measurement& m) {
  return absl::StrCat(m.problem.workload.hex(), " ", m.problem.binding, m.schedule);
}

void Tuning::wait_for_measurements(const std::string& db, int64_t count) {
  wait_until(std::to_string(count) + " measurements", [&] { return measured(db) >= count; });
}

void Tuning::wait_until(const std::string& what, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "no " << what << " in a minute";
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void ServedTuning::SetUp() {
  Tuning::SetUp();
  start_tracker();
  start_tuner();
  start_agent();
}

void ServedTuning::TearDown() {
  if (!HasFailure()) return;
  for (const char* log : {"tracker.log", "tuner.log", "agent.log", "follow.log"}) {
    std::fprintf(stderr, "== %s\n%s", log, read_file(file(log)).value_or("").c_str());
  }
}

void ServedTuning::start_tracker() {
  tracker_ = start("tracker", {"serve", "--listen", tracker_at_.text(), "--state", file("tracker.db")},
                   "tracker.log");
}

void ServedTuning::start_tuner() {
  tuner_ =
      start("tuner",
            {"serve", "--db", file("tune.db"), "--tracker", tracker_at_.text(), "--listen", tuner_at_.text()},
            "tuner.log");
}

void ServedTuning::start_agent() {
  std::vector<std::string> arguments = {"--tracker",   tracker_at_.text(),  "--key",  "box", "--state-dir",
                                        file("agent"), "--without-sandbox", "missing"};
  arguments.insert(arguments.end(), agent_more_.begin(), agent_more_.end());
  agent_ = start("device_agent", std::move(arguments), "agent.log");
}

void ServedTuning::wait_for_agent() {
  wait_until("agent", [this] {
    return run("tracker", {"devices", "--tracker", tracker_at_.text(), "--json"}).out.find("\"box\"") !=
           std::string::npos;
  });
  // The tuner listens once it has opened its database.
  wait_until("tuner", [this] { return run("tuner", {"jobs", "--server", tuner_at_.text()}).code == 0; });
}

std::vector<std::string> ServedTuning::submission(int trials, std::vector<std::string> more) const {
  std::vector<std::string> arguments = {
      "submit",   file("mlp.onnx"),       "--target", "host",          "--device", "box",
      "--trials", std::to_string(trials), "--server", tuner_at_.text()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace tf::integration_test
