#pragma once
// Owns: on whose behalf a call within this process is made (Server::in_process_channel), where nobody shows a
// certificate. The identity travels beside a secret that only this process knows, so that whoever else sends
// the like is not believed, whatever way it comes. Does not know: how its caller has learned the identity.

#include <optional>

#include "rpc/identity/identity.h"

namespace grpc {
class ClientContext;
class ServerContextBase;
}  // namespace grpc

namespace tf::rpc {

// Before the call begins, on a channel within this process and on no other.
void call_as(grpc::ClientContext& context, const Identity& identity);

// Nothing: nobody who may has said so.
std::optional<Identity> local_caller(const grpc::ServerContextBase& context);

}  // namespace tf::rpc
