#pragma once
// Owns: the public half of a key pair on P-256, which tells who signed something. Does not know: whose it is, files.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "rpc/identity/key_pair.h"

namespace tf::rpc {

// Shared and immutable; copies are cheap. Thread-safe.
class PublicKey {
 public:
  static PublicKey of(const KeyPair& pair);
  // INVALID_ARGUMENT: not the PEM of a public P-256 key.
  static absl::StatusOr<PublicKey> from_pem(const std::string& pem);

  std::string pem() const;  // SubjectPublicKeyInfo
  // SHA-256 of its DER form.
  Digest fingerprint() const;
  // Whether the message was signed by KeyPair::sign of its pair.
  bool has_signed(std::string_view message, std::string_view signature) const;

 private:
  explicit PublicKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

// The same of any key that can sign.
bool is_signature(evp_pkey_st* key, std::string_view message, std::string_view signature);

}  // namespace tf::rpc
