// The queue's third part: which slots there are, and which jobs have them.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/service/jobs/job_access.h"
#include "tuner/service/jobs/job_queue.h"

namespace tf::service {

JobQueue::Demand JobQueue::demand_of(const Entry& entry) {
  return {.device = entry.job.device,
          .selector = entry.spec.selector(),
          .target = entry.spec.target(),
          .threads = entry.spec.threads(),
          .person = person_of(entry.job.submitter)};
}

std::map<JobQueue::Demand, JobSpec> JobQueue::demands() {
  std::map<Demand, JobSpec> specs;
  for (const int64_t id : not_over_) {
    const Entry& entry = *entries_.at(id);
    if (entry.running || waits(entry)) specs.emplace(demand_of(entry), entry.spec);
  }
  return specs;
}

void JobQueue::keep_looking() {
  rpc::Instant looked = -absl::InfiniteDuration();
  std::unique_lock lock(mutex_);
  while (!draining_) {
    std::map<Demand, JobSpec> wanted = demands();
    std::erase_if(supplies_, [&](const auto& each) { return !wanted.contains(each.first); });
    const bool is_due = rpc::real_clock().now() >= looked + options_.look_every;
    if (!is_due) std::erase_if(wanted, [&](const auto& each) { return supplies_.contains(each.first); });
    if (is_due) looked = rpc::real_clock().now();
    for (const auto& [demand, spec] : wanted) {
      lock.unlock();
      absl::StatusOr<SlotSupply> supply = executor_.look(spec, demand.person);
      lock.lock();
      if (draining_) return;
      const auto known = supplies_.find(demand);
      if (known != supplies_.end() && known->second == supply) continue;
      supplies_.insert_or_assign(demand, std::move(supply));
      is_share_due_ = true;
      for (const int64_t id : not_over_) {
        Entry& entry = *entries_.at(id);
        if (waits(entry) && demand_of(entry) == demand) changed(entry);
      }
      changed_.notify_all();
    }
    changed_.wait_for(lock, std::chrono::milliseconds(200));
  }
}

void JobQueue::share_slots() {
  std::map<std::string, std::vector<Entry*>> by_key;
  const rpc::Instant now = options_.clock->now();
  for (const int64_t id : not_over_) {
    Entry& entry = *entries_.at(id);
    if (!entry.running && (!waits(entry) || entry.not_before > now)) continue;
    by_key[entry.job.device].push_back(&entry);
  }
  // A key is shared when it is known what each of its jobs can use: otherwise the jobs that were looked at first
  // would take what is another's turn.
  for (const auto& [key, jobs] : by_key) {
    const bool all_known =
        std::ranges::all_of(jobs, [&](const Entry* entry) { return supplies_.contains(demand_of(*entry)); });
    if (all_known) share_slots_of(jobs);
  }
}

SlotClaim JobQueue::claim_of(const Entry& entry, const std::set<std::string>& ours,
                             std::map<std::string, double>& costs) {
  SlotClaim claim;
  const std::string& submitter = entry.job.submitter;
  auto cost = costs.find(submitter);  // the ledger's answers change from moment to moment
  if (cost == costs.end()) cost = costs.emplace(submitter, usage_.cost(submitter)).first;
  claim.turn = turn_of(entry.job.id, entry.spec.priority(), cost->second);
  claim.submitter = submitter;
  claim.most = static_cast<size_t>(most_slots(entry.spec));
  claim.runs = entry.running;
  claim.held = {entry.slots.begin(), entry.slots.end()};
  claim.usable = claim.held;
  const absl::StatusOr<SlotSupply>& supply = supplies_.at(demand_of(entry));
  if (!supply.ok()) return claim;
  claim.usable.insert(supply->usable.begin(), supply->usable.end());
  std::ranges::set_intersection(supply->elsewhere, ours, std::inserter(claim.usable, claim.usable.end()));
  return claim;
}

void JobQueue::share_slots_of(const std::vector<Entry*>& jobs) {
  std::set<std::string> ours;
  for (const Entry* entry : jobs) ours.insert(entry->slots.begin(), entry->slots.end());
  std::map<std::string, double> costs;
  std::vector<SlotClaim> claims;
  for (const Entry* entry : jobs) claims.push_back(claim_of(*entry, ours, costs));
  std::map<int64_t, std::set<std::string>> shares = service::share_slots(claims);
  const bool all_have_theirs = std::ranges::all_of(
      jobs, [&](const Entry* entry) { return entry->slots.size() == shares[entry->job.id].size(); });
  for (Entry* entry : jobs) {
    const std::set<std::string>& share = shares[entry->job.id];
    measure::FleetTarget target{.slots = std::max<size_t>(1, share.size())};
    for (const std::string& slot : entry->slots)
      if (!share.contains(slot)) target.give_back.insert(slot);
    // One request waits in the tracker's queue for what other tuners hold, and the tracker is fair to those
    // who wait; but not for what this tuner's other jobs are about to give back.
    const absl::StatusOr<SlotSupply>& supply = supplies_.at(demand_of(*entry));
    const bool may_have_more = target.slots < static_cast<size_t>(most_slots(entry->spec));
    if (all_have_theirs && may_have_more && supply.ok() && !supply->elsewhere.empty()) ++target.slots;
    if (!entry->running && share.empty() && !may_wait_at_tracker(*entry)) continue;
    entry->allotment.set(std::move(target));
    if (!entry->running) begin(*entry);
  }
}

bool JobQueue::may_wait_at_tracker(const Entry& entry) const {
  const absl::StatusOr<SlotSupply>& supply = supplies_.at(demand_of(entry));
  if (supply.ok() && !supply->usable.empty()) return false;
  return std::ranges::none_of(not_over_, [&](int64_t id) {
    const Entry& other = *entries_.at(id);
    return other.running && demand_of(other) == demand_of(entry);
  });
}

std::string JobQueue::why_no_slot(const Entry& entry) const {
  if (!entry.slots.empty() || (entry.running ? entry.lacks.empty() : !waits(entry))) return "";
  const auto supply = supplies_.find(demand_of(entry));
  if (supply == supplies_.end() || !supply->second.ok()) return "";
  if (supply->second->usable.empty()) return supply->second->why_none;
  std::vector<int64_t> others;
  for (const int64_t id : not_over_) {
    const Entry& other = *entries_.at(id);
    if (&other != &entry && other.running && other.job.device == entry.job.device) others.push_back(id);
  }
  if (others.empty()) return "";
  const size_t slots = supply->second->usable.size();
  return absl::StrCat(slots == 1 ? "the one slot" : absl::StrCat("all ", slots, " slots"), " of key ",
                      entry.job.device, slots == 1 ? " is" : " are", " used by ",
                      others.size() == 1 ? "job " : "jobs ", absl::StrJoin(others, ", "));
}

void JobQueue::set_slots(Entry& entry, const std::vector<std::string>& slots) {
  entry.slots = slots;
  charge(entry, std::max<size_t>(1, slots.size()));
  is_share_due_ = true;
  changed(entry);
}

void JobQueue::charge(Entry& entry, size_t slots) {
  for (; entry.charged < slots; ++entry.charged) usage_.begin(entry.job.submitter);
  for (; entry.charged > slots; --entry.charged) usage_.end(entry.job.submitter);
}

}  // namespace tf::service
