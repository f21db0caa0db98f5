#include "rpc/identity/artifact_signature.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::rpc {
namespace {

// Enough for what one lease has under way; beyond that the work is done again.
constexpr size_t kRemembered = 4096;

// The prefix keeps a signature from meaning anything else than this.
std::string statement(const std::string& digest) {
  return absl::StrCat("tunefarm artifact v1\n", digest, "\n");
}

}  // namespace

std::string ArtifactSigner::sign(const std::string& digest) {
  const std::scoped_lock lock(mutex_);
  if (signatures_.size() >= kRemembered) signatures_.clear();
  std::string& signature = signatures_[digest];
  if (signature.empty()) signature = credentials_->key().sign(statement(digest));
  return signature;
}

absl::Status ArtifactVerifier::check(const std::string& digest, std::string_view signature,
                                     std::string_view certificate) {
  const std::pair key(digest, std::string(signature));
  {
    const std::scoped_lock lock(mutex_);
    if (checked_.contains(key)) return absl::OkStatus();
  }
  const absl::Status status = check_signer(certificate, signature, digest);
  if (!status.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("artifact ", digest, " is not loaded: ", std::string(status.message())));
  }
  const std::scoped_lock lock(mutex_);
  if (checked_.size() >= kRemembered) checked_.clear();
  checked_.insert(key);
  return absl::OkStatus();
}

absl::Status ArtifactVerifier::check_signer(std::string_view certificate, std::string_view signature,
                                            const std::string& digest) const {
  if (signature.empty())
    return absl::UnauthenticatedError("nobody has signed it; give --tls to the tuner too");
  TF_ASSIGN_OR_RETURN(const Certificate signer, Certificate::from_der(certificate));
  TF_RETURN_IF_ERROR(signer.check_issued_by(credentials_->ca(), clock_.now()));
  const std::optional<Identity>& who = signer.identity();
  if (!who || (who->role != Role::kTuner && who->role != Role::kBuild)) {
    return absl::PermissionDeniedError(absl::StrCat("it is signed by ",
                                                    who ? who->text() : "nobody of the farm",
                                                    ", which is neither a tuner nor a builder"));
  }
  return signer.check_signature(statement(digest), signature);
}

}  // namespace tf::rpc
