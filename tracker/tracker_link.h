#pragma once
// Owns: how a command reaches a running tracker. Does not know: what it asks.

#include <memory>

#include "rpc/endpoint.h"
#include "rpc/identity/credentials.h"

namespace tf::tracker {

struct TrackerLink {
  rpc::Endpoint endpoint;
  std::shared_ptr<rpc::Credentials> credentials;  // null: plain text
};

}  // namespace tf::tracker
