#include "database/store.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/status.h"

namespace tf::database {
namespace {

// Records that look faster than the untuned schedule and are not surely so; with more of them, it is the
// best.
constexpr size_t kMostUnsure = 64;
// Schedules of a problem that were timed inside its network; slower ones than so many have lost there.
constexpr size_t kMostMet = 128;

using BySchedule = std::map<std::string, Measurement>;

// What was timed inside the network.
absl::StatusOr<BySchedule> met_in_network(Records& records, BestQuery query) {
  query.timed = BestQuery::Timed::kInNetwork;
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> found, records.top(query, kMostMet));
  BySchedule met;
  for (Measurement& each : found)
    if (each.problem == query.problem) met.emplace(each.schedule, std::move(each));
  return met;
}

// The first of those that was faster than the untuned schedule, or that schedule where it comes first.
std::optional<Measurement> first_faster(std::vector<Measurement> fastest, const Measurement& untuned,
                                        const BySchedule& in_network) {
  const auto theirs = in_network.find(untuned.schedule);
  for (Measurement& each : fastest) {
    if (each.schedule == untuned.schedule) return untuned;
    const auto ours = in_network.find(each.schedule);
    const bool have_met =
        theirs != in_network.end() && ours != in_network.end() && met(ours->second, theirs->second);
    if (have_met ? is_surely_faster(ours->second, theirs->second) : is_surely_faster(each, untuned))
      return std::move(each);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::optional<Measurement>> Records::best(const BestQuery& query) {
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> fastest, top(query, 1));
  if (fastest.empty()) return std::nullopt;
  if (query.schedule || query.of != BestQuery::Of::kEvery || query.timed != BestQuery::Timed::kAlone)
    return std::move(fastest.front());
  BestQuery same = query;
  same.problem = fastest.front().problem;
  same.device_class = fastest.front().device.device_class;
  same.semantics_version = fastest.front().semantics_version;
  BestQuery of_untuned = same;
  of_untuned.of = BestQuery::Of::kUntuned;
  TF_ASSIGN_OR_RETURN(const std::vector<Measurement> untuned, top(of_untuned, 1));
  if (untuned.empty() || !(untuned.front().problem == same.problem)) return std::move(fastest.front());
  TF_ASSIGN_OR_RETURN(const BySchedule in_network, met_in_network(*this, same));
  std::optional<Measurement> chosen = first_faster(std::move(fastest), untuned.front(), in_network);
  if (chosen) return chosen;  // mostly
  TF_ASSIGN_OR_RETURN(fastest, top(same, kMostUnsure));
  chosen = first_faster(std::move(fastest), untuned.front(), in_network);
  return std::move(chosen).value_or(untuned.front());
}

bool numerics_allowed(const std::vector<std::string>& used, const std::vector<std::string>& allowed) {
  return std::ranges::all_of(
      used, [&](const std::string& name) { return std::ranges::find(allowed, name) != allowed.end(); });
}

}  // namespace tf::database
