#include "tests/farm/kill_run.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tf::farm_test {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kCandidatesARound = 20;

// One role's process and what is in store for it.
class Victim {
 public:
  Victim(FarmRun& run, Role role, const std::vector<Death>& deaths, absl::Duration grace_period)
      : run_(run),
        role_(role),
        deaths_(deaths),
        grace_period_(grace_period),
        waiting_since_(SteadyClock::now()) {}

  void start() {
    const bool at_failpoint = next_ < deaths_.size() && !deaths_[next_].failpoint.empty();
    run_.start(role_,
               at_failpoint ? absl::StrCat(deaths_[next_].failpoint, ":", deaths_[next_].nth, ":kill") : "");
  }

  bool is_done() const { return next_ == deaths_.size(); }

  // Kills it if it is time, starts it again if it died.
  void look_after(KillReport& report) {
    if (!is_done()) {
      const Death& death = deaths_[next_];
      const absl::Duration at = death.failpoint.empty() ? death.after : grace_period_;
      if (SteadyClock::now() - waiting_since_ >= absl::ToChronoMilliseconds(at)) {
        run_.process(role_).signal(SIGKILL);
        killed_ = true;
      }
    }
    if (!run_.has_ended(role_)) return;
    const int code = run_.process(role_).wait();
    if (code == -SIGKILL) {
      count_kill(report);
    } else if (code < 0) {
      report.problems.push_back(absl::StrCat(role_name(role_), " died of signal ", -code));
    } else if (role_ == Role::kTuner) {
      if (code == 0) run_.set_candidates(report.candidates += kCandidatesARound);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // no tracker or no device, for the moment
    } else {
      report.problems.push_back(absl::StrCat(role_name(role_), " ended with exit code ", code));
    }
    start();
  }

 private:
  void count_kill(KillReport& report) {
    ++report.kills;
    const bool by_us = std::exchange(killed_, false);
    if (is_done()) return;
    const std::string& failpoint = deaths_[next_].failpoint;
    ++report.at[by_us ? role_name(role_) + ", any moment" : failpoint];
    waiting_since_ = SteadyClock::now();
    ++next_;
  }

  FarmRun& run_;
  const Role role_;
  const std::vector<Death> deaths_;
  const absl::Duration grace_period_;
  size_t next_ = 0;
  bool killed_ = false;                    // by us, not by a failpoint
  SteadyClock::time_point waiting_since_;  // for the next death, over restarts
};

std::vector<Death> of_role(const std::map<Role, std::vector<Death>>& deaths, Role role) {
  const auto found = deaths.find(role);
  return found == deaths.end() ? std::vector<Death>() : found->second;
}

}  // namespace

std::map<Role, std::vector<std::string>> find_failpoints() {
  FarmRun run;
  const auto start = [&](Role role) { run.start(role, "*:1+:record"); };
  for (int round = 1; round <= 2; ++round) {
    start(Role::kTracker);
    start(Role::kAgent);
    run.set_candidates(10 * round);
    do {
      start(Role::kTuner);
    } while (run.process(Role::kTuner).wait() != 0);
  }
  std::map<Role, std::set<std::string>> found;
  const absl::StatusOr<std::vector<Event>> history = read_history(run.history());
  for (const Event& event : history.ok() ? *history : std::vector<Event>()) {
    if (event.kind != "failpoint") continue;
    for (const Role role : kRoles)
      if (event.process == role_name(role)) found[role].insert(event.failpoint);
  }
  std::map<Role, std::vector<std::string>> result;
  for (const auto& [role, names] : found) result[role] = {names.begin(), names.end()};
  return result;
}

KillReport run_kills(const std::map<Role, std::vector<Death>>& deaths, absl::Duration within,
                     absl::Duration grace_period) {
  FarmRun run;
  KillReport report{.candidates = kCandidatesARound};
  run.set_candidates(report.candidates);
  std::vector<Victim> victims;
  for (const Role role : kRoles) victims.emplace_back(run, role, of_role(deaths, role), grace_period);
  for (Victim& victim : victims) victim.start();
  const auto deadline = SteadyClock::now() + absl::ToChronoMilliseconds(within);
  const auto all_done = [&] { return std::ranges::all_of(victims, &Victim::is_done); };
  while (!all_done() && SteadyClock::now() < deadline && report.problems.size() < 10) {
    for (Victim& victim : victims) victim.look_after(report);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (!all_done()) report.problems.push_back("not all deaths were died in time");
  if (!run.finish_job(absl::Seconds(60)))
    report.problems.push_back("the job did not end after the last kill");
  for (std::string& problem : run.problems()) report.problems.push_back(std::move(problem));
  if (!report.problems.empty()) {
    for (const std::string& line : lines_of(run.output())) std::fprintf(stderr, "  %s\n", line.c_str());
  }
  return report;
}

std::map<Role, std::vector<Death>> random_deaths(const std::map<Role, std::vector<std::string>>& failpoints,
                                                 int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](size_t below) { return static_cast<size_t>(random() % below); };
  std::map<Role, std::vector<Death>> deaths;
  for (int i = 0; i < count; ++i) {
    const Role role = kRoles[draw(kRoles.size())];
    const std::vector<std::string>& names = failpoints.at(role);
    Death death;
    if (draw(3) == 0) {
      death.after = absl::Milliseconds(5 + static_cast<int>(draw(700)));
    } else {
      death.failpoint = names[draw(names.size())];
      // What lies on the way to a process's work it comes to once.
      death.nth = draw(2) == 0 ? 1 : 1 + static_cast<int>(draw(6));
    }
    deaths[role].push_back(death);
  }
  return deaths;
}

}  // namespace tf::farm_test
