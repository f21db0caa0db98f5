#include "rpc/connection/grpc_status.h"

#include <grpcpp/support/status.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "rpc/access/refusal.h"
#include "rpc/connection/unreachable.h"

namespace tf::rpc {
namespace {

// The codes that gRPC gives what it says of a connection itself. A server may use them, too.
bool may_be_of_the_connection(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return true;
    default:
      return false;
  }
}

// gRPC's own words for the end of a connection, which name neither who was at its other end nor, to anybody
// who does not know gRPC, what happened. A message that only quotes them is its sender's.
absl::Status in_our_words(const grpc::Status& status, const std::string& who) {
  const std::string& theirs = status.error_message();
  const auto as = [&](const std::string& ours) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), ours);
  };
  // A server's bound (ServerOptions::most_threads), of which no code of ours hears.
  if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && theirs == "Server Threadpool Exhausted")
    return with_remedy(absl::StatusCode::kResourceExhausted, who + " is at its limit of concurrent calls",
                       "try again later");
  // Where none was made, none has ended, and theirs says where to.
  if (!may_be_of_the_connection(status.error_code()) || absl::StrContains(theirs, "failed to connect"))
    return as(theirs);
  const auto begins_with_one_of = [&](std::initializer_list<const char*> words) {
    return std::ranges::any_of(words, [&](const char* each) { return absl::StartsWith(theirs, each); });
  };
  if (begins_with_one_of({"Cancelling all calls", "Server shutdown"})) return as(who + " is stopping");
  if (begins_with_one_of({"Cancelled on the server side", "CANCELLED"})) return as(who + " ended the call");
  if (begins_with_one_of({"keepalive watchdog timeout", "ping timeout"}))
    return as(who + " stopped responding");
  // "recvmsg:Connection timed out": the kernel has given up a line on which nothing is acknowledged any more.
  const bool is_socket = begins_with_one_of({"recvmsg:", "recvmsg: ", "sendmsg:", "sendmsg: "});
  if (is_socket && (absl::StrContains(theirs, "timed out") || absl::StrContains(theirs, "unreachable") ||
                    absl::StrContains(theirs, "No route")))
    return as(absl::StrCat("lost the connection to ", who, ": no data gets through"));
  // Their codes and texts tell why.
  if (begins_with_one_of({"Received RST_STREAM", "RST_STREAM"}))
    return as(absl::StrCat(who, " ended the call (", theirs, ")"));
  if (begins_with_one_of({"GOAWAY"}))
    return as(absl::StrCat("lost the connection to ", who, " (", theirs, ")"));
  if (begins_with_one_of(
          {"Socket closed", "Stream removed", "Connection reset", "Broken pipe", "End of TCP stream"}) ||
      is_socket)
    return as("lost the connection to " + who);
  return as(theirs);
}

}  // namespace

absl::Status from_grpc(const grpc::Status& status) {
  // gRPC says no more of a service that is not there.
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty())
    return with_remedy(absl::StatusCode::kUnimplemented,
                       "the server at that address does not support this call",
                       "check that the address is that of the intended tuner or tracker, and that both "
                       "programs have the same version");
  return with_remedy_of_refusal(in_our_words(status, "the server"));
}

grpc::Status to_grpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::Status from_grpc(const grpc::Status& status, const std::string& what, const Endpoint& endpoint,
                       bool secured) {
  const auto says = [&](const char* words) { return absl::StrContains(status.error_message(), words); };
  const bool unconnected = status.error_code() == grpc::StatusCode::UNAVAILABLE &&
                           (says("failed to connect") || says("DNS") || says("Connection refused") ||
                            says("handshake failed") || says("verification check failed"));
  if (unconnected) return unreachable(what, endpoint, secured, status.error_message());
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty())
    return knows_no_such_call(what, endpoint);
  return with_remedy_of_refusal(in_our_words(status, absl::StrCat("the ", what, " at ", endpoint.text())));
}

}  // namespace tf::rpc
