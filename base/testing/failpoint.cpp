#include "base/testing/failpoint.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/testing/event_log.h"

namespace tf {
namespace {

struct Rule {
  std::string name;  // "*": any
  uint64_t nth = 0;
  bool and_later = false;
  std::string action;
  int delay_ms = 0;
  uint64_t count = 0;
};

struct Rules {
  std::mutex mutex;
  std::vector<Rule> rules;
};

Rules& all_rules() {
  static Rules rules;
  return rules;
}

absl::StatusOr<Rule> parse_rule(std::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), ':');
  const auto malformed = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        "failpoint \"", std::string(text), "\" is not NAME:NTH:ACTION, as in database.committed:3:kill"));
  };
  if (parts.size() != 3 || parts[0].empty()) return malformed();
  Rule rule{.name = parts[0], .and_later = parts[1].ends_with('+'), .action = parts[2]};
  const std::string nth = rule.and_later ? parts[1].substr(0, parts[1].size() - 1) : parts[1];
  if (!absl::SimpleAtoi(nth, &rule.nth) || rule.nth == 0) return malformed();
  constexpr std::string_view kDelay = "delay=";
  if (rule.action.starts_with(kDelay)) {
    if (!absl::SimpleAtoi(rule.action.substr(kDelay.size()), &rule.delay_ms)) return malformed();
    rule.action = "delay";
  }
  const bool known =
      rule.action == "kill" || rule.action == "error" || rule.action == "delay" || rule.action == "record";
  if (!known) return malformed();
  return rule;
}

absl::Status act(const Rule& rule, std::string_view name) {
  if (rule.action == "kill") {
    log_event("killed_at", {{"failpoint", name}, {"nth", rule.count}});
    ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();  // no other thread's work may pass this place meanwhile
  }
  if (rule.action == "delay") std::this_thread::sleep_for(std::chrono::milliseconds(rule.delay_ms));
  if (rule.action == "record") log_event("failpoint", {{"failpoint", name}, {"nth", rule.count}});
  if (rule.action != "error") return absl::OkStatus();
  return absl::InternalError(absl::StrCat("a test lets ", std::string(name), " fail"));
}

}  // namespace

namespace failpoint_detail {

std::atomic<bool> armed = false;

absl::Status reached(std::string_view name) {
  std::vector<Rule> due;
  {
    Rules& all = all_rules();
    const std::scoped_lock lock(all.mutex);
    for (Rule& rule : all.rules) {
      if (rule.name != "*" && rule.name != name) continue;
      ++rule.count;
      if (rule.count == rule.nth || (rule.and_later && rule.count > rule.nth)) due.push_back(rule);
    }
  }
  for (const Rule& rule : due) TF_RETURN_IF_ERROR(act(rule, name));
  return absl::OkStatus();
}

}  // namespace failpoint_detail

absl::Status arm_failpoints(std::string_view spec) {
  std::vector<Rule> rules;
  const std::vector<std::string> texts = absl::StrSplit(std::string(spec), ',');
  for (const std::string& text : texts) {
    TF_ASSIGN_OR_RETURN(Rule rule, parse_rule(text));
    rules.push_back(std::move(rule));
  }
  all_rules().rules = std::move(rules);
  failpoint_detail::armed = true;
  return absl::OkStatus();
}

}  // namespace tf
