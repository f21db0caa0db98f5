#pragma once
// Owns: the end of reflection streams on which nothing is said. Reflection is gRPC's own service and takes a
// thread a stream: who opens streams and keeps silent would keep others' calls from theirs. Does not know:
// what reflection tells.

#include <memory>

namespace grpc::experimental {
class ServerInterceptorFactoryInterface;
}

namespace tf::rpc {

class StallWatch;

// For a server, which `silence` must outlive: a reflection stream on which no message comes for as long as
// its grace period lasts is cancelled. All other calls pass by.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> reflection_grace_period(
    StallWatch& silence);

}  // namespace tf::rpc
