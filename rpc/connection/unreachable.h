#pragma once
// Owns: why a server does not answer, in words that say what to do: it asks the address itself what it
// speaks. Does not know: gRPC, whose words for this name neither the service nor a remedy.

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/connection/endpoint.h"

namespace tf::rpc {

enum class Spoken {
  kNothing,  // nobody listens, or who listens keeps silent
  kTls,
  kHttp2,  // plain text, as a tracker's without --tls
  kOther,
};

// What answers there to the beginning of a TLS handshake. Blocks, at most so long for each of connecting and
// waiting (and longer only where the system's resolver of names does).
Spoken spoken_at(const Endpoint& endpoint, absl::Duration at_most = absl::Seconds(1));

// UNAVAILABLE for a connection to `what` ("tracker") at `endpoint` that was not made. `secured`: it was tried
// with --tls. `detail` is what else is known, as gRPC's message, or empty. Blocks as spoken_at.
absl::Status unreachable(const std::string& what, const Endpoint& endpoint, bool secured,
                         const std::string& detail = "");

// UNIMPLEMENTED of a server that was reached and answers calls, of which it does not know this one.
absl::Status knows_no_such_call(const std::string& what, const Endpoint& endpoint);

}  // namespace tf::rpc
