#include "tuner/service/job_index.h"

namespace tf::service {

void JobIndex::enter(int64_t job, database::JobState state) {
  ++counts_[state];
  if (!database::is_final(state)) not_over_.insert(job);
}

void JobIndex::leave(int64_t job, database::JobState state) {
  --counts_[state];
  not_over_.erase(job);
}

size_t JobIndex::count(database::JobState state) const {
  const auto found = counts_.find(state);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace tf::service
