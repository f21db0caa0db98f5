#pragma once
// Owns: an upload and a fetch of one artifact without a thread of their own. Does not know: whose they are.

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"

namespace tf::farm_load {

// Called once, on a thread of gRPC's.
using Transferred = std::function<void(const absl::Status&)>;

// The stub must outlive the call. `digest` is of `bytes`, in hexadecimal.
void upload(tunefarm::farm::v1::Tuners::Stub& stub, const std::string& digest, const std::string& bytes,
            Transferred done);
// The bytes are verified and dropped.
void fetch(tunefarm::farm::v1::Agents::Stub& stub, const std::string& digest, Transferred done);

}  // namespace tf::farm_load
