#pragma once
// Owns: the farm's CA: its key, and certificates signed with it. Does not know: who deserves one
// (members.h).

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/identity/certificate.h"
#include "rpc/identity/identity.h"
#include "rpc/identity/key_pair.h"

namespace tf::tracker {

// DIR/ca.pem and DIR/ca-key.pem (0600). Thread-safe.
class Authority {
 public:
  // Makes both files, and the folder if need be; the CA lasts ten years. ALREADY_EXISTS: there is a CA in it,
  // or a member's certificate or key: nothing in it is overwritten.
  static absl::Status make(const std::string& folder, absl::Time now);
  // NOT_FOUND: no CA in the folder, and how to make one. FAILED_PRECONDITION: it is a member's folder, or the
  // CA's key is missing. DATA_LOSS: its files are damaged.
  static absl::StatusOr<std::unique_ptr<Authority>> open(const std::string& folder);

  const rpc::Certificate& certificate() const { return certificate_; }

  // A certificate for the key of the request (PKCS #10, DER), whose holder proves with its signature that it
  // has that key; nothing else is taken from it. Good from a minute before now (or a tenth of its life),
  // since clocks differ. Members that may serve (rpc::may_serve) may do so with it; `hosts` are the names and
  // addresses, canonical, that other programs look for in it. INVALID_ARGUMENT: no such request, its key is
  // not an ECDSA key on P-256, or something that is not a host.
  absl::StatusOr<rpc::Certificate> issue(const std::string& request, const rpc::Identity& identity,
                                         absl::Time now, absl::Duration life,
                                         const std::vector<std::string>& hosts = {}) const;
  // Whether the certificate is for the key of the request. INVALID_ARGUMENT: as above.
  static absl::StatusOr<bool> is_of_key(const std::string& request, const rpc::Certificate& certificate);

 private:
  Authority(rpc::KeyPair key, rpc::Certificate certificate)
      : key_(std::move(key)), certificate_(std::move(certificate)) {}

  const rpc::KeyPair key_;
  const rpc::Certificate certificate_;
};

}  // namespace tf::tracker
