#include <grpcpp/grpcpp.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/tune/v1/token.grpc.pb.h"
#include "rpc/access/bearer_tokens.h"
#include "rpc/access/call_guard.h"
#include "rpc/connection/grpc_status.h"
#include "tuner/service/grpc/services.h"

namespace tf::service {
namespace {

namespace pb = tunefarm::tune::v1;

pb::BearerToken about(const rpc::BearerToken& token) {
  pb::BearerToken out;
  out.set_id(token.id());
  out.set_role(std::string(rpc::role_name(token.identity.role)));
  out.set_name(token.identity.name);
  out.set_issuer(token.issuer.text());
  out.set_issued_unix_s(absl::ToUnixSeconds(token.issued));
  out.set_ends_unix_s(absl::ToUnixSeconds(token.ends));
  return out;
}

class TokenService final : public pb::Tokens::Service {
 public:
  explicit TokenService(rpc::BearerTokens* tokens) : tokens_(tokens) {}

  grpc::Status Issue(grpc::ServerContext* context, const pb::IssueBearerTokenRequest* request,
                     pb::IssueBearerTokenReply* reply) override {
    return rpc::to_grpc([&]() -> absl::Status {
      TF_RETURN_IF_ERROR(check_secured());
      const std::optional<rpc::Certificate> issuer = rpc::caller_certificate(*context);
      if (!issuer || !issuer->identity()) {
        return absl::PermissionDeniedError(
            "a token makes no other tokens: call with your certificate, as `tuner token --tls DIR` does");
      }
      rpc::Identity identity{.name = request->name().empty() ? issuer->identity()->name : request->name()};
      TF_ASSIGN_OR_RETURN(identity.role, rpc::parse_role(request->role()));
      const absl::Duration life = request->valid_seconds() == 0 ? rpc::BearerTokens::kUsualLife
                                                                : absl::Seconds(request->valid_seconds());
      TF_ASSIGN_OR_RETURN(const rpc::IssuedBearerToken issued, tokens_->issue(identity, life, *issuer));
      reply->set_token(issued.text);
      *reply->mutable_about() = about(issued.token);
      return absl::OkStatus();
    }());
  }

  grpc::Status List(grpc::ServerContext* context, const pb::ListBearerTokensRequest*,
                    pb::ListBearerTokensReply* reply) override {
    return rpc::to_grpc([&]() -> absl::Status {
      TF_RETURN_IF_ERROR(check_secured());
      for (const rpc::BearerToken& token : tokens_->list()) {
        if (may_see(*context, token)) *reply->add_tokens() = about(token);
      }
      return absl::OkStatus();
    }());
  }

  grpc::Status Revoke(grpc::ServerContext* context, const pb::RevokeBearerTokenRequest* request,
                      pb::RevokeBearerTokenReply*) override {
    return rpc::to_grpc([&]() -> absl::Status {
      TF_RETURN_IF_ERROR(check_secured());
      for (const rpc::BearerToken& token : tokens_->list()) {
        if (token.id() == request->id() && may_see(*context, token)) return tokens_->revoke(token.id());
      }
      return absl::NotFoundError(absl::StrCat("you have no good token with the id '", request->id(),
                                              "': `tuner token --list` shows those that there are"));
    }());
  }

 private:
  absl::Status check_secured() const {
    if (tokens_) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "this tuner speaks plain text on loopback, where its HTTP API needs no token");
  }

  // Who issued it, whose it is, and admins.
  static bool may_see(const grpc::ServerContext& context, const rpc::BearerToken& token) {
    const std::optional<rpc::Identity> caller = rpc::caller(context);
    return caller &&
           (caller->role == rpc::Role::kAdmin || *caller == token.issuer || *caller == token.identity);
  }

  rpc::BearerTokens* const tokens_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_token_service(rpc::BearerTokens* tokens) {
  return std::make_unique<TokenService>(tokens);
}

}  // namespace tf::service
