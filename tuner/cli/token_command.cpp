// tuner token: tokens for the HTTP API of a running tuner.
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/cli/exit_code.h"
#include "base/cli/text_table.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "proto/tune/v1/token.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/default_endpoints.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/identity/membership.h"
#include "tuner/cli/commands.h"

namespace tf::tuner_cli {
namespace {

namespace pb = tunefarm::tune::v1;

constexpr absl::Duration kTokenCallTimeout = absl::Seconds(20);

struct TokenArguments {
  std::string address = rpc::kDefaultTuner;
  std::string tls;
  std::string role;
  std::string name;
  uint32_t hours = 12;
  bool list = false;
  std::string revoked;  // a token's id
  bool json = false;
};

class TokenClient {
 public:
  static absl::StatusOr<TokenClient> connect(const TokenArguments& arguments) {
    TF_ASSIGN_OR_RETURN(rpc::Endpoint endpoint, rpc::parse_endpoint(arguments.address));
    TF_ASSIGN_OR_RETURN(const auto credentials, rpc::credentials_of_command(arguments.tls));
    TF_RETURN_IF_ERROR(rpc::require_protection(endpoint, "--server", credentials));
    return TokenClient(std::move(endpoint), credentials);
  }

  template <typename Method, typename Request, typename Reply>
  absl::Status call(Method method, const Request& request, Reply& reply) const {
    grpc::ClientContext context;
    rpc::set_deadline(context, kTokenCallTimeout);
    return rpc::from_grpc((stub_.get()->*method)(&context, request, &reply), "tuner", endpoint_, secured_);
  }

 private:
  TokenClient(rpc::Endpoint endpoint, const std::shared_ptr<rpc::Credentials>& credentials)
      : endpoint_(std::move(endpoint)),
        secured_(credentials != nullptr),
        stub_(pb::Tokens::NewStub(rpc::make_channel(endpoint_, credentials, rpc::Role::kTuner))) {}

  rpc::Endpoint endpoint_;
  bool secured_;
  std::unique_ptr<pb::Tokens::Stub> stub_;
};

std::string time_text(int64_t unix_s) {
  return absl::FormatTime("%Y-%m-%d %H:%M", absl::FromUnixSeconds(unix_s), absl::LocalTimeZone());
}

nlohmann::json token_json(const pb::BearerToken& token) {
  return {{"id", token.id()},
          {"role", token.role()},
          {"name", token.name()},
          {"issuer", token.issuer()},
          {"issued_unix_s", token.issued_unix_s()},
          {"ends_unix_s", token.ends_unix_s()}};
}

absl::Status issue_token(const TokenClient& client, const TokenArguments& arguments) {
  pb::IssueBearerTokenRequest request;
  request.set_role(arguments.role);
  request.set_name(arguments.name);
  request.set_valid_seconds(arguments.hours * 3600);
  pb::IssueBearerTokenReply reply;
  TF_RETURN_IF_ERROR(client.call(&pb::Tokens::Stub::Issue, request, reply));
  if (arguments.json) {
    nlohmann::json made = token_json(reply.about());
    made["token"] = reply.token();
    std::printf("%s\n", json_text(made, 1).c_str());
    return absl::OkStatus();
  }
  std::printf("%s\n", reply.token().c_str());
  std::fprintf(
      stderr,
      "tuner token: %s, of %s %s until %s; the tuner keeps only its digest, so it cannot be shown again\n",
      reply.about().id().c_str(), reply.about().role().c_str(), reply.about().name().c_str(),
      time_text(reply.about().ends_unix_s()).c_str());
  return absl::OkStatus();
}

absl::Status list_tokens(const TokenClient& client, const TokenArguments& arguments) {
  pb::ListBearerTokensReply reply;
  TF_RETURN_IF_ERROR(client.call(&pb::Tokens::Stub::List, pb::ListBearerTokensRequest(), reply));
  std::vector<std::vector<std::string>> rows;
  for (const pb::BearerToken& token : reply.tokens()) {
    if (arguments.json) {
      std::printf("%s\n", json_text(token_json(token)).c_str());
    } else {
      rows.push_back(
          {token.id(), token.role(), token.name(), token.issuer(), time_text(token.ends_unix_s())});
    }
  }
  if (reply.tokens().empty()) {
    std::fprintf(stderr, "tuner token: there are no valid tokens\n");
  } else if (!arguments.json) {
    std::fputs(
        text_table({{"id"}, {"role"}, {"name"}, {"issuer"}, {"until"}}, rows, terminal_width()).c_str(),
        stdout);
  }
  return absl::OkStatus();
}

absl::Status revoke_token(const TokenClient& client, const TokenArguments& arguments) {
  pb::RevokeBearerTokenRequest request;
  request.set_id(arguments.revoked);
  pb::RevokeBearerTokenReply reply;
  TF_RETURN_IF_ERROR(client.call(&pb::Tokens::Stub::Revoke, request, reply));
  if (arguments.json) std::printf("%s\n", json_text({{"revoked", arguments.revoked}}).c_str());
  return absl::OkStatus();
}

absl::StatusOr<int> run_token(const TokenArguments& arguments) {
  if (!arguments.list && arguments.revoked.empty() && arguments.role.empty())
    return absl::InvalidArgumentError(
        "a token needs a role: give --role viewer, user, device-owner, build or admin");
  TF_ASSIGN_OR_RETURN(const TokenClient client, TokenClient::connect(arguments));
  if (arguments.list) {
    TF_RETURN_IF_ERROR(list_tokens(client, arguments));
  } else if (!arguments.revoked.empty()) {
    TF_RETURN_IF_ERROR(revoke_token(client, arguments));
  } else {
    TF_RETURN_IF_ERROR(issue_token(client, arguments));
  }
  return kExitOk;
}

}  // namespace

void add_token_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<TokenArguments>();
  CLI::App* command = app.add_subcommand(
      "token", "Print a token for the HTTP API of a secured tuner (`tuner serve --http --tls`)");
  CLI::Option* role =
      command->add_option("--role", arguments->role, "Role of the caller, which sets its permissions")
          ->check(CLI::IsMember({"viewer", "user", "device-owner", "build", "admin"}));
  CLI::Option* name = command->add_option("--name", arguments->name,
                                          "Name of the caller; only an admin may give another's [your own]");
  CLI::Option* hours = command->add_option("--hours", arguments->hours, "Hours until it expires")
                           ->check(CLI::Range(1u, 168u))
                           ->capture_default_str();
  CLI::Option* list = command->add_flag("--list", arguments->list,
                                        "List your valid tokens (an admin: all) instead of issuing one");
  CLI::Option* revoke = command->add_option("--revoke", arguments->revoked,
                                            "Revoke the token with this id instead of issuing one");
  for (CLI::Option* of_issuing : {role, name, hours}) {
    list->excludes(of_issuing);
    revoke->excludes(of_issuing);
  }
  list->excludes(revoke);
  command->add_option("--server", arguments->address, "The running tuner's HOST:PORT (gRPC)")
      ->capture_default_str();
  command->add_option("--tls", arguments->tls, "Folder of your certificate (`tuner join`)");
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->footer(
      "Example: tuner token --role viewer --tls ada.tls --server tuner.lab:7191\n"
      "         curl --cacert ada.tls/ca.pem -H \"Authorization: Bearer $TOKEN\" "
      "https://tuner.lab:7192/api/v1/Tuner/ListJobs");
  command->callback(
      [arguments, &invocation] { invocation.run = [arguments] { return run_token(*arguments); }; });
}

}  // namespace tf::tuner_cli
