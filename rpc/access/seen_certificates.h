#pragma once
// Owns: the certificates that peers show with call after call, parsed once: OpenSSL takes longer for one than
// a call takes for all else. Does not know: whether they are good.

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "rpc/identity/certificate.h"

namespace tf::rpc {

// Thread-safe.
class SeenCertificates {
 public:
  // Keeps so many at most, some 5 KB each. Only members of the farm come through the handshake, so nobody
  // else fills it.
  explicit SeenCertificates(size_t most = 4096) : most_(most) {}

  // As Certificate::from_pem. Texts that differ in one byte are different certificates.
  absl::StatusOr<Certificate> from_pem(std::string_view pem);
  size_t size() const;

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  std::map<std::string, Certificate, std::less<>> by_pem_;
};

}  // namespace tf::rpc
