#include "tracker/ca/ca_commands.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cli/text_table.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "rpc/connection/default_endpoints.h"
#include "tracker/ca/authority.h"
#include "tracker/ca/member_client.h"
#include "tracker/ca/members.h"
#include "tracker/ca/own_certificate.h"
#include "tracker/operators/durations.h"

namespace tf::tracker {
namespace {

struct CaArguments {
  std::string dir;
  std::string tracker = rpc::kDefaultTracker;
  std::string tls;
  std::string role;
  std::string name;
  std::string pattern;
  std::string valid = "15m";
  std::vector<std::string> hosts;
  std::string revoked;  // a token's id
  uint32_t uses = 1;
  bool json = false;
};

// The lines, none if there is no text, or the object.
void print(const std::string& lines, const nlohmann::json& object, const CaArguments& arguments) {
  const std::string text = arguments.json ? json_text(object, 1) : lines;
  if (!text.empty()) std::printf("%s\n", text.c_str());
}

absl::Status init(const CaArguments& arguments) {
  TF_RETURN_IF_ERROR(Authority::make(arguments.dir, rpc::real_wall_clock().now()));
  TF_ASSIGN_OR_RETURN(const auto members, Members::open(arguments.dir));
  const std::string admin = arguments.dir + "/admin";
  TF_RETURN_IF_ERROR(make_member(*members, admin, {rpc::Role::kAdmin, "admin"}));
  print(members->ca().fingerprint().hex(),
        {{"fingerprint", members->ca().fingerprint().hex()}, {"ca", arguments.dir}, {"admin", admin}},
        arguments);
  std::fprintf(stderr,
               "The CA is in %s: start `tracker serve --tls %s`, and keep its ca-key.pem secret.\n"
               "An admin's certificate is in %s: give it to admin commands with --tls.\n",
               arguments.dir.c_str(), arguments.dir.c_str(), admin.c_str());
  return absl::OkStatus();
}

absl::StatusOr<TokenOptions> token_options(const CaArguments& arguments) {
  if (arguments.role.empty()) {
    return with_remedy(absl::StatusCode::kInvalidArgument, "a token needs a role",
                       absl::StrCat("give --role: ", absl::StrJoin(rpc::joinable_roles(), ", ")));
  }
  if (arguments.uses < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--uses must be a number from 1 to ", Members::kMostUses, ", not 0"));
  }
  TokenOptions options{.name = arguments.name,
                       .name_pattern = arguments.pattern,
                       .uses = arguments.uses,
                       .hosts = arguments.hosts};
  TF_ASSIGN_OR_RETURN(options.role, rpc::parse_role(arguments.role));
  TF_ASSIGN_OR_RETURN(options.life, parse_duration("--valid", arguments.valid));
  return options;
}

// Such a certificate lets its member pass for the tracker, to programs that look at the host alone.
void warn_of(const std::vector<std::string>& tracker_hosts) {
  if (tracker_hosts.empty()) return;
  std::fprintf(stderr,
               "tracker ca token: warning: %s is also a host of the tracker; programs that check only the "
               "host name cannot tell this member from the tracker\n",
               absl::StrJoin(tracker_hosts, ", ").c_str());
}

absl::Status token(const CaArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const TrackerLink link, link_to(arguments.tracker, arguments.tls));
  if (!arguments.revoked.empty()) return revoke_token(link, arguments.revoked);
  TF_ASSIGN_OR_RETURN(const TokenOptions options, token_options(arguments));
  TF_ASSIGN_OR_RETURN(const IssuedToken issued, request_token(link, options));
  print(issued.text,
        {{"token", issued.text},
         {"id", issued.id},
         {"role", arguments.role},
         {"name", arguments.name},
         {"name_pattern", arguments.pattern},
         {"hosts", arguments.hosts},
         {"uses", arguments.uses},
         {"seconds", absl::ToInt64Seconds(issued.life)},
         {"join", absl::StrCat(std::string(rpc::joining_program(options.role)), " join")}},
        arguments);
  warn_of(issued.tracker_hosts);
  return absl::OkStatus();
}

absl::Status tokens(const CaArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const TrackerLink link, link_to(arguments.tracker, arguments.tls));
  TF_ASSIGN_OR_RETURN(
      const std::string text,
      render_tokens(link, arguments.json ? MembersFormat::kJson : MembersFormat::kTable, terminal_width()));
  std::fputs(text.c_str(), stdout);
  if (text.empty()) std::fprintf(stderr, "tracker ca tokens: there are no valid tokens\n");
  return absl::OkStatus();
}

