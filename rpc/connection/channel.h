#pragma once
// Owns: how both ends of every connection are set up: keepalive, message limits, credentials. Does not know:
// services.

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "rpc/connection/endpoint.h"

struct gpr_timespec;

namespace grpc {
class Channel;
class ChannelCredentials;
class ClientContext;
class ServerBuilder;
}  // namespace grpc

namespace tf::rpc {

class Credentials;
class ExpectedServer;

// A peer that answers no ping is given up after keepalive_every + keepalive_timeout, at both ends.
struct LinkOptions {
  absl::Duration keepalive_every = absl::Seconds(10);
  absl::Duration keepalive_timeout = absl::Seconds(5);
  absl::Duration reconnect_longest = absl::Seconds(2);
  int32_t max_message_bytes = 4 << 20;
  bool keepalive_without_calls = false;  // of a client: else it hears of a dead peer with the next call
};

// Connects lazily, reconnects by itself. Each call makes its own connection: streams of different clients
// never share one. Plain text, which the caller has checked (require_loopback).
std::shared_ptr<grpc::Channel> make_channel(const Endpoint& endpoint, const LinkOptions& options = {});
// Mutual TLS with that server (a role will do); without credentials as above.
std::shared_ptr<grpc::Channel> make_channel(const Endpoint& endpoint,
                                            const std::shared_ptr<Credentials>& credentials,
                                            const ExpectedServer& server, const LinkOptions& options = {});
std::shared_ptr<grpc::Channel> make_channel(const Endpoint& endpoint,
                                            const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                            const LinkOptions& options = {});

// Waits until the channel is connected, at most so long; gRPC retries meanwhile with jittered backoff. Calls
// on a channel that is known to be down fail at once without trying, so ask here before beginning a stream.
// Who waits for a peer to come back waits here and does not sleep: where no other thread waits for something
// of gRPC, as in a process that serves nothing, it gets on with a handshake only every five seconds, and by
// then has given it up.
bool wait_until_connected(grpc::Channel& channel, absl::Duration at_most);

// The server's side of the same settings.
void apply(const LinkOptions& options, grpc::ServerBuilder& builder);

// When so long has passed, as gRPC waits for it, however the wall clock is set meanwhile.
gpr_timespec deadline_in(absl::Duration time);

// Unary calls end after this long, whatever happens.
void set_deadline(grpc::ClientContext& context, absl::Duration from_now);

}  // namespace tf::rpc
