#pragma once
// Owns: the gRPC face of the tracker: one service for agents, one for tuners, one for operators, each a thin
// translation into calls of Farm and ArtifactStore. Does not know: how leases work.

#include <memory>

namespace grpc {
class Service;
}

namespace tf::rpc {
class ArtifactStore;
}

namespace tf::tracker {

class Farm;

// Farm and store must outlive the services, the services the server.
std::unique_ptr<grpc::Service> make_agent_service(Farm& farm, rpc::ArtifactStore& artifacts);
std::unique_ptr<grpc::Service> make_tuner_service(Farm& farm, rpc::ArtifactStore& artifacts);
std::unique_ptr<grpc::Service> make_operator_service(Farm& farm);

}  // namespace tf::tracker
