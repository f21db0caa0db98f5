// What an agent takes of its machine while it has nothing to do: the agent itself and its helpers, whose
// sandboxed trials stand still, under a real tracker. Heartbeats are in it, and the golden kernel as often as
// asked for.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/cli/command_line.h"
#include "base/cli/exit_code.h"
#include "base/files/temporary_folder.h"
#include "tests/bench/figures/process_figures.h"
#include "tests/farm/harness.h"
#include "tests/farm/wait_until.h"

namespace {

using tf::bench::figures_of;
using tf::bench::ProcessFigures;
using tf::farm_test::lines_of;
using tf::farm_test::Process;
using tf::farm_test::program;

struct Arguments {
  int seconds = 60;
  int golden_seconds = 60;  // five times as often as by default, so that one is in the figures
  std::string json;
};

std::vector<int> descendants_of(int pid) {
  std::vector<int> found = {pid};
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string tasks = "/proc/" + std::to_string(found[i]) + "/task";
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
      std::ifstream children(task.path() / "children");
      for (int child; children >> child;) found.push_back(child);
    }
  }
  found.erase(found.begin());
  return found;
}

struct AgentFigures {
  double cpu_s = 0;  // of the agent, its helpers and what they ran
  double agent_mib = 0;
  double helpers_mib = 0;  // what they share with each other counts in each
};

AgentFigures look_at(int agent) {
  const ProcessFigures own = figures_of(agent);
  AgentFigures figures = {.cpu_s = own.cpu_s,
                          .agent_mib = static_cast<double>(own.resident_bytes) / (1 << 20)};
  for (const int helper : descendants_of(agent)) {
    const ProcessFigures of_helper = figures_of(helper);
    figures.cpu_s += of_helper.cpu_s;
    figures.helpers_mib += static_cast<double>(of_helper.resident_bytes) / (1 << 20);
  }
  return figures;
}

bool says(const std::string& log, const std::string& text) {
  for (const std::string& line : lines_of(log))
    if (line.find(text) != std::string::npos) return true;
  return false;
}

nlohmann::json measure(const Arguments& arguments) {
  const tf::TemporaryFolder dir = *tf::TemporaryFolder::make();
  const std::string endpoint = tf::farm_test::free_endpoint().text(), log = dir.file("agent.log");
  const Process tracker({program("tracker"), "serve", "--listen", endpoint, "--state", dir.file("t.db")},
                        dir.file("tracker.log"));
  const Process agent({program("device_agent"), "--tracker", endpoint, "--key", "idle", "--state-dir",
                       dir.file("agent"), "--cpus", "0", "--without-sandbox", "missing", "--golden-seconds",
                       std::to_string(arguments.golden_seconds)},
                      log);
  if (!tf::farm_test::wait_until([&] { return says(log, "serves the tracker"); })) {
    for (const std::string& line : lines_of(log)) std::fprintf(stderr, "%s\n", line.c_str());
    return nullptr;
  }
  std::this_thread::sleep_for(std::chrono::seconds(5));  // the first golden kernel is over
  const AgentFigures before = look_at(agent.pid());
  std::this_thread::sleep_for(std::chrono::seconds(arguments.seconds));
  const AgentFigures after = look_at(agent.pid());
  return {{"seconds", arguments.seconds},
          {"cpu_percent", 100 * (after.cpu_s - before.cpu_s) / arguments.seconds},
          {"agent_resident_mib", after.agent_mib},
          {"helpers_resident_mib", after.helpers_mib}};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What an idle agent takes of a core and of memory", "idle_agent");
  Arguments arguments;
  app.add_option("--seconds", arguments.seconds, "How long it is watched")->check(CLI::Range(1, 86400));
  app.add_option("--golden-seconds", arguments.golden_seconds, "Between two golden kernels; 0: none runs")
      ->check(CLI::Range(0, 86400));
  app.add_option("--json", arguments.json, "File for the figures; they are printed too");
  app.footer("Example: idle_agent --seconds 60");
  if (const std::optional<int> done = tf::parse_command_line(app, argc, argv)) return *done;
  const nlohmann::json figures = measure(arguments);
  if (figures.is_null()) return tf::kExitFailed;
  std::printf("%s\n", figures.dump(2).c_str());
  if (!arguments.json.empty()) std::ofstream(arguments.json) << figures.dump(2) << "\n";
  return tf::kExitOk;
}
