#pragma once
// Owns: a gRPC server's life: bind, serve, drain; and what every server answers besides its services: its
// health (grpc.health.v1, under the empty service name) and, if asked for, which services it has
// (reflection). Does not know: what the services do.

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/endpoint.h"

namespace grpc {
class Channel;
class Server;
class Service;
}  // namespace grpc

namespace tf::rpc {

// Whether a server could listen there now. ALREADY_EXISTS when the port is in use, INVALID_ARGUMENT for what
// is not an address of this machine. The message names the option that asks for it, unless that is empty.
absl::Status check_bindable(const Endpoint& listen, std::string_view option = "");

class CallGuard;
class Credentials;

// Both, or neither: plain text, which the caller has checked (require_protection).
struct ServerSecurity {
  std::shared_ptr<Credentials> credentials;
  CallGuard* guard = nullptr;  // outlives the server
};

struct ServerOptions {
  LinkOptions link = {};
  // A call of a service of gRPC's synchronous API takes a thread, and so does one of reflection. What these
  // are too few for is RESOURCE_EXHAUSTED. At least 2; 0: as many as there are calls.
  int most_threads = 0;
};

// Every server that this process starts afterwards says which services it has, to who may ask
// (identity/access_table). A stream of that takes a thread for as long as its caller likes.
void serve_reflection();

class Server {
 public:
  // Binds and serves. ALREADY_EXISTS when the port is in use; port 0 takes a free one. The services must
  // outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> start(const Endpoint& listen,
                                                       const std::vector<grpc::Service*>& services,
                                                       const ServerSecurity& security = {},
                                                       const ServerOptions& options = {});
  ~Server();
  // Where it listens, with the real port.
  const Endpoint& endpoint() const { return endpoint_; }
  // To its services from within this process, without a connection. Whoever calls there has checked who may
  // (rpc/access/local_caller.h).
  std::shared_ptr<grpc::Channel> in_process_channel();
  // Is no longer healthy, accepts nothing new, gives what runs `grace` to finish, then cancels it. Returns
  // when all is over.
  void stop(absl::Duration grace);

 private:
  Server(std::unique_ptr<grpc::Server> server, Endpoint endpoint);
  std::unique_ptr<grpc::Server> server_;
  Endpoint endpoint_;
};

}  // namespace tf::rpc
