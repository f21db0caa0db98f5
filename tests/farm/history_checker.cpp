#include "tests/farm/history_checker.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace tf::farm_test {
namespace {

using Name = std::tuple<std::string, uint64_t, uint64_t>;

Name name_of(const Event& event) {
  return {event.lease, event.epoch, event.sequence};
}

std::string text(const Name& name) {
  return absl::StrCat("(", std::get<0>(name), ", ", std::get<1>(name), ", ", std::get<2>(name), ")");
}

using Problems = std::vector<std::string>;

void check_rows(const std::vector<Event>& history, const std::vector<StoredRow>& rows, Problems& problems) {
  std::map<Name, std::string> stored;
  std::set<std::string> candidates;
  for (const StoredRow& row : rows) {
    const Name name{row.lease, row.epoch, row.sequence};
    if (!stored.emplace(name, row.candidate).second) problems.push_back(text(name) + " has two rows");
    if (!candidates.insert(row.candidate).second) problems.push_back(row.candidate + " is stored twice");
  }
  std::map<Name, std::string> durable;
  for (const Event& event : history) {
    const Name name = name_of(event);
    if (event.kind == "result_durable") {
      const auto [first, is_new] = durable.emplace(name, event.candidate);
      if (!is_new && first->second != event.candidate)
        problems.push_back(absl::StrCat(text(name), " names ", first->second, " and ", event.candidate));
      const auto row = stored.find(name);
      if (row == stored.end()) {
        problems.push_back(text(name) + " was durable, but is not in the database");
      } else if (row->second != event.candidate) {
        problems.push_back(
            absl::StrCat(text(name), " is stored as ", row->second, ", not ", event.candidate));
      }
    }
    if (event.kind == "acknowledged") {
      if (!durable.contains(name)) problems.push_back(text(name) + " was acknowledged before it was durable");
      if (!stored.contains(name))
        problems.push_back(text(name) + " was acknowledged, but is not in the database");
    }
  }
}

void check_epochs(const std::vector<Event>& history, Problems& problems) {
  struct Slot {
    uint64_t highest = 0;
    std::string active;  // lease
  };
  std::map<std::string, Slot> slots;
  for (const Event& event : history) {
    if (event.kind == "lease_granted") {
      Slot& slot = slots[event.slot];
      if (event.epoch <= slot.highest) {
        problems.push_back(absl::StrCat("lease ", event.lease, " on ", event.slot, " has epoch ", event.epoch,
                                        ", but ", slot.highest, " was granted before"));
      }
      if (!slot.active.empty() && slot.active != event.lease) {
        problems.push_back(absl::StrCat("lease ", event.lease, " was granted on ", event.slot, " while ",
                                        slot.active, " was active"));
      }
      slot.highest = std::max(slot.highest, event.epoch);
      slot.active = event.lease;
    } else if (event.kind == "lease_restored") {
      // Its grant may have been killed between the disk and the log.
      Slot& slot = slots[event.slot];
      slot.highest = std::max(slot.highest, event.epoch);
      slot.active = event.lease;
    } else if (event.kind == "lease_ended") {
      Slot& slot = slots[event.slot];
      if (slot.active == event.lease) slot.active.clear();
    } else if (event.kind == "state_lost") {
      for (auto& [name, slot] : slots) slot.active.clear();  // but no epoch may be granted twice
    }
  }
}

// What agents did with leases; they tell a slot only by its lease.
void check_agents(const std::vector<Event>& history, const CheckOptions& options, Problems& problems) {
  struct Lease {
    std::string slot;
    int64_t valid_until_ns = 0;
    bool ended = false;
  };
  struct Slot {
    uint64_t accepted = 0;
    int64_t running_in = 0;  // the process whose trial has not ended
    Name running;
  };
  std::map<std::string, Lease> leases;
  std::map<std::string, Slot> slots;
  for (const Event& event : history) {
    const bool begins =
        event.kind == "lease_granted" || event.kind == "lease_restored" || event.kind == "lease_renewed";
    if (begins) {
      Lease& lease = leases[event.lease];
      lease.slot = event.slot;
      lease.ended = false;
      lease.valid_until_ns = event.at_ns + static_cast<int64_t>(event.term_ms) * 1'000'000;
      continue;
    }
    const auto known = leases.find(event.lease);
    if (event.kind == "lease_ended") {
      if (known != leases.end()) known->second.ended = true;
      continue;
    }
    const bool is_relay = event.kind == "reply_relayed";
    const bool is_agents =
        event.kind == "lease_accepted" || event.kind == "trial_started" || event.kind == "trial_ended";
    if (!is_relay && !is_agents) continue;
    if (known == leases.end()) {
      problems.push_back(absl::StrCat(event.kind, " of lease ", event.lease, ", which nobody granted"));
      continue;
    }
    const Lease& lease = known->second;
    Slot& slot = slots[lease.slot];
    const std::string trial = absl::StrCat("trial ", text(name_of(event)));
    if (is_relay && lease.ended)
      problems.push_back("the reply of " + trial + " was relayed after its lease's end");
    if (event.kind == "lease_accepted") {
      if (event.epoch <= slot.accepted) {
        problems.push_back(absl::StrCat("the agent of ", lease.slot, " accepted epoch ", event.epoch,
                                        " after ", slot.accepted));
      }
      slot.accepted = std::max(slot.accepted, event.epoch);
    }
    if (event.kind == "trial_started") {
      if (event.epoch < slot.accepted)
        problems.push_back(
            absl::StrCat(trial, " was started after epoch ", slot.accepted, " had been accepted"));
      if (event.at_ns > lease.valid_until_ns + absl::ToInt64Nanoseconds(options.delay))
        problems.push_back(trial + " was started after its lease had expired");
      if (slot.running_in == event.pid)
        problems.push_back(
            absl::StrCat(trial, " was started while ", text(slot.running), " ran on ", lease.slot));
      slot.running_in = event.pid;
      slot.running = name_of(event);
    }
    if (event.kind == "trial_ended") {
      const absl::Duration late = options.delay + options.agent_stopped;
      if (event.at_ns > lease.valid_until_ns + absl::ToInt64Nanoseconds(late))
        problems.push_back(trial + " ran on after its lease had expired");
      slot.running_in = 0;
    }
  }
}

void check_candidates(const std::vector<Event>& history, bool job_finished, Problems& problems) {
  std::set<std::string> open;
  std::map<std::string, uint64_t> best;  // by task, which is the event's candidate field
  for (const Event& event : history) {
    if (event.kind == "candidate_proposed") open.insert(event.candidate);
    if (event.kind == "candidate_ended") {
      if (event.outcome.empty()) problems.push_back(event.candidate + " ended in no state");
      open.erase(event.candidate);
    }
    if (event.kind != "best_changed") continue;
    const auto [before, is_first] = best.emplace(event.candidate, event.ns);
    if (!is_first && event.ns > before->second) {
      problems.push_back(absl::StrCat("the best of ", event.candidate, " became worse: ", before->second,
                                      " ns, then ", event.ns, " ns"));
    }
    before->second = event.ns;
  }
  if (!job_finished) return;
  for (const std::string& candidate : open) problems.push_back(candidate + " was proposed and never ended");
}

}  // namespace

