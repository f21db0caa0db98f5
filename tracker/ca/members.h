#pragma once
// Owns: who belongs to the farm: lets in by token, renews, revokes. Does not know: connections, who may ask
// for what (rpc/identity/access_table.h).

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/clock.h"
#include "rpc/identity/join_token.h"
#include "tracker/ca/authority.h"
#include "tracker/ca/member_store.h"

namespace tf::tracker {

struct MembersOptions {
  absl::Duration certificate_life = absl::Hours(24 * 30);
  absl::Duration token_life = absl::Minutes(15);
};

// Thread-safe.
class Members {
 public:
  // The CA of the folder and DIR/members.db. The clock must outlive the members.
  static absl::StatusOr<std::unique_ptr<Members>> open(const std::string& folder,
                                                       const rpc::WallClock& clock = rpc::real_wall_clock(),
                                                       MembersOptions options = {});

  const rpc::Certificate& ca() const { return authority_->certificate(); }
  absl::Duration token_life() const { return options_.token_life; }
  absl::Duration certificate_life() const { return options_.certificate_life; }

  // `name` empty: the joiner chooses a free one. A name that is taken is replaced by whoever uses the token.
  absl::StatusOr<rpc::JoinToken> issue_token(rpc::Role role, const std::string& name);
  // UNAUTHENTICATED: unknown, used or old. ALREADY_EXISTS: the name is taken. INVALID_ARGUMENT: the request,
  // or the name.
  absl::StatusOr<rpc::Certificate> join(const std::string& secret, const std::string& request,
                                        const std::string& name);
  // The next certificate of someone whose present one was checked.
  absl::StatusOr<rpc::Certificate> renew(const rpc::Identity& identity, const std::string& request);
  // A certificate without a token: for the tracker itself and the first admin.
  absl::StatusOr<rpc::Certificate> issue(const rpc::Identity& identity, const std::string& request,
                                         const std::vector<std::string>& hosts);

  // `name`: a serial, NAME or ROLE/NAME; the serials that were good until now. NOT_FOUND: there is none such.
  // INVALID_ARGUMENT: NAME is that of several members.
  absl::StatusOr<std::vector<std::string>> revoke(const std::string& name);
  absl::StatusOr<std::vector<IssuedCertificate>> list();
  // Serials that are revoked and would still be good otherwise.
  absl::StatusOr<std::set<std::string>> revoked();
  // Called, without the lock, with revoked() whenever that has changed. Set before serving.
  void on_revoked(std::function<void(std::set<std::string>)> callback) { on_revoked_ = std::move(callback); }

 private:
  Members(std::unique_ptr<Authority> authority, std::unique_ptr<MemberStore> store,
          const rpc::WallClock& clock, MembersOptions options);
  absl::StatusOr<rpc::Certificate> add(const rpc::Identity& identity, const std::string& request,
                                       MemberStore::Change change,
                                       const std::vector<std::string>& hosts = {});
  absl::StatusOr<std::vector<std::string>> good_serials(const rpc::Identity& identity);
  void tell_revoked();

  const std::unique_ptr<Authority> authority_;
  const std::unique_ptr<MemberStore> store_;
  const rpc::WallClock& clock_;
  const MembersOptions options_;
  std::function<void(std::set<std::string>)> on_revoked_;
  std::mutex mutex_;  // of store_
};

}  // namespace tf::tracker
