#include "tracker/ca/own_certificate.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "rpc/identity/identity_folder.h"
#include "tracker/ca/members.h"

namespace tf::tracker {
namespace {

const rpc::Identity kTracker{rpc::Role::kTracker, "tracker"};

bool is_good(const Members& members, const std::string& folder, const std::vector<std::string>& hosts,
             absl::Time now) {
  const absl::StatusOr<rpc::Member> member = rpc::load_member(folder, now);
  if (!member.ok() || member->ca.fingerprint() != members.ca().fingerprint() || member->identity != kTracker)
    return false;
  const std::vector<std::string> carried = member->certificate.hosts();
  const bool has_hosts = std::ranges::all_of(
      hosts, [&](const std::string& host) { return std::ranges::find(carried, host) != carried.end(); });
  if (!has_hosts) return false;
  // The server's connections last for a part of this life, which must not be longer than that of the others.
  const absl::Duration life = member->certificate.not_after() - member->certificate.not_before();
  return life < 1.5 * members.certificate_life();
}

}  // namespace

absl::StatusOr<std::unique_ptr<OwnCertificate>> OwnCertificate::open(Members& members,
                                                                     const std::string& folder,
                                                                     std::vector<std::string> hosts,
                                                                     const rpc::WallClock& clock,
                                                                     absl::Duration look_every) {
  if (!is_good(members, folder, hosts, clock.now())) {
    std::error_code error;
    std::filesystem::remove_all(folder, error);  // whatever it was, the CA is here to make another
    TF_RETURN_IF_ERROR(make_member(members, folder, kTracker, hosts));
  }
  TF_ASSIGN_OR_RETURN(auto credentials, rpc::Credentials::load(folder, clock));
  return std::unique_ptr<OwnCertificate>(
      new OwnCertificate(members, std::move(credentials), std::move(hosts), clock, look_every));
}

OwnCertificate::OwnCertificate(Members& members, std::shared_ptr<rpc::Credentials> credentials,
                               std::vector<std::string> hosts, const rpc::WallClock& clock,
                               absl::Duration look_every)
    : members_(members),
      credentials_(std::move(credentials)),
      hosts_(std::move(hosts)),
      clock_(clock),
      keeping_([this, look_every] {
        renew_in_time();
        return look_every;
      }) {}

void OwnCertificate::renew_in_time() {
  if (clock_.now() < credentials_->certificate().renew_at()) return;
  const absl::Status renewed = renew();
  if (!renewed.ok())
    spdlog::error(absl::StrCat("cannot renew the tracker's certificate: ", code_and_message(renewed)));
}

// Whatever was issued is kept on the disk for ever: while only the folder cannot be written, no other is.
absl::Status OwnCertificate::renew() {
  if (!next_ || clock_.now() >= next_->renew_at()) {
    TF_ASSIGN_OR_RETURN(
        next_,
        members_.issue(kTracker, rpc::make_certificate_request(credentials_->key(), kTracker.name), hosts_));
  }
  TF_RETURN_IF_ERROR(credentials_->renew(*next_));
  next_.reset();
  return absl::OkStatus();
}

absl::Status make_member(Members& members, const std::string& folder, const rpc::Identity& identity,
                         const std::vector<std::string>& hosts) {
  TF_ASSIGN_OR_RETURN(const rpc::KeyPair key, rpc::make_member_key(folder));
  TF_ASSIGN_OR_RETURN(const rpc::Certificate certificate,
                      members.issue(identity, rpc::make_certificate_request(key, identity.name), hosts));
  return rpc::save_member(folder, certificate, members.ca(), "");
}

}  // namespace tf::tracker
