#pragma once
// Owns: how a server says that it refused a call only because it is busy, so that the caller may repeat it:
// nothing of the call was done. UNAVAILABLE alone does not say that: the connection may have broken after the
// server did what was asked. Does not know: what was asked.

#include <grpcpp/grpcpp.h>

namespace tf::rpc {

inline constexpr const char* kBusyKey = "tunefarm-busy";

// By the server, before the call ends with UNAVAILABLE.
inline void tell_busy(grpc::ServerContextBase& context) {
  context.AddTrailingMetadata(kBusyKey, "1");
}

// By the client, once the call has ended.
inline bool was_busy(const grpc::ClientContext& context) {
  return context.GetServerTrailingMetadata().contains(kBusyKey);
}

}  // namespace tf::rpc
