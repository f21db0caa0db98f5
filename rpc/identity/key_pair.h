#pragma once
// Owns: an ECDSA key pair on P-256, the only kind of key in a farm. Does not know: whose it is, files.

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct evp_pkey_st;

namespace tf::rpc {

// Shared and immutable; copies are cheap. Thread-safe.
class KeyPair {
 public:
  static absl::StatusOr<KeyPair> generate();
  // INVALID_ARGUMENT: not the PEM of a private P-256 key.
  static absl::StatusOr<KeyPair> from_pem(const std::string& pem);

  // PKCS #8, not encrypted: whoever writes it makes the file 0600.
  std::string pem() const;
  // ECDSA over SHA-256 of the message (FIPS 186-4), in DER.
  std::string sign(std::string_view message) const;
  evp_pkey_st* get() const { return key_.get(); }

 private:
  explicit KeyPair(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

// Whether a key is of the only kind that members may have.
bool is_p256(const evp_pkey_st* key);

// What OpenSSL says of the last failure in this thread, on one line; clears it.
std::string openssl_reason();

}  // namespace tf::rpc
