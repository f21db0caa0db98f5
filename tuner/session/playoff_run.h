#pragma once
// Owns: running the play-offs of all tasks through the pipeline. Does not know: the database, budgets, where
// the contenders come from.

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/race.h"
#include "tuner/session/pipeline.h"

namespace tf::session {

// One of a task's best, to be built and measured again.
struct Contender {
  std::shared_ptr<const tunefarm::kernel::v1::BuildRequest> request;
  Estimate estimate;  // so far
};

// What came of one that took part.
struct Played {
  size_t task = 0, contender = 0;
  std::shared_ptr<const tunefarm::kernel::v1::BuildReply> built;
  std::vector<std::shared_ptr<const tunefarm::farm::v1::TrialResult>> results;  // ok ones, one a round
};

// `contenders` are the tasks'; nothing else may be in the pipeline. A candidate that can no longer be
// measured is out. Ends early once `stop` is set, or when no result comes for a minute.
std::vector<Played> play_off(Pipeline& pipeline, std::span<const std::vector<Contender>> contenders,
                             const std::atomic<bool>& stop);

}  // namespace tf::session
