#include "database/store.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace tf::database {
namespace {

// Records that look faster than the untuned schedule and are not surely so; with more of them, it is the
// best.
constexpr size_t kMostUnsure = 64;

// The same schedule, timed inside its network.
absl::StatusOr<std::optional<Measurement>> in_network(Records& records, BestQuery query,
                                                      const Measurement& of) {
  query.schedule = of.schedule;
  query.in_network = true;
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> found, records.top(query, 1));
  if (found.empty() || !(found.front().problem == of.problem)) return std::nullopt;
  return std::move(found.front());
}

// The first of those that was faster than the untuned schedule, or that schedule where it comes first.
absl::StatusOr<std::optional<Measurement>> first_faster(Records& records, const BestQuery& query,
                                                        std::vector<Measurement> fastest,
                                                        const Measurement& untuned) {
  TF_ASSIGN_OR_RETURN(const std::optional<Measurement> theirs, in_network(records, query, untuned));
  for (Measurement& each : fastest) {
    if (each.schedule == untuned.schedule) return untuned;
    std::optional<Measurement> ours;
    if (theirs) {
      TF_ASSIGN_OR_RETURN(ours, in_network(records, query, each));
    }
    const bool is_faster =
        ours && met(*ours, *theirs) ? is_surely_faster(*ours, *theirs) : is_surely_faster(each, untuned);
    if (is_faster) return std::move(each);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::optional<Measurement>> Records::best(const BestQuery& query) {
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> fastest, top(query, 1));
  if (fastest.empty()) return std::nullopt;
  if (query.schedule || query.only_untuned || query.in_network) return std::move(fastest.front());
  BestQuery same = query;
  same.problem = fastest.front().problem;
  same.device_class = fastest.front().device.device_class;
  same.semantics_version = fastest.front().semantics_version;
  BestQuery of_untuned = same;
  of_untuned.only_untuned = true;
  TF_ASSIGN_OR_RETURN(const std::vector<Measurement> untuned, top(of_untuned, 1));
  if (untuned.empty() || !(untuned.front().problem == same.problem)) return std::move(fastest.front());
  TF_ASSIGN_OR_RETURN(std::optional<Measurement> chosen,
                      first_faster(*this, same, std::move(fastest), untuned.front()));
  if (chosen) return chosen;  // mostly
  TF_ASSIGN_OR_RETURN(fastest, top(same, kMostUnsure));
  TF_ASSIGN_OR_RETURN(chosen, first_faster(*this, same, std::move(fastest), untuned.front()));
  return std::move(chosen).value_or(untuned.front());
}

bool numerics_allowed(const std::vector<std::string>& used, const std::vector<std::string>& allowed) {
  return std::ranges::all_of(
      used, [&](const std::string& name) { return std::ranges::find(allowed, name) != allowed.end(); });
}

}  // namespace tf::database
