#pragma once
// Owns: the farm's services for holders that reach the agent without the tracker: Measure, UploadArtifact and
// FindMissingArtifacts of farm.v1.Tuners, for leases that the tracker has told the agent of. All other calls
// are UNIMPLEMENTED: who holds which lease, until when, is the tracker's word alone. Does not know: how slots
// work.

#include <memory>
#include <vector>

#include "rpc/clock.h"

namespace grpc {
class Service;
}

namespace tf::rpc {
class ArtifactStore;
}

namespace tf::agent {

class SlotRunner;

// Slots and cache must outlive the service. The cache's budget (rpc/transfer/transfer_budget.h) ends uploads
// that are too slow, and a stream whose peer says no hello for rpc::kHelloGracePeriod. Few who name a lease
// that is not known wait for it, by that clock; the others are told at once.
std::unique_ptr<grpc::Service> make_direct_service(std::vector<SlotRunner*> slots, rpc::ArtifactStore& cache,
                                                   const rpc::Clock& clock = rpc::real_clock());

}  // namespace tf::agent
