#pragma once
// Owns: which of a lease's trials something has come of, at both ends of its stream, for as long as it lasts.
// Does not know: what came of them.

#include <cstddef>
#include <cstdint>
#include <map>

namespace tf::rpc {

// A set of sequence numbers that stays small while they come roughly in order, from wherever. 0, which is
// none, is in it. Not thread-safe.
class SequenceSet {
 public:
  bool contains(uint64_t sequence) const;
  void insert(uint64_t sequence);
  // Of numbers that follow each other: what it takes to remember them.
  size_t runs() const { return runs_.size(); }

 private:
  std::map<uint64_t, uint64_t> runs_ = {{0, 0}};  // the first and the last of each
};

}  // namespace tf::rpc
