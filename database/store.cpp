#include "database/store.h"

#include <algorithm>

#include "base/status.h"

namespace tf::database {

absl::StatusOr<std::optional<Measurement>> Records::best(const BestQuery& query) {
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> first, top(query, 1));
  if (first.empty()) return std::nullopt;
  return std::move(first.front());
}

bool numerics_allowed(const std::vector<std::string>& used, const std::vector<std::string>& allowed) {
  return std::ranges::all_of(
      used, [&](const std::string& name) { return std::ranges::find(allowed, name) != allowed.end(); });
}

}  // namespace tf::database
