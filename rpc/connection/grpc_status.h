#pragma once
// Owns: the passage between absl::Status and grpc::Status. The codes are the same numbers in both.

#include <string>

#include "absl/status/status.h"
#include "rpc/connection/endpoint.h"

namespace grpc {
class Status;
}

namespace tf::rpc {

// With its remedy (base/remedy.h) what a server's gate refused (identity/refusal.h); of other errors a
// server's remedy is a part of the message. What gRPC itself says of a connection that has ended, or of a
// server's bound of threads, is put into our words, so this is for the caller's end of a call only.
absl::Status from_grpc(const grpc::Status& status);
grpc::Status to_grpc(const absl::Status& status);

// As from_grpc, but a failure to connect says who could not be reached, or who is not trusted, and what to
// do (unreachable.h, which may block for some seconds). `secured`: the connection was to speak TLS.
absl::Status from_grpc(const grpc::Status& status, const std::string& what, const Endpoint& endpoint,
                       bool secured);

}  // namespace tf::rpc
