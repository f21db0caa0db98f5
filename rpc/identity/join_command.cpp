#include "rpc/identity/join_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "rpc/connection/default_endpoints.h"
#include "rpc/identity/membership.h"

namespace tf::rpc {
namespace {

struct Arguments {
  std::string tracker = kDefaultTracker;
  std::string token;
  std::string name;
  std::string tls;
  std::vector<std::string> roles;  // of whom this program makes members
  bool json = false;
};

absl::Status join(const Arguments& arguments) {
  TF_ASSIGN_OR_RETURN(const Endpoint tracker, parse_endpoint(arguments.tracker));
  TF_ASSIGN_OR_RETURN(const Identity identity,
                      join_farm({.tracker = tracker,
                                 .token = arguments.token,
                                 .name = arguments.name.empty() ? default_member_name() : arguments.name,
                                 .folder = arguments.tls,
                                 .roles = arguments.roles}));
  if (arguments.json) {
    const std::string role(role_name(identity.role));
    const nlohmann::json joined = {{"role", role}, {"name", identity.name}, {"tls", arguments.tls}};
    std::printf("%s\n", json_text(joined, 1).c_str());
  } else {
    std::printf("%s", joined_text(identity, arguments.tls).c_str());
  }
  return absl::OkStatus();
}

}  // namespace

void add_join_command(CLI::App& app, const std::string& program,
                      const std::function<void(std::function<absl::Status()> join)>& chosen) {
  const auto arguments = std::make_shared<Arguments>(Arguments{.roles = roles_joining_by(program)});
  CLI::App& command = *app.add_subcommand("join", "Join a secured farm with a token from its admin");
  command.add_option("--tracker", arguments->tracker, "The tracker's HOST:PORT")->capture_default_str();
  command.add_option("--token", arguments->token, "The token that `tracker ca token` printed")->required();
  command.add_option("--name", arguments->name,
                     "Member name, if the token does not set one [this host's name]");
  command.add_option("--tls", arguments->tls, "New folder for the key and certificate")->required();
  command.add_flag("--json", arguments->json, "Print the new member as JSON");
  command.footer(absl::StrCat("Example: ", program,
                              " join --tracker farm.example.org:7190 --token tfj-... --tls box.tls\n"
                              "The private key never leaves this machine. Nothing is sent unless the tracker "
                              "proves that it issued the token.\nAccepts tokens for these roles: ",
                              absl::StrJoin(arguments->roles, ", "),
                              ". Tokens for other roles are refused and stay valid."));
  command.callback([arguments, chosen] { chosen([arguments] { return join(*arguments); }); });
}

}  // namespace tf::rpc
