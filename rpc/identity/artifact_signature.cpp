#include "rpc/identity/artifact_signature.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace tf::rpc {
namespace {

// Enough for what one lease has under way; beyond that the work is done again.
constexpr size_t kRemembered = 4096;

// The prefix keeps a signature from meaning anything else than this.
std::string statement(const std::string& digest) {
  return absl::StrCat("tunefarm artifact v1\n", digest, "\n");
}

// Names the three of them, wherever one ends and the next begins.
Digest name_of(const std::string& digest, std::string_view signature, std::string_view certificate) {
  return sha256(absl::StrCat(digest.size(), " ", signature.size(), " ", digest, std::string(signature),
                             std::string(certificate)));
}

absl::Status not_loaded(const std::string& digest, const absl::Status& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("artifact ", printable(digest), " is not loaded: ", std::string(why.message())));
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
  const Digest name = name_of(digest, signature, certificate);
  std::unique_lock lock(mutex_);
  auto known = checked_.find(name);
  if (known == checked_.end()) {
    lock.unlock();
    const absl::StatusOr<Signer> signer = check_signer(certificate, signature, digest);
    if (!signer.ok()) return not_loaded(digest, signer.status());
    lock.lock();
    if (checked_.size() >= kRemembered) checked_.clear();
    known = checked_.emplace(name, *signer).first;
  }
  const absl::Status good = check_good(known->second);
  return good.ok() ? good : not_loaded(digest, good);
}

void ArtifactVerifier::set_revoked(std::set<std::string> serials) {
  const std::scoped_lock lock(mutex_);
  revoked_ = std::move(serials);
}

absl::Status ArtifactVerifier::check_good(const Signer& signer) const {
  if (revoked_.contains(signer.serial)) {
    return absl::UnauthenticatedError(
        absl::StrCat("the certificate ", signer.serial, " of its signer is revoked"));
  }
  if (clock_.now() < signer.ends) return absl::OkStatus();
  return absl::UnauthenticatedError("the certificate of its signer has expired");
}

absl::StatusOr<ArtifactVerifier::Signer> ArtifactVerifier::check_signer(std::string_view certificate,
                                                                        std::string_view signature,
                                                                        const std::string& digest) const {
  if (signature.empty()) return absl::UnauthenticatedError("it is not signed; give --tls to the tuner too");
  TF_ASSIGN_OR_RETURN(const Certificate signer, Certificate::from_der(certificate));
  TF_RETURN_IF_ERROR(signer.check_issued_by(credentials_->ca(), clock_.now()));
  const std::optional<Identity>& who = signer.identity();
  if (!who || (who->role != Role::kTuner && who->role != Role::kBuild)) {
    return absl::PermissionDeniedError(absl::StrCat("it is signed by ",
                                                    who ? who->text() : "somebody outside the farm",
                                                    ", which is neither a tuner nor a build member"));
  }
  TF_RETURN_IF_ERROR(signer.check_signature(statement(digest), signature));
  return Signer{signer.serial(), signer.not_after()};
}

}  // namespace tf::rpc
