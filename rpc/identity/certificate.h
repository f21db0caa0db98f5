#pragma once
// Owns: X.509 certificates and requests for them as values. Does not know: how one is issued
// (tracker/ca/authority.h), files.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "rpc/identity/identity.h"
#include "rpc/identity/key_pair.h"

struct x509_st;

namespace tf::rpc {

// Shared and immutable; copies are cheap. Thread-safe.
class Certificate {
 public:
  // The first certificate of the text. INVALID_ARGUMENT: there is none, or it is damaged.
  static absl::StatusOr<Certificate> from_pem(std::string_view pem);
  static absl::StatusOr<Certificate> from_der(std::string_view der);
  // Takes over the reference.
  static Certificate adopt(x509_st* certificate);

  std::string pem() const;
  std::string der() const;
  // Of the first subject alternative name that is a member's; none: a CA's.
  const std::optional<Identity>& identity() const { return identity_; }
  // The DNS names and addresses among its subject alternative names, as canonical_host writes them.
  std::vector<std::string> hosts() const;
  // Hexadecimal, lower case.
  const std::string& serial() const { return serial_; }
  absl::Time not_before() const { return not_before_; }
  absl::Time not_after() const { return not_after_; }
  // When two thirds of its life are over.
  absl::Time renew_at() const { return not_before_ + (not_after_ - not_before_) * 2 / 3; }
  // SHA-256 of the DER form.
  Digest fingerprint() const { return sha256(der()); }

  // OK if `ca` has signed it and `now` lies within its life. UNAUTHENTICATED says what is wrong.
  absl::Status check_issued_by(const Certificate& ca, absl::Time now) const;
  // OK if the key of this certificate has signed the message. UNAUTHENTICATED otherwise.
  absl::Status check_signature(std::string_view message, std::string_view signature) const;
  bool matches(const KeyPair& key) const;

  x509_st* get() const { return certificate_.get(); }

 private:
  explicit Certificate(std::shared_ptr<x509_st> certificate);
  std::shared_ptr<x509_st> certificate_;
  std::optional<Identity> identity_;
  std::string serial_;
  absl::Time not_before_;
  absl::Time not_after_;
};

// A PKCS #10 request in DER, signed by the key; the subject's common name is `name`.
std::string make_certificate_request(const KeyPair& key, const std::string& name);

}  // namespace tf::rpc
