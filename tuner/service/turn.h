#pragma once
// Owns: which of the jobs that wait for the same devices is next: the highest priority; among equals a job of
// the submitter who has recently had the least, so that nobody's fifty jobs hold up another's one; of theirs
// the first submitted. Pure. Does not know: devices, states of jobs.

#include <compare>
#include <cstdint>

namespace tf::service {

// Where a job stands at one moment; the least is next.
struct Turn {
  int negative_priority = 0;
  double cost = 0;  // of the submitter, in seconds; less than 1 counts as 0
  int64_t job = 0;  // ids grow in order of submission
  std::partial_ordering operator<=>(const Turn&) const = default;
};

// `cost` is what a ledger says of the submitter. It decays by the clock: whoever compares several jobs asks
// it once a submitter, or those who come later are always cheaper.
Turn turn_of(int64_t job, int priority, double cost);

}  // namespace tf::service
