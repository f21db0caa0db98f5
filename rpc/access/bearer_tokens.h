#pragma once
// Owns: the tokens by which callers of HTTP show who they are: texts of which only digests are kept, each for
// one role and name, and for hours. Does not know: HTTP, what a role may do.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "rpc/clock.h"
#include "rpc/identity/certificate.h"
#include "rpc/identity/identity.h"

namespace tf::rpc {

struct BearerToken {
  Digest digest;  // of its text
  Identity identity;
  absl::Time issued, ends;
  Identity issuer;
  std::string serial;  // of the certificate by which it was issued
  // By which people name it.
  std::string id() const { return digest.hex().substr(0, 12); }
};

struct IssuedBearerToken {
  std::string text;  // "tft-" and 64 hexadecimal digits; nobody can tell it again
  BearerToken token;
};

// OK if a member may issue a token for the identity: admins for every person, others for themselves, with
// their own role or as a viewer. PERMISSION_DENIED says so; INVALID_ARGUMENT: no person has that role.
absl::Status check_may_issue(const Identity& issuer, const Identity& asked);

// Thread-safe. Every change is on the disk when the call returns.
class BearerTokens {
 public:
  static constexpr absl::Duration kUsualLife = absl::Hours(12);
  static constexpr absl::Duration kLongestLife = absl::Hours(24 * 7);
  static constexpr size_t kMostOfEach = 100;  // of an issuer, at once

  // What the file tells, which is made with the first token. DATA_LOSS: it is damaged. The clock must outlive
  // the tokens.
  static absl::StatusOr<std::unique_ptr<BearerTokens>> open(const std::string& path,
                                                            const WallClock& clock = real_wall_clock());

  // It ends no later than the issuer's certificate. INVALID_ARGUMENT: a life of nothing, or over the longest.
  // RESOURCE_EXHAUSTED: kMostOfEach. check_may_issue's errors.
  absl::StatusOr<IssuedBearerToken> issue(const Identity& identity, absl::Duration life,
                                          const Certificate& issuer);
  // The token with this text, if it is good now. UNAUTHENTICATED says why not.
  absl::StatusOr<BearerToken> find(std::string_view text) const;
  // Whether it is good still.
  bool is_good(const BearerToken& token) const;
  // Those that are good, the oldest first.
  std::vector<BearerToken> list() const;
  // NOT_FOUND: no good token has this id.
  absl::Status revoke(const std::string& id);
  // Ends what was issued by certificates with these serials.
  void set_revoked(const std::set<std::string>& serials);

 private:
  BearerTokens(std::string path, const WallClock& clock) : path_(std::move(path)), clock_(clock) {}
  absl::Status read();
  absl::Status write(std::map<Digest, BearerToken> tokens);  // mutex_ is held

  const std::string path_;
  const WallClock& clock_;
  mutable std::mutex mutex_;
  std::map<Digest, BearerToken> tokens_;
};

}  // namespace tf::rpc
