#pragma once
// Owns: gRPC's environment, set before main, as programs do first thing in it. Does not know: what calls.

#include "base/grpc_environment.h"

namespace tf::tracker {

inline const bool kGrpcPrepared = (set_grpc_environment(), true);

}  // namespace tf::tracker
