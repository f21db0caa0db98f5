#pragma once
// Owns: which jobs are not over, so that whoever looks for something to do does not walk through all that was
// ever done, and how many are in each state. Pure. Does not know: what a job is.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "database/record.h"

namespace tf::service {

class JobIndex {
 public:
  // A job is in one state at a time: it leaves that for the next.
  void enter(int64_t job, database::JobState state);
  void leave(int64_t job, database::JobState state);

  // In order of submission, as ids grow.
  const std::set<int64_t>& not_over() const { return not_over_; }
  size_t count(database::JobState state) const;

 private:
  std::set<int64_t> not_over_;
  std::map<database::JobState, size_t> counts_;
};

}  // namespace tf::service
