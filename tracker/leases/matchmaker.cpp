#include "tracker/leases/matchmaker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace tf::tracker {

Matchmaker::Matchmaker(const rpc::Clock& clock, MatchOptions options, UserPolicies policies)
    : clock_(clock),
      options_(options),
      policies_(std::move(policies)),
      queue_(clock, options.rank, options.place_kept),
      usage_(clock, options.half_life) {}

void Matchmaker::set_free(const SlotKey& slot, const Terms& terms) {
  const Terms* before = slots_.free(slot);
  if (before && *before == terms) return;
  slots_.set_free(slot, terms);
  changed_slots_.insert(slot);
}

void Matchmaker::set_taken(const SlotKey& slot) {
  slots_.set_taken(slot);
  changed_slots_.erase(slot);
}

void Matchmaker::forget(const std::string& device_id) {
  slots_.forget(device_id);
  std::erase_if(changed_slots_, [&](const SlotKey& slot) { return slot.device_id == device_id; });
}

// Before the kind is looked into: one that is new costs a look at all devices with its key.
absl::Status Matchmaker::check_quota(const UserPolicy& policy, const std::string& user,
                                     std::optional<RequestKindId> kind) const {
  const std::map<RequestKindId, size_t>& waiting = queue_.waiting_of(user);
  size_t requests = 0;
  for (const auto& [each, count] : waiting) requests += count;
  if (policy.max_waiting != 0 && requests >= policy.max_waiting) {
    return absl::ResourceExhaustedError(
        absl::StrCat("user ", user, " has ", policy.max_waiting,
                     " requests waiting, which is its quota: try again when one is answered"));
  }
  const bool is_new = !kind || !waiting.contains(*kind);
  if (policy.max_demands != 0 && is_new && waiting.size() >= policy.max_demands) {
    return absl::ResourceExhaustedError(
        absl::StrCat("user ", user, " waits with ", policy.max_demands,
                     " different requirements, which is its quota: try again when one is answered"));
  }
  return absl::OkStatus();
}

absl::StatusOr<RequestId> Matchmaker::add(const NewRequest& request) {
  const UserPolicy& policy = policies_.of(request.user);
  const std::optional<RequestKindId> known = slots_.find(request.kind);
  TF_RETURN_IF_ERROR(check_quota(policy, request.user, known));
  const RequestKindId kind = known ? *known : slots_.intern(request.kind);
  if (!slots_.satisfiable(kind)) return slots_.why_unsatisfiable(request.kind);
  slots_.use(kind);
  changed_users_.insert(request.user);
  return queue_.add({.kind = kind,
                     .user = request.user,
                     .holder = request.holder,
                     .holder_run = request.holder_run,
                     .priority = std::clamp(request.priority, kLowestPriority,
                                            std::min(policy.highest_priority, kHighestPriority)),
                     .arrived = {},
                     .deadline = clock_.now() + request.wait});
}

bool Matchmaker::withdraw(RequestId id) {
  if (!queue_.requests().contains(id)) return false;
  const uint32_t most = policies_.of(queue_.at(id).user).max_waiting;
  const std::optional<WaitingRequest> request = most == 0 ? queue_.withdraw(id) : queue_.withdraw(id, most);
  slots_.unuse(request->kind);
  return true;
}

bool Matchmaker::has_quota(const std::string& user) const {
  const uint32_t most = policies_.of(user).max_slots;
  return most == 0 || usage_.held(user) < most;
}

double Matchmaker::cost(const std::string& user) const {
  return usage_.cost(user) / policies_.of(user).share;
}

std::optional<double> Matchmaker::cost_if_allowed(const std::string& user,
                                                  const std::string& reserved_for) const {
  if (!reserved_for.empty() && user != reserved_for) return std::nullopt;
  return has_quota(user) ? std::optional(cost(user)) : std::nullopt;
}

