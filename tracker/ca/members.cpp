#include "tracker/ca/members.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/identity/refusal.h"

namespace tf::tracker {
namespace {

// Who joins with the wrong program would have a certificate that is of no use to it, and the token would be
// gone.
absl::Status check_wanted(rpc::Role role, const std::vector<std::string>& wanted) {
  const std::string name(rpc::role_name(role));
  if (wanted.empty() || std::ranges::find(wanted, name) != wanted.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this join token is for the role ", name, ", which this command has no use for: join with `",
      std::string(rpc::joining_program(role)), " join`; the token is not used up"));
}

}  // namespace

Members::Members(std::unique_ptr<Authority> authority, std::unique_ptr<MemberStore> store,
                 const rpc::WallClock& clock, MembersOptions options, CertificateRoll roll)
    : authority_(std::move(authority)),
      store_(std::move(store)),
      clock_(clock),
      options_(options),
      roll_(std::move(roll)),
      revocations_(roll_.revocations()) {}

absl::StatusOr<std::unique_ptr<Members>> Members::open(const std::string& folder, const rpc::WallClock& clock,
                                                       MembersOptions options) {
  TF_ASSIGN_OR_RETURN(auto authority, Authority::open(folder));
  TF_ASSIGN_OR_RETURN(auto store, MemberStore::open(folder + "/members.db"));
  TF_ASSIGN_OR_RETURN(const CertificatePage all, store->certificates());
  CertificateRoll roll(clock);
  for (const IssuedCertificate& issued : all.certificates) roll.add(issued);
  return std::unique_ptr<Members>(
      new Members(std::move(authority), std::move(store), clock, options, std::move(roll)));
}

absl::StatusOr<rpc::JoinToken> Members::issue_token(rpc::Role role, const std::string& name) {
  if (role == rpc::Role::kTracker) return absl::InvalidArgumentError("nobody joins as a tracker");
  if (!name.empty()) TF_RETURN_IF_ERROR(rpc::check_identity_name(name));
  TF_ASSIGN_OR_RETURN(rpc::JoinToken token, rpc::JoinToken::make(ca().fingerprint()));
  const std::scoped_lock lock(mutex_);
  TF_RETURN_IF_ERROR(store_->add_token(
      token.digest(), {.role = role, .name = name, .ends = clock_.now() + options_.token_life}));
  return token;
}

absl::StatusOr<rpc::Certificate> Members::join(const std::string& secret, const std::string& request,
                                               const std::string& name,
                                               const std::vector<std::string>& roles) {
  absl::StatusOr<rpc::Certificate> certificate;
  bool replaced = false;
  {
    const std::scoped_lock lock(mutex_);
    const Digest digest = sha256(secret);
    TF_ASSIGN_OR_RETURN(const std::optional<StoredToken> token, store_->find_token(digest));
    const auto refused = [](const char* why) {
      return absl::UnauthenticatedError(
          absl::StrCat("this join token ", why, ": ask an admin for another (`tracker ca token`)"));
    };
    if (!token) return refused("is not known here");
    if (token->used) return refused("was used before, and is good for one use");
    if (clock_.now() >= token->ends) return refused("has ended");
    TF_RETURN_IF_ERROR(check_wanted(token->role, roles));
    const rpc::Identity identity{token->role, token->name.empty() ? name : token->name};
    TF_RETURN_IF_ERROR(rpc::check_identity_name(identity.name));
    std::vector<std::string> present = roll_.good(identity);
    if (!present.empty() && token->name.empty()) {
      return absl::AlreadyExistsError(absl::StrCat("the name of ", identity.text(),
                                                   " is taken: choose another with --name, or have it ",
                                                   "replaced by a token with --name ", identity.name));
    }
    replaced = !present.empty();
    certificate = add(identity, request, {.used_token = digest, .revoked = std::move(present)});
  }
  if (replaced && certificate.ok()) tell_revoked();
  return certificate;
}

absl::StatusOr<rpc::Certificate> Members::renew(const rpc::Certificate& present, const std::string& request) {
  if (!present.identity()) return absl::UnauthenticatedError("only a member renews its certificate");
  const rpc::Identity& identity = *present.identity();
  const std::scoped_lock lock(mutex_);
  // The caller was let in before, but may have been revoked since: nothing is renewed after that.
  if (!roll_.is_good(present.serial())) {
    return absl::UnauthenticatedError(
        absl::StrCat("the certificate ", present.serial(), " of ", identity.text(),
                     " is revoked, has ended or is not known here: ", std::string(rpc::kJoinAgain)));
  }
  if (roll_.good(identity).size() >= kMostGood) return newest(identity, request);
  return add(identity, request, {});
}

// A member that has lost what it was given, since its disk was full for instance, is not locked out for that.
absl::StatusOr<rpc::Certificate> Members::newest(const rpc::Identity& identity, const std::string& request) {
  TF_ASSIGN_OR_RETURN(const std::string der, store_->newest(identity));
  absl::StatusOr<rpc::Certificate> certificate = rpc::Certificate::from_der(der);
  if (certificate.ok() && roll_.is_good(certificate->serial())) {
    TF_ASSIGN_OR_RETURN(const bool is_its, Authority::is_of_key(request, *certificate));
    if (is_its) return certificate;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(identity.text(), " has ", kMostGood,
                   " certificates that are good, the last of which is not of this key: wait until one ends, ",
                   "or have an admin revoke them (`tracker ca revoke`) and join again"));
}

absl::StatusOr<rpc::Certificate> Members::issue(const rpc::Identity& identity, const std::string& request,
                                                const std::vector<std::string>& hosts) {
  const std::scoped_lock lock(mutex_);
  return add(identity, request, {}, hosts);
}

absl::StatusOr<rpc::Certificate> Members::add(const rpc::Identity& identity, const std::string& request,
                                              MemberStore::Change change,
                                              const std::vector<std::string>& hosts) {
  const absl::Time now = clock_.now();
  TF_ASSIGN_OR_RETURN(rpc::Certificate certificate,
                      authority_->issue(request, identity, now, options_.certificate_life, hosts));
  change.issued = IssuedCertificate{.serial = certificate.serial(),
                                    .identity = identity,
                                    .issued = now,
                                    .ends = certificate.not_after(),
                                    .revoked = std::nullopt,
                                    .der = certificate.der()};
  TF_RETURN_IF_ERROR(apply(change, now));
  return certificate;
}

absl::Status Members::apply(const MemberStore::Change& change, absl::Time now) {
  TF_RETURN_IF_ERROR(store_->apply(change, now));
  if (!change.revoked.empty()) roll_.revoke(change.revoked);
  if (change.issued) roll_.add(*change.issued);
  const Revocations& present = roll_.revocations();
  const std::scoped_lock lock(revocations_mutex_);
  // Those that have ended leave within a generation.
  if (present.generation != revocations_.generation || present.serials.size() != revocations_.serials.size())
    revocations_ = present;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Members::revoke(const std::string& name) {
  std::vector<std::string> serials;
  {
    const std::scoped_lock lock(mutex_);
    TF_ASSIGN_OR_RETURN(const CertificatePage all, store_->certificates());
    std::map<std::string, rpc::Identity> whose;  // by ROLE/NAME
    bool is_over = false;
    for (const IssuedCertificate& issued : all.certificates) {
      const std::string full =
          absl::StrCat(std::string(rpc::role_name(issued.identity.role)), "/", issued.identity.name);
      if (issued.serial != name && issued.identity.name != name && full != name) continue;
      whose.emplace(full, issued.identity);
      // Who has the name now may be another, by a new token: not from this certificate.
      is_over = issued.serial == name && issued.revoked;
    }
    if (whose.empty()) {
      return absl::NotFoundError(
          absl::StrCat("neither a certificate nor a member is called ", name, ": see `tracker ca list`"));
    }
    if (whose.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(whose.size(), " members are called ", name,
                                                     ": say which, as in ", whose.begin()->first));
    }
    if (!is_over) serials = roll_.good(whose.begin()->second);
    if (!serials.empty()) {
      TF_RETURN_IF_ERROR(check_dispensable(whose.begin()->second, all));
      TF_RETURN_IF_ERROR(apply({.revoked = serials}, clock_.now()));
    }
  }
  if (!serials.empty()) tell_revoked();
  return serials;
}

// Without these there is no farm, and nothing that an admin could ask of it brings them back.
absl::Status Members::check_dispensable(const rpc::Identity& member, const CertificatePage& all) {
  if (member.role == rpc::Role::kTracker) {
    return absl::FailedPreconditionError(absl::StrCat(
        member.text(), " is this tracker's own certificate, which is not revoked: if its key is known to ",
        "others, so may be the CA's beside it: make a new CA (`tracker ca init`) and let all join that"));
  }
  if (member.role != rpc::Role::kAdmin) return absl::OkStatus();
  const bool has_other = std::ranges::any_of(all.certificates, [&](const IssuedCertificate& issued) {
    return issued.identity.role == rpc::Role::kAdmin && issued.identity.name != member.name &&
           roll_.is_good(issued.serial);
  });
  if (has_other) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      member.text(), " is the last admin, and nobody could let in another: issue another admin's ",
      "certificate first (`tracker ca token --role admin`, then `",
      std::string(rpc::joining_program(member.role)), " join`)"));
}

absl::StatusOr<CertificatePage> Members::list(int64_t after, size_t most) {
  const std::scoped_lock lock(mutex_);
  return store_->certificates(after, most);
}

Revocations Members::revocations() const {
  const std::scoped_lock lock(revocations_mutex_);
  return revocations_;
}

std::optional<Revocations> Members::revocations_since(uint64_t generation) const {
  const std::scoped_lock lock(revocations_mutex_);
  if (revocations_.generation == generation) return std::nullopt;
  return revocations_;
}

void Members::tell_revoked() {
  const std::scoped_lock lock(telling_);
  if (on_revoked_) on_revoked_(revocations().serials);
}

}  // namespace tf::tracker
