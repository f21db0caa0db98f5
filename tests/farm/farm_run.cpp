#include "tests/farm/farm_run.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/farm/stored_candidates.h"

namespace tf::farm_test {

std::string role_name(Role role) {
  return role == Role::kTracker ? "tracker" : role == Role::kAgent ? "agent" : "tuner";
}

FarmRun::FarmRun(FarmRunOptions options) : options_(std::move(options)) {
  for (const Role role : kRoles) std::filesystem::create_directories(folder(role));
}

std::string FarmRun::folder(Role role) const {
  const std::string& given = options_.folder[static_cast<size_t>(role)];
  return given.empty() ? folder_.file(role_name(role)) : given;
}

std::vector<std::string> FarmRun::command(Role role) const {
  switch (role) {
    case Role::kTracker:
      return {program("tracker"),
              "serve",
              "--listen",
              options_.listen.text(),
              "--state",
              folder(role) + "/tracker.db",
              "--agent-grace-seconds",
              std::to_string(options_.agent_grace_s)};
    case Role::kAgent:
      return {program("farm_test_agent"),
              options_.agent_dials.text(),
              "box",
              folder(role),
              std::to_string(options_.trial_ms),
              ""};
    case Role::kTuner:
      return {program("farm_test_tuner"),
              options_.tuner_dials.text(),
              "box",
              std::to_string(candidates_),
              database(),
              std::to_string(options_.term_s)};
  }
  return {};
}

void FarmRun::start(Role role, const std::string& failpoints) {
  std::vector<std::string> arguments = options_.prefix[static_cast<size_t>(role)];
  arguments.insert(arguments.end(),
                   {"/usr/bin/env", "TF_EVENT_LOG=" + history(), "TF_FAILPOINTS=" + failpoints});
  const std::vector<std::string> own = command(role);
  arguments.insert(arguments.end(), own.begin(), own.end());
  std::unique_ptr<Process>& process = processes_[static_cast<size_t>(role)];
  process = nullptr;  // before the new one wants its files and its port
  process = std::make_unique<Process>(arguments, output());
}

bool FarmRun::begin_job(int candidates, size_t stored) {
  set_candidates(candidates);
  for (const Role role : kRoles) start(role);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    const absl::StatusOr<std::vector<StoredRow>> rows = stored_rows(seen_database());
    if (rows.ok() && rows->size() >= stored) return true;
    // It may have come before the agent: then there is no such device, and it ends.
    if (has_ended(Role::kTuner)) start(Role::kTuner);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

bool FarmRun::finish_job(absl::Duration within) {
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(within);
  start(Role::kTuner);
  while (std::chrono::steady_clock::now() < deadline) {
    if (!process(Role::kTuner).exited_within(100)) continue;
    if (process(Role::kTuner).wait() == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    start(Role::kTuner);
  }
  return false;
}

std::vector<std::string> FarmRun::problems(const CheckOptions& options) const {
  const absl::StatusOr<std::vector<Event>> events = read_history(history());
  if (!events.ok()) return {std::string(events.status().message())};
  const absl::StatusOr<std::vector<StoredRow>> rows = stored_rows(seen_database());
  if (!rows.ok()) return {std::string(rows.status().message())};
  std::vector<std::string> found = check_history(*events, *rows, options);
  if (options.job_finished && rows->size() != static_cast<size_t>(candidates_))
    found.push_back(absl::StrCat(rows->size(), " of ", candidates_, " candidates are stored"));
  return found;
}

}  // namespace tf::farm_test
