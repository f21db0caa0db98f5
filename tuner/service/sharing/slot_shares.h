#pragma once
// Owns: how the slots of a farm that have one key are shared among the jobs that want them. Pure. Does not
// know: how a slot is acquired, how a job runs.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

namespace tf::service {

// Whose turn it is among jobs that want the same slots: the least is next. That is the job of the highest priority; of several
// such the one whose submitter has had the fewest slot-seconds lately; of those the one submitted first.
struct Turn {
  int negative_priority = 0;
  double cost = 0;  // of the submitter, in seconds; less than 1 counts as 0
  int64_t job = 0;  // ids grow in order of submission
  std::partial_ordering operator<=>(const Turn&) const = default;
};

// `cost` is what a ledger says of the submitter. It decays by the clock: whoever compares several jobs asks
// it once a submitter, or those who come later are always cheaper.
inline Turn turn_of(int64_t job, int priority, double cost) {
  return {.negative_priority = -priority, .cost = cost < 1 ? 0 : cost, .job = job};
}

// What one job wants. Slots are named "DEVICE/SLOT".
struct SlotClaim {
  Turn turn;  // whose turn it is; names the job
  std::string submitter;
  size_t most = 0;  // slots that it may have; 0: any number
  bool runs = false;
  std::set<std::string> usable;  // slots that meet its requirements and that others do not hold
  std::set<std::string> held;    // of those, the ones that it has
};

// Which slots each job is to have, by its number; a job that is to have none is absent.
//
// 1. A job that runs keeps one slot, so that none is interrupted for another.
// 2. All jobs of the highest priority come next, then those of the next one, and so on.
// 3. Within a priority the slots are shared evenly between submitters, then between the jobs of each.
// 4. What cannot be shared evenly goes to who has it already, else to whose turn it is.
//
// A job keeps the slots that it has as far as its share allows. A slot that few jobs can use is left to them.
std::map<int64_t, std::set<std::string>> share_slots(std::span<const SlotClaim> claims);

}  // namespace tf::service
