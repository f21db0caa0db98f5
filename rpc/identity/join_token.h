#pragma once
// Owns: the text of a join token: a secret, and the fingerprint of the CA that will answer for it. Does not
// know: what the token is good for; its issuer keeps that, by the secret's digest.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/digest.h"

namespace tf::rpc {

struct JoinToken {
  std::string secret;  // 64 hexadecimal digits
  Digest ca;           // Certificate::fingerprint of the CA

  // 256 random bits from the kernel.
  static absl::StatusOr<JoinToken> make(const Digest& ca);
  // INVALID_ARGUMENT: not what text() makes.
  static absl::StatusOr<JoinToken> parse(std::string_view text);
  // "tfj-SECRET-CA"
  std::string text() const;
  // What is kept of the secret.
  Digest digest() const { return sha256(secret); }
};

}  // namespace tf::rpc
