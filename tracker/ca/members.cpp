#include "tracker/ca/members.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "rpc/access/refusal.h"
#include "rpc/identity/host_names.h"
#include "tracker/operators/name_pattern.h"

namespace tf::tracker {
namespace {

constexpr size_t kMostHosts = 32;

// Who joins with the wrong program would have a certificate that is of no use to it, and the token would be
// gone.
absl::Status check_wanted(rpc::Role role, const std::vector<std::string>& wanted) {
  const std::string name(rpc::role_name(role));
  if (wanted.empty() || std::ranges::find(wanted, name) != wanted.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this join token is for the role ", name, ", which this command does not accept: use `",
                   std::string(rpc::joining_program(role)), " join`; the token stays valid"));
}

absl::Status check_bounds(const TokenOptions& options) {
  if (options.uses < 1 || options.uses > Members::kMostUses) {
    return absl::InvalidArgumentError(absl::StrCat("a join token for ", options.uses,
                                                   " uses is refused: ask for 1 to ", Members::kMostUses));
  }
  if (options.life < absl::Seconds(1) || options.life > Members::kLongestTokenLife) {
    return absl::InvalidArgumentError(
        absl::StrCat("a join token that is valid for ", absl::FormatDuration(options.life),
                     " is refused: ask for at most ", absl::FormatDuration(Members::kLongestTokenLife)));
  }
  const bool is_powerful = options.role == rpc::Role::kAdmin || options.role == rpc::Role::kDeviceOwner;
  if (options.uses == 1 || !is_powerful) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a join token for the role ",
                                                 std::string(rpc::role_name(options.role)),
                                                 " admits one member: issue one token for each"));
}

absl::Status check_pattern(const TokenOptions& options) {
  if (options.name_pattern.empty()) return absl::OkStatus();
  if (!options.name.empty())
    return absl::InvalidArgumentError("a join token can have a name or a name pattern, not both");
  const std::string name = absl::StrReplaceAll(options.name_pattern, {{"*", "x"}});
  if (rpc::check_identity_name(name).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the name pattern ", printable(options.name_pattern),
                   " is not valid: use letters, digits, '.', '_', '-' and '*', as in rack1-*"));
}

// What is kept of it, but for its end.
absl::StatusOr<StoredToken> stored_token(const TokenOptions& options) {
  if (options.role == rpc::Role::kTracker)
    return absl::InvalidArgumentError("no member can join as a tracker");
  TF_RETURN_IF_ERROR(check_bounds(options));
  TF_RETURN_IF_ERROR(check_pattern(options));
  if (!options.name.empty()) TF_RETURN_IF_ERROR(rpc::check_identity_name(options.name));
  if (options.uses > 1 && !(options.name.empty() && options.hosts.empty())) {
    return absl::InvalidArgumentError(
        "a join token for several members cannot set a name or host: issue one token for each member, or use "
        "a name pattern");
  }
  StoredToken token{.role = options.role,
                    .name = options.name,
                    .name_pattern = options.name_pattern,
                    .hosts = {},
                    .ends = {},
                    .uses = options.uses};
  if (!options.hosts.empty() && !rpc::may_serve(options.role)) {
    return absl::InvalidArgumentError(absl::StrCat("no program connects to a ",
                                                   std::string(rpc::role_name(options.role)),
                                                   ": omit the host for this role"));
  }
  if (options.hosts.size() > kMostHosts)
    return absl::InvalidArgumentError(absl::StrCat("a join token can have at most ", kMostHosts, " hosts"));
  for (const std::string& host : options.hosts) {
    TF_ASSIGN_OR_RETURN(std::string canonical, rpc::canonical_host(host));
    token.hosts.push_back(std::move(canonical));
  }
  return token;
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

absl::StatusOr<rpc::JoinToken> Members::issue_token(const TokenOptions& options) {
  TF_ASSIGN_OR_RETURN(StoredToken stored, stored_token(options));
  TF_ASSIGN_OR_RETURN(rpc::JoinToken token, rpc::JoinToken::make(ca().fingerprint()));
  const std::scoped_lock lock(mutex_);
  stored.ends = clock_.now() + options.life;
  TF_RETURN_IF_ERROR(store_->add_token(token.digest(), stored));
  return token;
}

absl::StatusOr<std::vector<OpenToken>> Members::tokens() {
  const std::scoped_lock lock(mutex_);
  return store_->open_tokens(clock_.now(), kMostTokensListed);
}

absl::Status Members::revoke_token(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  TF_ASSIGN_OR_RETURN(const bool revoked, store_->revoke_token(id, clock_.now()));
  if (revoked) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("there is no valid token with the id ", printable(id), ": see `tracker ca tokens`"));
}

std::vector<std::string> Members::tracker_hosts_among(const std::vector<std::string>& hosts) const {
  std::vector<std::string> found;
  for (const std::string& host : hosts) {
    const absl::StatusOr<std::string> canonical = rpc::canonical_host(host);
    const auto& own = options_.tracker_hosts;
    if (canonical.ok() && std::ranges::find(own, *canonical) != own.end()) found.push_back(*canonical);
  }
  return found;
}

absl::Status Members::check_usable(const std::optional<StoredToken>& token, const Joiner& joiner) const {
  const auto refused = [](const std::string& why) {
    return absl::UnauthenticatedError(
        absl::StrCat("this join token ", why, ": ask an admin for another (`tracker ca token`)"));
  };
  if (!token) return refused("is unknown");
  if (token->revoked) return refused("was revoked");
  if (token->used >= token->uses) {
    return refused(token->uses == 1 ? "was already used"
                                    : absl::StrCat("was used ", token->used, " times, which is its limit"));
  }
  if (clock_.now() >= token->ends) return refused("has expired");
  TF_RETURN_IF_ERROR(check_wanted(token->role, joiner.roles));
  if (token->name_pattern.empty() || matches_pattern(token->name_pattern, joiner.name))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("this join token is for names like ", token->name_pattern,
                                                 ", not for ", printable(joiner.name),
                                                 ": choose another with --name; the token stays valid"));
}