std::optional<RequestId> Matchmaker::best_for(const SlotKey& slot) const {
  const Terms* terms = slots_.free(slot);
  if (!terms) return std::nullopt;
  return queue_.best(slots_.met_by(slot),
                     [&](const std::string& user) { return cost_if_allowed(user, terms->reserved_for); });
}

// Free slots that this user's requests could have had while its quota did not let them.
void Matchmaker::look_at_slots_for(const std::string& user) {
  if (!has_quota(user)) return;
  for (const RequestKindId kind : queue_.kinds_of(user)) {
    if (const std::optional<SlotKey> slot = slots_.pick(kind, user)) changed_slots_.insert(*slot);
  }
}

std::optional<Match> Matchmaker::next() {
  while (!changed_slots_.empty() || !changed_users_.empty()) {
    if (changed_slots_.empty()) {
      const std::string user = *changed_users_.begin();
      look_at_slots_for(user);
      // Looked at again after each match, until none of its requests has a slot to go to.
      if (changed_slots_.empty()) changed_users_.erase(user);
      continue;
    }
    SlotKey slot = *changed_slots_.begin();
    const std::optional<RequestId> id = best_for(slot);
    if (!id) {
      changed_slots_.erase(slot);
      continue;
    }
    // It may prefer another free slot, if it is the next there, too.
    const SlotKey preferred = *slots_.pick(queue_.at(*id).kind, queue_.at(*id).user);
    if (best_for(preferred) == id) slot = preferred;
    changed_slots_.erase(slot);
    WaitingRequest request = *queue_.take(*id);
    slots_.unuse(request.kind);
    slots_.set_taken(slot);
    usage_.begin(request.user);
    return Match{*id, std::move(request), slot};
  }
  return std::nullopt;
}

void Matchmaker::begin(const std::string& user) {
  usage_.begin(user);
}

void Matchmaker::end(const SlotKey& slot, const std::string& user) {
  usage_.end(user);
  changed_users_.insert(user);
  forget_yielding(slot);
}

void Matchmaker::forget_yielding(const SlotKey& slot) {
  const auto yielding = yielding_.find(slot);
  if (yielding == yielding_.end()) return;
  const auto count = yielding_for_.find(yielding->second);
  if (--count->second == 0) yielding_for_.erase(count);
  yielding_.erase(yielding);
}

absl::Duration Matchmaker::slice_against(int priority, const WaitingRequest& waiting) const {
  const int steps = std::max(0, waiting.priority - priority);
  return std::max(options_.shortest_slice, options_.slice / (int64_t{1} << steps));
}

absl::Status Matchmaker::may_renew(const Lease& lease, const std::string& reserved_for) {
  const absl::Duration held = clock_.now() - lease.granted_at;
  forget_yielding(lease.slot);  // those for whom it was told may have gone since
  // As if the holder asked again now: only who goes before that has a claim.
  const Rank afresh = rank_of(virtual_arrival(clock_.now(), lease.priority, options_.rank), cost(lease.user),
                              clock_.now(), options_.rank);
  const auto claims = [&](const WaitingRequest& waiting) {
    if (waiting.holder == lease.holder && waiting.holder_run == lease.holder_run) return false;
    const auto yielding = yielding_for_.find(waiting.kind);
    const size_t served = yielding == yielding_for_.end() ? 0 : yielding->second;
    return held >= slice_against(lease.priority, waiting) && queue_.waiting(waiting.kind) > served;
  };
  const std::optional<RequestId> claimant = queue_.best_before(
      afresh, slots_.met_by(lease.slot),
      [&](const std::string& user) { return cost_if_allowed(user, reserved_for); }, claims);
  if (!claimant) return absl::OkStatus();
  const RequestKindId kind = queue_.at(*claimant).kind;
  yielding_[lease.slot] = kind;
  ++yielding_for_[kind];
  return absl::AbortedError(absl::StrCat("the lease has been held for ",
                                         absl::FormatDuration(absl::Trunc(held, absl::Seconds(1))),
                                         " and others wait for its slot: release it and acquire another"));
}

}  // namespace tf::tracker