absl::Status revoke(const CaArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const TrackerLink link, link_to(arguments.tracker, arguments.tls));
  TF_ASSIGN_OR_RETURN(const std::vector<std::string> serials, revoke_member(link, arguments.name));
  print(absl::StrJoin(serials, "\n"), {{"serials", serials}}, arguments);
  if (serials.empty() && !arguments.json) {
    std::fprintf(stderr,
                 "tracker ca revoke: nothing was revoked: %s is already revoked or expired; `tracker ca "
                 "list` shows all certificates\n",
                 printable(arguments.name).c_str());
  }
  return absl::OkStatus();
}

absl::Status list(const CaArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const TrackerLink link, link_to(arguments.tracker, arguments.tls));
  TF_ASSIGN_OR_RETURN(
      const std::string text,
      render_members(link, arguments.json ? MembersFormat::kJson : MembersFormat::kTable, terminal_width()));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

void add_token_options(CLI::App& command, CaArguments& arguments) {
  CLI::Option& role =
      *command.add_option("--role", arguments.role, "Role of the member, which sets its permissions")
           ->check(CLI::IsMember(rpc::joinable_roles()));
  command.add_option("--name", arguments.name,
                     "Member name; replaces a member with this name [the new member chooses a free one]");
  command.add_option("--uses", arguments.uses, "Number of members it admits, 1 to 1000")
      ->capture_default_str();
  command.add_option("--valid", arguments.valid, "Lifetime of the token, as in 24h; at most 7d")
      ->capture_default_str();
  command.add_option("--name-pattern", arguments.pattern,
                     "Pattern that a chosen name must match, as in 'rack1-*'");
  command.add_option("--host", arguments.hosts,
                     "DNS name or address of the member's machine, for its certificate; repeatable [the "
                     "address from which it joins]");
  command
      .add_option("--revoke", arguments.revoked,
                  "Revoke the token with this id (`tracker ca tokens`) instead of issuing one")
      ->excludes(&role);
}

void add_ca_commands(CLI::App& app, std::function<absl::Status()>& run) {
  CLI::App& ca = *app.add_subcommand("ca", "Create the farm's CA; admit and revoke members");
  ca.require_subcommand(1);
  ca.footer("Example: tracker ca init --dir farm/ca && tracker serve --tls farm/ca --listen 0.0.0.0:7190");
  const auto arguments = std::make_shared<CaArguments>();
  const auto add = [&](const char* name, const char* help, const char* example,
                       absl::Status (*command)(const CaArguments&)) -> CLI::App& {
    CLI::App& added = *ca.add_subcommand(name, help);
    added.footer(std::string("Example: ") + example);
    added.callback(
        [arguments, command, &run] { run = [arguments, command] { return command(*arguments); }; });
    added.add_flag("--json", arguments->json, "Print the result as JSON");
    return added;
  };
  const auto asks_tracker = [&](CLI::App& command) {
    command.add_option("--tracker", arguments->tracker, "The tracker's HOST:PORT")->capture_default_str();
    command.add_option("--tls", arguments->tls, "Folder of an admin's certificate")->required();
  };

  CLI::App& making = add("init", "Create a CA and the first admin; prints the CA's fingerprint",
                         "tracker ca init --dir farm/ca", init);
  making.add_option("--dir", arguments->dir, "Folder to create")->required();

  CLI::App& letting_in =
      add("token", "Print a token with which members can join; by default one member, within 15 minutes",
          "tracker ca token --role agent --tls farm/ca/admin\n"
          "Example: tracker ca token --role agent --uses 40 --valid 24h --name-pattern 'rack1-*' --tls "
          "farm/ca/admin",
          token);
  add_token_options(letting_in, *arguments);
  asks_tracker(letting_in);

  CLI::App& open = add("tokens", "List valid tokens", "tracker ca tokens --tls farm/ca/admin", tokens);
  asks_tracker(open);

  CLI::App& revoking = add("revoke", "Revoke a member at once; prints the serials of its certificates",
                           "tracker ca revoke agent/box --tls farm/ca/admin", revoke);
  revoking
      .add_option("NAME", arguments->name,
                  "A member's NAME or ROLE/NAME, or the serial of one of its certificates")
      ->required();
  asks_tracker(revoking);

  CLI::App& listing =
      add("list", "List all certificates ever issued", "tracker ca list --tls farm/ca/admin", list);
  asks_tracker(listing);
}

}  // namespace tf::tracker
