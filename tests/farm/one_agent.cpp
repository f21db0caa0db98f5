#include "tests/farm/one_agent.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/files/file.h"

namespace tf::farm_test {

OneAgentFarm::OneAgentFarm(const std::string& device) {
  tracker_ = start("tracker", {"serve", "--listen", tracker_at_.text(), "--state", file("tracker.db")});
  tuner_ = start(
      "tuner", {"serve", "--db", database(), "--tracker", tracker_at_.text(), "--listen", tuner_at_.text()});
  agent_ = start("device_agent", {"--tracker", tracker_at_.text(), "--key", "one", "--device", device,
                                  "--state-dir", file("agent"), "--without-sandbox", "missing"});
}

std::unique_ptr<Process> OneAgentFarm::start(const std::string& name,
                                             std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), program(name));
  return std::make_unique<Process>(std::move(arguments), file(name + ".log"));
}

int OneAgentFarm::run(const std::string& name, std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), program(name));
  for (const char* log : {"run.log", "errors.log"}) std::filesystem::remove(file(log));
  return Process(std::move(arguments), file("run.log"), file("errors.log")).wait();
}

bool OneAgentFarm::tune(const std::string& model, const std::string& target,
                        const std::vector<std::string>& options) {
  std::vector<std::string> submission = {"submit",   model, "--target", target,
                                         "--device", "one", "--server", tuner_at_.text()};
  submission.insert(submission.end(), options.begin(), options.end());
  // Until the agent is known a submission is refused.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (run("tuner", submission) != 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return run("tuner", {"watch", std::to_string(++jobs_), "--server", tuner_at_.text()}) == 0;
}

void OneAgentFarm::print_logs() const {
  for (const char* log : {"tracker", "tuner", "device_agent", "run", "errors"})
    std::fprintf(stderr, "== %s\n%s", log, read_file(file(log) + ".log").value_or("").c_str());
}

}  // namespace tf::farm_test
