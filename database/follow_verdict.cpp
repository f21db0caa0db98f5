#include "database/follow_verdict.h"

#include <algorithm>

namespace tf::database {

void follow_verdict(const std::vector<NetworkVerdict>& verdicts, BestQuery& query) {
  const auto found = std::ranges::find_if(verdicts, [&](const NetworkVerdict& verdict) {
    return verdict.kernels.contains(query.problem.workload) && verdict.target == query.problem.target &&
           verdict.threads == query.problem.threads && verdict.numerics == query.allowed_numerics &&
           query.device_class.value_or(verdict.device_class) == verdict.device_class;
  });
  if (found == verdicts.end()) return;
  query.device_class = found->device_class;
  query.takes = found->takes;
}

}  // namespace tf::database
