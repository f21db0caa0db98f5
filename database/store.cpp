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
std::optional<Choice> first_faster(std::vector<Measurement> fastest, const Measurement& untuned,
                                   const BySchedule& in_network) {
  const auto theirs = in_network.find(untuned.schedule);
  for (size_t i = 0; i < fastest.size(); ++i) {
    Measurement& each = fastest[i];
    if (each.schedule == untuned.schedule) return Choice{untuned, i == 0 ? Why::kFastest : Why::kUnproven};
    const auto ours = in_network.find(each.schedule);
    const bool have_met =
        theirs != in_network.end() && ours != in_network.end() && met(ours->second, theirs->second);
    if (have_met ? is_surely_faster(ours->second, theirs->second) : is_surely_faster(each, untuned))
      return Choice{std::move(each), have_met ? Why::kVerified : Why::kFaster};
  }
  return std::nullopt;
}

}  // namespace

std::string_view why_name(Why why) {
  switch (why) {
    case Why::kVerified:
      return "verified";
    case Why::kFaster:
      return "faster";
    case Why::kUnchecked:
      return "unchecked";
    case Why::kFastest:
      return "fastest";
    case Why::kUnproven:
      return "unproven";
  }
  return "";
}

absl::StatusOr<std::optional<Measurement>> Records::best(const BestQuery& query) {
  TF_ASSIGN_OR_RETURN(std::optional<Choice> choice, choose(query));
  if (!choice) return std::nullopt;
  return std::move(choice->record);
}

absl::StatusOr<std::optional<Choice>> Records::choose(const BestQuery& query) {
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> fastest, top(query, 1));
  if (fastest.empty()) return std::nullopt;
  const auto only = [&] { return Choice{std::move(fastest.front()), Why::kUnchecked}; };
  if (query.schedule || query.of != BestQuery::Of::kEvery || query.timed != BestQuery::Timed::kAlone)
    return only();
  BestQuery same = query;
  same.problem = fastest.front().problem;
  same.device_class = fastest.front().device.device_class;
  same.semantics_version = fastest.front().semantics_version;
  BestQuery of_untuned = same;
  of_untuned.of = BestQuery::Of::kUntuned;
  TF_ASSIGN_OR_RETURN(const std::vector<Measurement> untuned, top(of_untuned, 1));
  if (untuned.empty() || !(untuned.front().problem == same.problem)) return only();
  TF_ASSIGN_OR_RETURN(const BySchedule in_network, met_in_network(*this, same));
  std::optional<Choice> chosen = first_faster(std::move(fastest), untuned.front(), in_network);
  if (chosen) return chosen;  // mostly
  TF_ASSIGN_OR_RETURN(fastest, top(same, kMostUnsure));
  chosen = first_faster(std::move(fastest), untuned.front(), in_network);
  return std::move(chosen).value_or(Choice{untuned.front(), Why::kUnproven});
}

bool numerics_allowed(const std::vector<std::string>& used, const std::vector<std::string>& allowed) {
  return std::ranges::all_of(
      used, [&](const std::string& name) { return std::ranges::find(allowed, name) != allowed.end(); });
}

}  // namespace tf::database
