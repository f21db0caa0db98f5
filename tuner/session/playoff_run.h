#pragma once
// Owns: running the play-offs of all tasks through the pipeline. Does not know: the database, budgets, where
// the contenders come from.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "database/record.h"
#include "tuner/session/pipeline.h"
#include "tuner/session/playoff.h"
#include "tuner/session/record_proto.h"

namespace tf::session {

// One of a task's best, to be built and measured again.
struct Contender {
  std::shared_ptr<const tunefarm::kernel::v1::BuildRequest> request;
  Subject subject;
};

// A task's play-off.
struct Pairing {
  size_t task = 0;
  std::vector<Contender> contenders;
};

// What came of one that took part.
struct Played {
  size_t contender = 0;
  std::vector<std::shared_ptr<const tunefarm::farm::v1::TrialResult>> results;  // one a round
  std::vector<database::Measurement> trials;  // what they tell; only the last one can be a failure
  std::optional<Playoff::Standing> standing;  // none if it failed
};

// Runs the play-offs side by side, the first ones first; what else comes out of the pipeline is left alone.
// Of each, those that were measured, the winner first, who failed last. A candidate that can no longer be
// measured is out. No round begins after the deadline or once `stop` is set: what is not decided by then goes
// by the rounds it had. Ends when no result comes for a minute; what comes after all is none of the next
// call's, whose tickets are others.
std::vector<std::vector<Played>> play_off(Pipeline& pipeline, std::span<const Pairing> pairings,
                                          const std::atomic<bool>& stop,
                                          std::chrono::steady_clock::time_point deadline,
                                          uint64_t first_ticket = 0);

}  // namespace tf::session
