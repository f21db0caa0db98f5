#pragma once
// Owns: the end of a unary call of a callback service. Does not know: what was asked.

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"
#include "rpc/grpc_status.h"

namespace tf::rpc {

// What a method that answers at once returns. The reply, if the status is OK, is filled in before.
inline grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(to_grpc(status));
  return reactor;
}

}  // namespace tf::rpc
