#pragma once
// Owns: one trial from its bytes to its reply's bytes: fetch the artifacts, run, say what happened. Does not
// know: streams, queues.

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "device_agent/agent/slots/slot_state.h"
#include "rpc/transfer/artifact_store.h"

namespace tf::rpc {
class ArtifactVerifier;
}

namespace tf::agent {

class ArtifactFetcher;
class ExclusiveExecution;
class TrialExecutor;

// What a slot measures with; they are used as long as it measures.
struct TrialMeans {
  ArtifactFetcher& fetcher;
  TrialExecutor& executor;
  ExclusiveExecution& exclusive_execution;  // the machine's
  // With one, nothing is loaded that no tuner or builder of the farm has signed.
  rpc::ArtifactVerifier* verifier = nullptr;
};

// The serialized farm.v1.MeasureReply, of 1 MiB at the most, with texts of 4 KiB; nothing if `end` came
// first, or if the artifacts cannot be fetched now, because the tracker is away.
std::optional<std::string> measure(const StartedTrial& started, const TrialMeans& means,
                                   const std::stop_token& end);

// How the trial ended, by its reply, as the tracker judges candidates and devices: a serialized
// farm.v1.TrialOutcome. Without its candidate, if that has no digest for a name.
std::string outcome_of(const StartedTrial& started, const std::string& reply);

// Fetches what the trial will need, unless `end` comes first.
void prefetch(const QueuedTrial& trial, ArtifactFetcher& fetcher, const std::stop_token& end);

// Keeps what the trial will need in the cache, as long as the pins live that are added to `pins`.
void pin(const QueuedTrial& trial, ArtifactFetcher& fetcher, std::vector<rpc::ArtifactStore::Pin>& pins);

}  // namespace tf::agent
