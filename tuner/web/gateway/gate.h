#pragma once
// Owns: who calls by HTTP, and whether they may: the token, the access table, how often. Does not know: what
// the calls do, connections.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "rpc/access/bearer_tokens.h"
#include "rpc/access/call_guard.h"
#include "tuner/web/http/exchange.h"
#include "tuner/web/http/rate_limit.h"

namespace tf::web {

// Nothing of a token: the tuner speaks plain text on loopback, and its callers may do everything.
struct WebCaller {
  std::optional<rpc::BearerToken> token;
};

// Thread-safe.
class Gate {
 public:
  // Both or neither; they outlive the gate.
  Gate(rpc::CallGuard* guard, rpc::BearerTokens* tokens) : guard_(guard), tokens_(tokens) {}

  bool is_secured() const { return tokens_ != nullptr; }
  // Who calls. UNAUTHENTICATED: no token, or one that is malformed, unknown, ended or revoked.
  absl::StatusOr<WebCaller> identify(const RequestHead& head);
  // OK if the caller may call the method; of a secured tuner as CallGuard::admit says.
  absl::Status admit(const WebCaller& caller, std::string_view method) const;
  // For the audit log: that nobody known has called the method.
  void note_refusal(std::string_view method, const absl::Status& why) const;
  // Whether a call under way may go on.
  bool is_good(const WebCaller& caller) const;
  // How long this caller has to wait until it may call, by its token or address; zero: no longer.
  absl::Duration wait(const WebCaller& caller, const RequestHead& head);

 private:
  rpc::CallGuard* const guard_;
  rpc::BearerTokens* const tokens_;
  RateLimit calls_ = RateLimit({.per_s = 100, .burst = 400});
  // Of an address without a good token: nobody guesses 256 bits, but each attempt costs something.
  RateLimit failures_ = RateLimit({.per_s = 5, .burst = 50});
};

}  // namespace tf::web
