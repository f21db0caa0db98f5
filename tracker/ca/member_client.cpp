#include "tracker/ca/member_client.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/cli/text_table.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "proto/identity/v1/identity.grpc.pb.h"
#include "tracker/operators/tracker_call.h"

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

std::string tokens_table(const membership::ListTokensReply& reply, size_t width) {
  if (reply.tokens().empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const membership::OpenToken& one : reply.tokens()) {
    const std::string name = one.name().empty() ? one.name_pattern() : one.name();
    rows.push_back({one.id(), one.role(), name.empty() ? "-" : name,
                    absl::StrCat(one.used(), " of ", one.uses()), day(one.ends_unix_s()),
                    one.hosts().empty() ? "-" : absl::StrJoin(one.hosts(), ",")});
  }
  return text_table({{"id"}, {"role"}, {"name"}, {"used"}, {"ends (UTC)"}, {"hosts", Cells::kShortened}},
                    std::move(rows), width);
}

std::string tokens_json(const membership::ListTokensReply& reply) {
  nlohmann::json all = nlohmann::json::array();
  for (const membership::OpenToken& one : reply.tokens()) {
    all.push_back({{"id", one.id()},
                   {"role", one.role()},
                   {"name", one.name()},
                   {"name_pattern", one.name_pattern()},
                   {"hosts", std::vector<std::string>(one.hosts().begin(), one.hosts().end())},
                   {"uses", one.uses()},
                   {"used", one.used()},
                   {"ends_unix_s", one.ends_unix_s()}});
  }
  return json_text(all, 1) + "\n";
}

}  // namespace

absl::StatusOr<IssuedToken> request_token(const TrackerLink& link, const TokenOptions& options) {
  membership::IssueTokenRequest request;
  request.set_role(std::string(rpc::role_name(options.role)));
  request.set_name(options.name);
  request.set_name_pattern(options.name_pattern);
  request.set_uses(options.uses);
  request.set_valid_seconds(static_cast<uint32_t>(absl::ToInt64Seconds(options.life)));
  request.mutable_hosts()->Add(options.hosts.begin(), options.hosts.end());
  TF_ASSIGN_OR_RETURN(const membership::IssueTokenReply reply,
                      call(link, request, &membership::Members::Stub::IssueToken));
  return IssuedToken{.text = reply.token(),
                     .id = reply.id(),
                     .life = absl::Seconds(reply.seconds()),
                     .tracker_hosts = {reply.tracker_hosts().begin(), reply.tracker_hosts().end()}};
}

absl::Status revoke_token(const TrackerLink& link, const std::string& id) {
  membership::RevokeTokenRequest request;
  request.set_id(id);
  return call(link, request, &membership::Members::Stub::RevokeToken).status();
}

absl::StatusOr<std::string> render_tokens(const TrackerLink& link, MembersFormat format, size_t width) {
  TF_ASSIGN_OR_RETURN(const membership::ListTokensReply reply,
                      call(link, membership::ListTokensRequest(), &membership::Members::Stub::ListTokens));
  return format == MembersFormat::kJson ? tokens_json(reply) : tokens_table(reply, width);
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
