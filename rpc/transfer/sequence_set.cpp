#include "rpc/transfer/sequence_set.h"

#include <iterator>

namespace tf::rpc {

bool SequenceSet::contains(uint64_t sequence) const {
  return sequence <= std::prev(runs_.upper_bound(sequence))->second;
}

void SequenceSet::insert(uint64_t sequence) {
  const auto after = runs_.upper_bound(sequence);
  const auto before = std::prev(after);
  if (sequence <= before->second) return;
  const bool joins_before = before->second + 1 == sequence;
  const bool joins_after = after != runs_.end() && after->first == sequence + 1;
  const uint64_t last = joins_after ? after->second : sequence;
  if (joins_after) runs_.erase(after);
  if (joins_before) {
    before->second = last;
  } else {
    runs_[sequence] = last;
  }
}

}  // namespace tf::rpc
