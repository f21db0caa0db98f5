// Kills a farm's processes many times during one job and checks its history: farm_kills [--kills N] [--seed
// S]

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>

#include "base/cli/command_line.h"
#include "base/cli/exit_code.h"
#include "tests/farm/kill_run.h"

int main(int argc, char** argv) {
  int kills = 200;
  uint64_t seed = std::random_device()();
  CLI::App app("Kills tracker, agent and tuner with SIGKILL at failpoints and at random moments",
               "farm_kills");
  app.add_option("--kills", kills, "How many")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--seed", seed, "Of their order [random]");
  app.footer("Example: farm_kills --kills 200 --seed 1");
  if (const std::optional<int> done = tf::parse_command_line(app, argc, argv)) return *done;

  const auto begin = std::chrono::steady_clock::now();
  const auto deaths = tf::farm_test::random_deaths(tf::farm_test::find_failpoints(), kills, seed);
  const tf::farm_test::KillReport report =
      tf::farm_test::run_kills(deaths, absl::Seconds(5 * kills + 30), absl::Seconds(1));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  for (const auto& [where, count] : report.at) std::printf("%6d  %s\n", count, where.c_str());
  std::printf("seed %lu: %d kills, %d candidates, %.0f s, %zu problems\n", static_cast<unsigned long>(seed),
              report.kills, report.candidates, took.count(), report.problems.size());
  for (const std::string& problem : report.problems) std::printf("  %s\n", problem.c_str());
  return report.problems.empty() ? tf::kExitOk : tf::kExitFailed;
}