absl::StatusOr<rpc::Certificate> Members::join(const std::string& secret, const std::string& request,
                                               const Joiner& joiner) {
  absl::StatusOr<rpc::Certificate> certificate;
  bool replaced = false;
  {
    const std::scoped_lock lock(mutex_);
    const Digest digest = sha256(secret);
    TF_ASSIGN_OR_RETURN(const std::optional<StoredToken> token, store_->find_token(digest));
    TF_RETURN_IF_ERROR(check_usable(token, joiner));
    const rpc::Identity identity{token->role, token->name.empty() ? joiner.name : token->name};
    TF_RETURN_IF_ERROR(rpc::check_identity_name(identity.name));
    std::vector<std::string> present = roll_.good(identity);
    if (token->name.empty()) TF_RETURN_IF_ERROR(check_free(identity));
    replaced = !present.empty();
    certificate = add(identity, request, {.used_token = digest, .revoked = std::move(present)}, token->hosts,
                      joiner.address);
  }
  if (replaced && certificate.ok()) tell_revoked();
  return certificate;
}

// The tracker accounts for leases by name: a person must not be able to take a tuner's, nor the other way
// round.
absl::Status Members::check_free(const rpc::Identity& identity) {
  std::vector<rpc::Identity> alike = {identity};
  if (identity.role == rpc::Role::kUser) alike.push_back({rpc::Role::kTuner, identity.name});
  if (identity.role == rpc::Role::kTuner) alike.push_back({rpc::Role::kUser, identity.name});
  for (const rpc::Identity& each : alike) {
    if (roll_.good(each).empty()) continue;
    return absl::AlreadyExistsError(absl::StrCat(
        "the name of ", each.text(), " is taken: choose another with --name, or ask an admin for a ",
        "token with --name ", identity.name));
  }
  return absl::OkStatus();
}

absl::StatusOr<rpc::Certificate> Members::renew(const rpc::Certificate& present, const std::string& request,
                                                const std::string& address) {
  if (!present.identity()) return absl::UnauthenticatedError("only a member renews its certificate");
  const rpc::Identity& identity = *present.identity();
  const std::scoped_lock lock(mutex_);
  // The caller was let in before, but may have been revoked since: nothing is renewed after that.
  if (!roll_.is_good(present.serial())) {
    return absl::UnauthenticatedError(
        absl::StrCat("the certificate ", present.serial(), " of ", identity.text(),
                     " is revoked, expired or unknown: ", std::string(rpc::kJoinAgain)));
  }
  if (roll_.good(identity).size() >= kMostGood) return newest(identity, request);
  TF_ASSIGN_OR_RETURN(const std::vector<std::string> granted, store_->granted_hosts(present.serial()));
  return add(identity, request, {}, granted, address);
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
                   " valid certificates, the last of which has another key: wait until one expires, ",
                   "or ask an admin to revoke them (`tracker ca revoke`), then join again"));
}

absl::StatusOr<rpc::Certificate> Members::issue(const rpc::Identity& identity, const std::string& request,
                                                const std::vector<std::string>& hosts) {
  const std::scoped_lock lock(mutex_);
  return add(identity, request, {}, hosts);
}

std::optional<std::string> Members::host_of_caller(const rpc::Identity& identity,
                                                   const std::string& address) {
  const absl::StatusOr<std::string> host = rpc::canonical_host(address);
  if (!rpc::may_serve(identity.role) || !host.ok() || rpc::is_many_machines(*host)) return std::nullopt;
  if (!tracker_hosts_among({*host}).empty() || roll_.is_host_of_other(*host, identity)) return std::nullopt;
  return *host;
}

absl::StatusOr<rpc::Certificate> Members::add(const rpc::Identity& identity, const std::string& request,
                                              MemberStore::Change change,
                                              const std::vector<std::string>& granted,
                                              const std::string& address) {
  const absl::Time now = clock_.now();
  std::vector<std::string> hosts = granted;
  const std::optional<std::string> own = host_of_caller(identity, address);
  if (own && std::ranges::find(hosts, *own) == hosts.end()) hosts.push_back(*own);
  TF_ASSIGN_OR_RETURN(rpc::Certificate certificate,
                      authority_->issue(request, identity, now, options_.certificate_life, hosts));
  change.issued = IssuedCertificate{.serial = certificate.serial(),
                                    .identity = identity,
                                    .issued = now,
                                    .ends = certificate.not_after(),
                                    .revoked = std::nullopt,
                                    .der = certificate.der(),
                                    .hosts = std::move(hosts),
                                    .granted = granted};
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
          absl::StrCat("there is no certificate or member called ", name, ": see `tracker ca list`"));
    }
    if (whose.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(whose.size(), " members have the name ", name,
                                                     ": give the role too, as in ", whose.begin()->first));
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
        member.text(),
        " is this tracker's own certificate, which cannot be revoked: if others know its key, ",
        "they may know the CA's key too: make a new CA (`tracker ca init`) and let all members join it"));
  }
  if (member.role != rpc::Role::kAdmin) return absl::OkStatus();
  const bool has_other = std::ranges::any_of(all.certificates, [&](const IssuedCertificate& issued) {
    return issued.identity.role == rpc::Role::kAdmin && issued.identity.name != member.name &&
           roll_.is_good(issued.serial);
  });
  if (has_other) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      member.text(), " is the last admin, and only an admin can admit another: issue another admin's ",
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