absl::StatusOr<std::vector<Event>> read_history(const std::string& path) {
  std::vector<Event> history;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("event"))
      return absl::DataLossError(absl::StrCat(path, " has a line that is no event: ", line));
    const auto number = [&](const char* name) { return json.value(name, uint64_t{0}); };
    const auto word = [&](const char* name) { return json.value(name, std::string()); };
    history.push_back({.kind = word("event"),
                       .process = word("process"),
                       .pid = static_cast<int64_t>(number("pid")),
                       .at_ns = static_cast<int64_t>(number("at_ns")),
                       .lease = word("lease"),
                       .epoch = number("epoch"),
                       .sequence = number("sequence"),
                       .slot = word("slot"),
                       .candidate = word("candidate"),
                       .outcome = word("outcome"),
                       .failpoint = word("failpoint"),
                       .term_ms = number("term_ms"),
                       .ns = number("ns")});
  }
  return history;
}

std::vector<std::string> check_history(const std::vector<Event>& history, const std::vector<StoredRow>& rows,
                                       const CheckOptions& options) {
  Problems problems;
  check_rows(history, rows, problems);
  check_epochs(history, problems);
  check_agents(history, options, problems);
  check_candidates(history, options.job_finished, problems);
  return problems;
}

}  // namespace tf::farm_test
