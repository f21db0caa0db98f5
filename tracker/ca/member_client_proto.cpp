#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/json_text.h"
#include "base/status.h"
#include "base/text_table.h"
#include "proto/identity/v1/identity.grpc.pb.h"
#include "tracker/ca/member_service.h"
#include "tracker/tracker_call.h"

namespace tf::tracker {
namespace {

namespace membership = tunefarm::identity::v1;

std::string day(int64_t unix_s) {
  return absl::FormatTime("%Y-%m-%d %H:%M", absl::FromUnixSeconds(unix_s), absl::UTCTimeZone());
}

std::string state_of(const membership::MemberCertificate& certificate) {
  if (certificate.revoked_unix_s() != 0) return absl::StrCat("revoked ", day(certificate.revoked_unix_s()));
  return absl::FromUnixSeconds(certificate.ends_unix_s()) <= absl::Now() ? "ended" : "good";
}

std::string table(const membership::ListMembersReply& reply, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const membership::MemberCertificate& one : reply.certificates())
    rows.push_back({one.role(), one.name(), one.serial(), day(one.ends_unix_s()), state_of(one)});
  // `ca revoke` takes a name, and a part of one is none.
  return text_table({{"role"}, {"name"}, {"serial"}, {"ends (UTC)"}, {"state"}}, std::move(rows), width);
}

std::string json(const membership::ListMembersReply& reply) {
  nlohmann::json all = nlohmann::json::array();
  for (const membership::MemberCertificate& one : reply.certificates()) {
    all.push_back({{"role", one.role()},
                   {"name", one.name()},
                   {"serial", one.serial()},
                   {"issued_unix_s", one.issued_unix_s()},
                   {"ends_unix_s", one.ends_unix_s()},
                   {"revoked_unix_s", one.revoked_unix_s()}});
  }
  return json_text(all, 1) + "\n";
}

}  // namespace

absl::StatusOr<IssuedToken> request_token(const TrackerLink& link, const std::string& role,
                                          const std::string& name) {
  membership::IssueTokenRequest request;
  request.set_role(role);
  request.set_name(name);
  TF_ASSIGN_OR_RETURN(const membership::IssueTokenReply reply,
                      call(link, request, &membership::Members::Stub::IssueToken));
  return IssuedToken{.text = reply.token(), .life = absl::Seconds(reply.seconds())};
}

absl::StatusOr<std::vector<std::string>> revoke_member(const TrackerLink& link, const std::string& name) {
  membership::RevokeRequest request;
  request.set_name(name);
  TF_ASSIGN_OR_RETURN(const membership::RevokeReply reply,
                      call(link, request, &membership::Members::Stub::Revoke));
  return std::vector<std::string>(reply.serials().begin(), reply.serials().end());
}

absl::StatusOr<std::string> render_members(const TrackerLink& link, MembersFormat format, size_t width) {
  membership::ListMembersRequest request;
  membership::ListMembersReply all;
  do {
    TF_ASSIGN_OR_RETURN(membership::ListMembersReply page,
                        call(link, request, &membership::Members::Stub::ListMembers));
    request.set_page_token(page.next_page_token());
    for (membership::MemberCertificate& one : *page.mutable_certificates())
      all.add_certificates()->Swap(&one);
  } while (!request.page_token().empty());
  return format == MembersFormat::kJson ? json(all) : table(all, width);
}

}  // namespace tf::tracker
