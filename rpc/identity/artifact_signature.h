#pragma once
// Owns: what a signature of an artifact says, who gives it and who believes it. Does not know: artifacts but
// for their digests, how signatures travel.

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "base/digest.h"
#include "rpc/identity/credentials.h"

namespace tf::rpc {

// Signs with the key of its own certificate. Thread-safe; one signature a digest is made.
class ArtifactSigner {
 public:
  explicit ArtifactSigner(std::shared_ptr<Credentials> credentials) : credentials_(std::move(credentials)) {}
  // Of the artifact with this digest (hexadecimal).
  std::string sign(const std::string& digest);
  // In DER, for whoever checks the signatures.
  std::string certificate() const { return credentials_->certificate().der(); }

 private:
  const std::shared_ptr<Credentials> credentials_;
  std::mutex mutex_;
  std::map<std::string, std::string> signatures_;
};

// Thread-safe. What was checked once is believed as long as its signer's certificate is good.
class ArtifactVerifier {
 public:
  explicit ArtifactVerifier(std::shared_ptr<Credentials> credentials,
                            const WallClock& clock = real_wall_clock())
      : credentials_(std::move(credentials)), clock_(clock) {}
  // OK if a tuner or a builder of this farm (its certificate in DER) has signed the digest.
  // FAILED_PRECONDITION says why not: nothing that is not signed is loaded.
  absl::Status check(const std::string& digest, std::string_view signature, std::string_view certificate);
  // Serials of certificates that are good no more, all of them: what they stand for is not loaded from now
  // on.
  void set_revoked(std::set<std::string> serials);

 private:
  struct Signer {
    std::string serial;
    absl::Time ends;
  };
  absl::StatusOr<Signer> check_signer(std::string_view certificate, std::string_view signature,
                                      const std::string& digest) const;
  absl::Status check_good(const Signer& signer) const;  // mutex_ is held

  const std::shared_ptr<Credentials> credentials_;
  const WallClock& clock_;
  std::mutex mutex_;
  std::set<std::string> revoked_;
  std::map<Digest, Signer> checked_;  // by what was checked: artifact, signature and certificate
};

}  // namespace tf::rpc
