#pragma once
// Owns: what the holder of a lease is told of a blocked candidate, as a message. Does not know: who blocks it.

#include <cstdint>
#include <string>

#include "tracker/health/blocklist.h"

namespace tf::tracker {

// The answer to a trial of a blocked candidate, a serialized farm.v1.MeasureReply: how it ended last, under the
// name of this trial, with the devices on which it failed.
std::string blocked_reply(const BlockedCandidate& blocked_candidate, const std::string& candidate,
                          const std::string& lease_id, uint64_t epoch, uint64_t sequence);

}  // namespace tf::tracker
