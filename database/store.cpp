#include "database/store.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace tf::database {
namespace {

// Records that look faster than the untuned schedule and are not surely so; with more of them, it is the
// best.
constexpr size_t kMostUnsure = 64;

// The first of those that is surely faster than the untuned schedule, or that schedule where it comes first.
std::optional<Choice> first_faster(std::vector<Measurement> fastest, const Measurement& untuned) {
  for (size_t i = 0; i < fastest.size(); ++i) {
    Measurement& each = fastest[i];
    if (each.schedule == untuned.schedule) return Choice{untuned, i == 0 ? Why::kFastest : Why::kUnproven};
    if (is_surely_faster(each, untuned)) return Choice{std::move(each), Why::kFaster};
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
    case Why::kNoGain:
      return "no_gain";
  }
  return "";
}

absl::StatusOr<std::optional<Measurement>> Records::best(const BestQuery& query) {
  TF_ASSIGN_OR_RETURN(std::optional<Choice> choice, choose(query));
  if (!choice) return std::nullopt;
  return std::move(choice->record);
}

absl::StatusOr<std::optional<Choice>> Records::choose(const BestQuery& query) {
  using Takes = NetworkVerdict::Takes;
  BestQuery asked = query;
  if (query.takes == Takes::kUntuned) asked.of = BestQuery::Of::kUntuned;
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> fastest, top(asked, 1));
  if (fastest.empty()) return std::nullopt;
  const auto only = [&](Why why) { return Choice{std::move(fastest.front()), why}; };
  if (query.takes == Takes::kUntuned) return only(Why::kNoGain);
  if (query.takes == Takes::kFastest) return only(fastest.front().untuned ? Why::kFastest : Why::kVerified);
  if (query.schedule || query.of != BestQuery::Of::kEvery) return only(Why::kUnchecked);
  BestQuery same = query;
  same.problem = fastest.front().problem;
  same.device_class = fastest.front().device.device_class;
  same.semantics_version = fastest.front().semantics_version;
  BestQuery of_untuned = same;
  of_untuned.of = BestQuery::Of::kUntuned;
  TF_ASSIGN_OR_RETURN(const std::vector<Measurement> untuned, top(of_untuned, 1));
  if (untuned.empty() || !(untuned.front().problem == same.problem)) return only(Why::kUnchecked);
  std::optional<Choice> chosen = first_faster(std::move(fastest), untuned.front());
  if (chosen) return chosen;  // mostly
  TF_ASSIGN_OR_RETURN(fastest, top(same, kMostUnsure));
  chosen = first_faster(std::move(fastest), untuned.front());
  return std::move(chosen).value_or(Choice{untuned.front(), Why::kUnproven});
}

bool numerics_allowed(const std::vector<std::string>& used, const std::vector<std::string>& allowed) {
  return std::ranges::all_of(
      used, [&](const std::string& name) { return std::ranges::find(allowed, name) != allowed.end(); });
}

}  // namespace tf::database
