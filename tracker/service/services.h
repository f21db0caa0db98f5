#pragma once
// Owns: the gRPC face of the tracker: one service for agents, one for tuners, one for operators, each a thin
// translation into calls of Farm and ArtifactStore. Does not know: how leases work.

#include <memory>

namespace grpc {
class Service;
}

namespace tf::rpc {
class ArtifactStore;
class CallPool;
}  // namespace tf::rpc

namespace tf::tracker {

class Farm;

// What they are given must outlive the services, the services the server. Leases, heartbeats, trials and
// replies are answered by gRPC's own threads, which are few and wait for nobody; artifacts (their disk, their
// digests) take the pool `transfers`, operators the pool `calls`. The store's budget
// (rpc/transfer/transfer_budget.h) bounds what artifacts on their way hold, and for how long; it also ends a
// stream whose peer says no hello for kHelloGracePeriod.
std::unique_ptr<grpc::Service> make_agent_service(Farm& farm, rpc::ArtifactStore& artifacts,
                                                  rpc::CallPool& transfers);
std::unique_ptr<grpc::Service> make_tuner_service(Farm& farm, rpc::ArtifactStore& artifacts,
                                                  rpc::CallPool& transfers);
std::unique_ptr<grpc::Service> make_operator_service(Farm& farm, rpc::CallPool& calls);

}  // namespace tf::tracker
