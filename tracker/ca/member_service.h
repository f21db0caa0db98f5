#pragma once
// Owns: the gRPC face of Members. Does not know: how members are kept.

#include <memory>

#include "tracker/ca/members.h"

namespace grpc {
class Service;
}

namespace tf::rpc {
class AuditLog;
class CallPool;
}  // namespace tf::rpc

namespace tf::tracker {

// What it is given must outlive the service. What waits for the disk or signs is done on the pool `calls`,
// and on `joins` for those of whom nobody knows yet: however many there are, they keep no member and no
// operator waiting.
std::unique_ptr<grpc::Service> make_member_service(Members& members, rpc::AuditLog& audit,
                                                   rpc::CallPool& calls, rpc::CallPool& joins);

}  // namespace tf::tracker
