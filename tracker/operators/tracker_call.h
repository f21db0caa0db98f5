#pragma once
// Owns: one unary call of a running tracker, as commands make it. Does not know: which services there are.

#include <grpcpp/grpcpp.h>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "tracker/operators/tracker_link.h"

namespace tf::tracker {

// `method` as in &pb::Operators::Stub::ListDevices. UNAVAILABLE if no tracker answers there, INVALID_ARGUMENT
// for plain text beyond loopback; the method's own errors.
template <typename Stub, typename Request, typename Reply>
absl::StatusOr<Reply> call(const TrackerLink& tracker, const Request& request,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*)) {
  const auto& [endpoint, credentials] = tracker;
  TF_RETURN_IF_ERROR(rpc::require_protection(endpoint, "--tracker", credentials));
  Stub stub(rpc::make_channel(endpoint, credentials, rpc::Role::kTracker));
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(10));
  Reply reply;
  const grpc::Status status = (stub.*method)(&context, request, &reply);
  TF_RETURN_IF_ERROR(rpc::from_grpc(status, "tracker", endpoint, credentials != nullptr));
  return reply;
}

}  // namespace tf::tracker
