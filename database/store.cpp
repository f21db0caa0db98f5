#include "database/store.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace tf::database {
namespace {

// By the bounds of what each was measured to take.
bool is_surely_faster(const Measurement& one, const Measurement& other) {
  const std::optional<Interval> a = one.interval_ns(), b = other.interval_ns();
  return a && b && a->high_ns < b->low_ns;
}

// The same schedule, timed inside its network.
absl::StatusOr<std::optional<Measurement>> in_network(Records& records, BestQuery query,
                                                      const Measurement& of) {
  query.schedule = of.schedule;
  query.in_network = true;
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> found, records.top(query, 1));
  if (found.empty() || !(found.front().problem == of.problem)) return std::nullopt;
  return std::move(found.front());
}

}  // namespace

absl::StatusOr<std::optional<Measurement>> Records::best(const BestQuery& query) {
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> first, top(query, 1));
  if (first.empty()) return std::nullopt;
  Measurement& fastest = first.front();
  if (fastest.untuned || query.schedule || query.in_network) return std::move(fastest);
  BestQuery same = query;
  same.problem = fastest.problem;
  same.device_class = fastest.device.device_class;
  same.semantics_version = fastest.semantics_version;
  BestQuery of_untuned = same;
  of_untuned.only_untuned = true;
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> untuned, top(of_untuned, 1));
  if (untuned.empty() || !(untuned.front().problem == fastest.problem)) return std::move(fastest);
  TF_ASSIGN_OR_RETURN(const std::optional<Measurement> ours, in_network(*this, same, fastest));
  TF_ASSIGN_OR_RETURN(const std::optional<Measurement> theirs, in_network(*this, same, untuned.front()));
  const bool is_faster =
      ours && theirs ? *ours->median_ns() < *theirs->median_ns() : is_surely_faster(fastest, untuned.front());
  return std::move(is_faster ? fastest : untuned.front());
}

bool numerics_allowed(const std::vector<std::string>& used, const std::vector<std::string>& allowed) {
  return std::ranges::all_of(
      used, [&](const std::string& name) { return std::ranges::find(allowed, name) != allowed.end(); });
}

}  // namespace tf::database
