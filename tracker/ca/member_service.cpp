#include "tracker/ca/member_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "proto/identity/v1/identity.grpc.pb.h"
#include "rpc/access/audit_log.h"
#include "rpc/access/call_guard.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/peer_address.h"
#include "rpc/connection/unary_call.h"
#include "tracker/ca/members.h"

namespace tf::tracker {
namespace {

namespace membership = tunefarm::identity::v1;

// Certificates in one message: some 200 bytes each.
constexpr size_t kPage = 5000;

// From which a caller calls.
std::string host_of(const grpc::CallbackServerContext& context) {
  return rpc::host_of_address(rpc::peer_address(context.peer()));
}

void to_proto(const OpenToken& open, membership::OpenToken& message) {
  message.set_id(open.id);
  message.set_role(std::string(rpc::role_name(open.token.role)));
  message.set_name(open.token.name);
  message.set_name_pattern(open.token.name_pattern);
  message.mutable_hosts()->Add(open.token.hosts.begin(), open.token.hosts.end());
  message.set_uses(open.token.uses);
  message.set_used(open.token.used);
  message.set_ends_unix_s(absl::ToUnixSeconds(open.token.ends));
}

// For the audit log: which certificate came of which token.
std::string joined_text(const absl::StatusOr<rpc::Certificate>& certificate, const std::string& secret) {
  const std::string token = absl::StrCat("token ", token_id(sha256(secret)));
  return certificate.ok() ? absl::StrCat(certificate->serial(), " by ", token) : token;
}

class MemberService final : public membership::Members::CallbackService {
 public:
  MemberService(Members& members, rpc::AuditLog& audit, rpc::CallPool& calls, rpc::CallPool& joins)
      : members_(members), audit_(audit), calls_(calls), joins_(joins) {}

  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context, const membership::JoinRequest* request,
                                 membership::Credential* reply) override {
    return rpc::finished_on(joins_, context, [=, this] { return join(host_of(*context), *request, *reply); });
  }

  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context,
                                  const membership::RenewRequest* request,
                                  membership::Credential* reply) override {
    return rpc::finished_on(calls_, context, [=, this]() -> absl::Status {
      const std::optional<rpc::Certificate> present = rpc::caller_certificate(*context);
      if (!present) return absl::UnauthenticatedError("only a member can renew its certificate");
      return answer(members_.renew(*present, request->request(), host_of(*context)), *reply);
    });
  }

  grpc::ServerUnaryReactor* IssueToken(grpc::CallbackServerContext* context,
                                       const membership::IssueTokenRequest* request,
                                       membership::IssueTokenReply* reply) override {
    return rpc::finished_on(calls_, context, [=, this] { return issue_token(*request, *reply); });
  }

