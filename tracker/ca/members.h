#pragma once
// Owns: who belongs to the farm: lets in by token, renews, revokes. Does not know: connections, who may ask
// for what (rpc/access/access_table.h).

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/clock.h"
#include "rpc/identity/join_token.h"
#include "tracker/ca/authority.h"
#include "tracker/ca/certificate_roll.h"
#include "tracker/ca/member_store.h"

namespace tf::tracker {

struct MembersOptions {
  absl::Duration certificate_life = absl::Hours(24 * 30);
  // Canonical names and addresses of the tracker's machine: a member's certificate carries one of them only if an admin
  // has put it in the member's token.
  std::vector<std::string> tracker_hosts = {};
};

// Whom a token lets in.
struct TokenOptions {
  rpc::Role role = rpc::Role::kViewer;
  std::string name = "";          // empty: the joiner chooses a free one; one that is taken is replaced
  std::string name_pattern = "";  // that the joiner's choice must match; '*' stands for any characters
  uint32_t uses = 1;
  absl::Duration life = absl::Minutes(15);
  std::vector<std::string> hosts = {};  // that the member's certificate carries
};

// Who joins, and from where.
struct Joiner {
  std::string name = "";                // asked for
  std::vector<std::string> roles = {};  // that it has a use for, as certificates write them; empty: any
  std::string address = "";             // from which it calls, without the port; empty: not known
};

// Thread-safe. Calls wait for the disk, and for each other, unless they say that they do not.
class Members {
 public:
  // The CA of the folder and DIR/members.db. The clock must outlive the members.
  static absl::StatusOr<std::unique_ptr<Members>> open(const std::string& folder,
                                                       const rpc::WallClock& clock = rpc::real_wall_clock(),
                                                       MembersOptions options = {});

  const rpc::Certificate& ca() const { return authority_->certificate(); }
  absl::Duration certificate_life() const { return options_.certificate_life; }

  // INVALID_ARGUMENT: a bound is exceeded (kMostUses, kLongestTokenLife), or options that contradict each other.
  absl::StatusOr<rpc::JoinToken> issue_token(const TokenOptions& options);
  static constexpr uint32_t kMostUses = 1000;
  static constexpr absl::Duration kLongestTokenLife = absl::Hours(24 * 7);
  // Those that can still be used, the oldest first.
  absl::StatusOr<std::vector<OpenToken>> tokens();
  static constexpr size_t kMostTokensListed = 1000;
  // NOT_FOUND: no token that can still be used has this id.
  absl::Status revoke_token(const std::string& id);
  // Of these hosts those that are the tracker's, too.
  std::vector<std::string> tracker_hosts_among(const std::vector<std::string>& hosts) const;

  // What is refused does not use up the token. UNAUTHENTICATED: unknown, used up, expired or revoked.
  // FAILED_PRECONDITION: it is for none of the roles. ALREADY_EXISTS: the name is taken. INVALID_ARGUMENT: the
  // request, or the name.
  //
  // A member that may serve gets a certificate for the hosts that its token names, and for the address from which it
  // joins, unless that is the tracker's, many machines have it, or another member's good certificate carries it: so
  // nobody gets a name by asking for it.
  absl::StatusOr<rpc::Certificate> join(const std::string& secret, const std::string& request,
                                        const Joiner& joiner);
  // The next certificate of a member, who shows the present one and calls from this address, for the hosts of its token
  // and for that address, as above. UNAUTHENTICATED: that one is revoked, has ended, or was not issued here. One that
  // has kMostGood good ones is given the last of them again. RESOURCE_EXHAUSTED: that is of another key than the
  // request.
  absl::StatusOr<rpc::Certificate> renew(const rpc::Certificate& present, const std::string& request,
                                         const std::string& address = "");
  static constexpr size_t kMostGood = 8;
  // A certificate without a token: for the tracker itself and the first admin.
  absl::StatusOr<rpc::Certificate> issue(const rpc::Identity& identity, const std::string& request,
                                         const std::vector<std::string>& hosts);

  // `name`: NAME, ROLE/NAME, or a serial, which stands for its member, as long as it is not revoked itself:
  // what was renewed from it ends too. The serials that were good until now. NOT_FOUND: there is none such.
  // INVALID_ARGUMENT: NAME is that of several members. FAILED_PRECONDITION: it is the last admin whose
  // certificate is good, or the tracker itself.
  absl::StatusOr<std::vector<std::string>> revoke(const std::string& name);
  // All certificates that were ever issued, page by page (MemberStore::certificates).
  absl::StatusOr<CertificatePage> list(int64_t after, size_t most);
  // What is revoked and would still be good otherwise; some may have ended meanwhile. Never
  // waits for the disk, as the next one.
  Revocations revocations() const;
  // As above; nothing if that is of this generation.
  std::optional<Revocations> revocations_since(uint64_t generation) const;
  // Called with the serials whenever they have changed, the newest last; calls nothing of this. Set before
  // serving.
  void on_revoked(std::function<void(std::set<std::string>)> callback) { on_revoked_ = std::move(callback); }

 private:
  Members(std::unique_ptr<Authority> authority, std::unique_ptr<MemberStore> store,
          const rpc::WallClock& clock, MembersOptions options, CertificateRoll roll);
  // `address`: from which it calls.
  absl::StatusOr<rpc::Certificate> add(const rpc::Identity& identity, const std::string& request,
                                       MemberStore::Change change, const std::vector<std::string>& granted,
                                       const std::string& address = "");
  // OK: the token may be used now by a joiner of that name.
  absl::Status check_usable(const std::optional<StoredToken>& token, const Joiner& joiner) const;
  // That the certificate of a caller from there may carry besides.
  std::optional<std::string> host_of_caller(const rpc::Identity& identity, const std::string& address);
  absl::StatusOr<rpc::Certificate> newest(const rpc::Identity& identity, const std::string& request);
  absl::Status check_free(const rpc::Identity& identity);
  absl::Status check_dispensable(const rpc::Identity& member, const CertificatePage& all);
  absl::Status apply(const MemberStore::Change& change, absl::Time now);
  void tell_revoked();

  const std::unique_ptr<Authority> authority_;
  const std::unique_ptr<MemberStore> store_;
  const rpc::WallClock& clock_;
  const MembersOptions options_;
  std::function<void(std::set<std::string>)> on_revoked_;
  std::mutex telling_;    // taken before mutex_: who tells last tells the newest
  std::mutex mutex_;      // held while the store writes
  CertificateRoll roll_;  // in step with store_
  mutable std::mutex revocations_mutex_;
  Revocations revocations_;  // the roll's
};

}  // namespace tf::tracker
