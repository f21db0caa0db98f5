#include "rpc/connection/channel.h"

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>

#include <chrono>

#include "rpc/identity/credentials.h"

namespace tf::rpc {
namespace {

// On one connection at once; a server lets the others wait at their client.
constexpr int kMostCalls = 1000;

int milliseconds(absl::Duration d) {
  return static_cast<int>(absl::ToInt64Milliseconds(d));
}

}  // namespace

std::shared_ptr<grpc::Channel> make_channel(const Endpoint& endpoint, const LinkOptions& options) {
  return make_channel(endpoint, grpc::InsecureChannelCredentials(), options);
}

std::shared_ptr<grpc::Channel> make_channel(const Endpoint& endpoint,
                                            const std::shared_ptr<Credentials>& credentials,
                                            const ExpectedServer& server, const LinkOptions& options) {
  return make_channel(
      endpoint, credentials ? credentials->channel(server) : grpc::InsecureChannelCredentials(), options);
}

std::shared_ptr<grpc::Channel> make_channel(const Endpoint& endpoint,
                                            const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                            const LinkOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options.keepalive_every));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options.keepalive_timeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, options.keepalive_without_calls ? 1 : 0);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);  // in truth the time that one attempt is given
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, milliseconds(options.reconnect_longest));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Loopback and lab networks: a proxy from the environment would only be in the way.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(options.max_message_bytes);
  arguments.SetMaxSendMessageSize(options.max_message_bytes);
  return grpc::CreateCustomChannel(endpoint.text(), credentials, arguments);
}

bool wait_until_connected(grpc::Channel& channel, absl::Duration at_most) {
  return channel.WaitForConnected(deadline_in(at_most));
}

void apply(const LinkOptions& options, grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options.keepalive_every));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             milliseconds(options.keepalive_every / 2));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostCalls);
  // A second server on the same port must fail, not share it.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.SetMaxSendMessageSize(options.max_message_bytes);
}

gpr_timespec deadline_in(absl::Duration time) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(absl::ToInt64Milliseconds(time), GPR_TIMESPAN));
}

void set_deadline(grpc::ClientContext& context, absl::Duration from_now) {
  context.set_deadline(deadline_in(from_now));
}

}  // namespace tf::rpc