  grpc::ServerUnaryReactor* ListTokens(grpc::CallbackServerContext* context,
                                       const membership::ListTokensRequest*,
                                       membership::ListTokensReply* reply) override {
    return rpc::finished_on(calls_, context, [=, this]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(const std::vector<OpenToken> tokens, members_.tokens());
      for (const OpenToken& open : tokens) to_proto(open, *reply->add_tokens());
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* RevokeToken(grpc::CallbackServerContext* context,
                                        const membership::RevokeTokenRequest* request,
                                        membership::RevokeTokenReply*) override {
    return rpc::finished_on(calls_, context, [=, this] { return members_.revoke_token(request->id()); });
  }

  grpc::ServerUnaryReactor* Revoke(grpc::CallbackServerContext* context,
                                   const membership::RevokeRequest* request,
                                   membership::RevokeReply* reply) override {
    return rpc::finished_on(calls_, context, [=, this]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(const std::vector<std::string> serials, members_.revoke(request->name()));
      for (const std::string& serial : serials) reply->add_serials(serial);
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* ListMembers(grpc::CallbackServerContext* context,
                                        const membership::ListMembersRequest* request,
                                        membership::ListMembersReply* reply) override {
    return rpc::finished_on(calls_, context, [=, this] { return list(*request, *reply); });
  }

  // Every server beside the tracker asks, every two seconds, and hears it while the disk is slow, too.
  grpc::ServerUnaryReactor* ListRevoked(grpc::CallbackServerContext* context,
                                        const membership::ListRevokedRequest* request,
                                        membership::ListRevokedReply* reply) override {
    const std::optional<Revocations> changed = members_.revocations_since(request->generation());
    reply->set_generation(changed ? changed->generation : request->generation());
    if (changed) reply->mutable_serials()->Add(changed->serials.begin(), changed->serials.end());
    return rpc::finished(context, absl::OkStatus());
  }

 private:
  absl::Status issue_token(const membership::IssueTokenRequest& request, membership::IssueTokenReply& reply) {
    TokenOptions options{.name = request.name(),
                         .name_pattern = request.name_pattern(),
                         .hosts = {request.hosts().begin(), request.hosts().end()}};
    TF_ASSIGN_OR_RETURN(options.role, rpc::parse_role(request.role()));
    if (request.uses() != 0) options.uses = request.uses();
    if (request.valid_seconds() != 0) options.life = absl::Seconds(request.valid_seconds());
    TF_ASSIGN_OR_RETURN(const rpc::JoinToken token, members_.issue_token(options));
    reply.set_token(token.text());
    reply.set_id(token_id(token.digest()));
    reply.set_seconds(static_cast<uint32_t>(absl::ToInt64Seconds(options.life)));
    for (const std::string& host : members_.tracker_hosts_among(options.hosts)) reply.add_tracker_hosts(host);
    return absl::OkStatus();
  }

  // `host`: from where.
  absl::Status join(const std::string& host, const membership::JoinRequest& request,
                    membership::Credential& reply) {
    // The guard lets joiners pass, and so does not ask this for us.
    TF_RETURN_IF_ERROR(audit_.writable());
    const absl::StatusOr<rpc::Certificate> certificate = members_.join(
        request.secret(), request.request(),
        {.name = request.name(), .roles = {request.roles().begin(), request.roles().end()}, .address = host});
    const rpc::AuditLine line{.who = certificate.ok() ? certificate->identity()->text() : "nobody",
                              .method = "Members/Join",
                              .object = joined_text(certificate, request.secret()),
                              .outcome = code_and_message(certificate.status())};
    certificate.ok() ? audit_.record(line) : audit_.record_denial(line);
    return answer(certificate, reply);
  }

  absl::Status list(const membership::ListMembersRequest& request, membership::ListMembersReply& reply) {
    int64_t after = 0;
    if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &after))
      return absl::InvalidArgumentError("the page token does not come from a ListMembersReply");
    const size_t asked = request.page_size() == 0 ? kPage : request.page_size();
    TF_ASSIGN_OR_RETURN(const CertificatePage page, members_.list(after, std::min(asked, kPage)));
    if (page.end != 0) reply.set_next_page_token(absl::StrCat(page.end));
    for (const IssuedCertificate& issued : page.certificates) {
      membership::MemberCertificate& out = *reply.add_certificates();
      out.set_serial(issued.serial);
      out.set_role(std::string(rpc::role_name(issued.identity.role)));
      out.set_name(issued.identity.name);
      out.set_issued_unix_s(absl::ToUnixSeconds(issued.issued));
      out.set_ends_unix_s(absl::ToUnixSeconds(issued.ends));
      if (issued.revoked) out.set_revoked_unix_s(absl::ToUnixSeconds(*issued.revoked));
    }
    return absl::OkStatus();
  }

  absl::Status answer(const absl::StatusOr<rpc::Certificate>& certificate, membership::Credential& reply) {
    if (!certificate.ok()) return certificate.status();
    reply.set_certificate(certificate->der());
    reply.set_ca(members_.ca().der());
    return absl::OkStatus();
  }

  Members& members_;
  rpc::AuditLog& audit_;
  rpc::CallPool& calls_;
  rpc::CallPool& joins_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_member_service(Members& members, rpc::AuditLog& audit,
                                                   rpc::CallPool& calls, rpc::CallPool& joins) {
  return std::make_unique<MemberService>(members, audit, calls, joins);
}

}  // namespace tf::tracker
