#pragma once
// Owns: the end of a unary call of a callback service. Does not know: what was asked.

#include <grpcpp/grpcpp.h>

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/grpc_status.h"

namespace tf::rpc {

// What a method that answers at once returns. The reply, if the status is OK, is filled in before.
inline grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(to_grpc(status));
  return reactor;
}

// What a method returns that waits for the disk, for a lock under which others do, or computes for more than
// a millisecond: `method` is called on the pool and fills in the reply, while gRPC keeps context, request and
// reply. UNAVAILABLE where the pool is full. A caller that has gone before its turn is not served any more.
inline grpc::ServerUnaryReactor* finished_on(CallPool& pool, grpc::CallbackServerContext* context,
                                             std::function<absl::Status()> method) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::Status taken = pool.run([context, reactor, method = std::move(method)] {
    reactor->Finish(context->IsCancelled() ? grpc::Status::CANCELLED : to_grpc(method()));
  });
  if (!taken.ok()) reactor->Finish(to_grpc(taken));
  return reactor;
}

}  // namespace tf::rpc
