#pragma once
// Owns: whose turn it is among jobs that want the same slots: the job of the highest priority; of several
// such the one whose submitter has had the fewest slot-seconds lately; of those the one submitted first.
// Pure. Does not know: devices, states of jobs.

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
