#pragma once
// Owns: remembering what was proposed, so that no strategy proposes a candidate twice.

#include "absl/container/flat_hash_set.h"
#include "tuner/space/space.h"

namespace tf::search {

class Seen {
 public:
  // True the first time a candidate is added.
  bool add(const space::Candidate& candidate) { return candidates_.insert(candidate).second; }
  void remove(const space::Candidate& candidate) { candidates_.erase(candidate); }
  bool contains(const space::Candidate& candidate) const { return candidates_.contains(candidate); }

 private:
  absl::flat_hash_set<space::Candidate> candidates_;
};

}  // namespace tf::search
