#include "rpc/access/seen_certificates.h"

#include <utility>

#include "base/status.h"

namespace tf::rpc {

absl::StatusOr<Certificate> SeenCertificates::from_pem(std::string_view pem) {
  {
    const std::scoped_lock lock(mutex_);
    const auto seen = by_pem_.find(pem);
    if (seen != by_pem_.end()) return seen->second;
  }
  TF_ASSIGN_OR_RETURN(Certificate certificate, Certificate::from_pem(pem));
  const std::scoped_lock lock(mutex_);
  // Rarely, and then each is parsed once more: cheaper than knowing which was shown last.
  if (by_pem_.size() >= most_) by_pem_.clear();
  by_pem_.insert_or_assign(std::string(pem), certificate);
  return certificate;
}

size_t SeenCertificates::size() const {
  const std::scoped_lock lock(mutex_);
  return by_pem_.size();
}

}  // namespace tf::rpc
