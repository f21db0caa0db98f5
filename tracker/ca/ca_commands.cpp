#include "tracker/ca/ca_commands.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/text_table.h"
#include "rpc/default_endpoints.h"
#include "tracker/ca/authority.h"
#include "tracker/ca/member_service.h"
#include "tracker/ca/members.h"
#include "tracker/ca/own_certificate.h"

namespace tf::tracker {
namespace {

struct CaArguments {
  std::string dir;
  std::string tracker = rpc::kDefaultTracker;
  std::string tls;
  std::string role;
  std::string name;
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
               "The CA is in %s: start `tracker serve --tls %s`, and keep its ca-key.pem to yourself.\n"
               "An admin's certificate is in %s: give it to admin commands with --tls.\n",
               arguments.dir.c_str(), arguments.dir.c_str(), admin.c_str());
  return absl::OkStatus();
}

absl::Status token(const CaArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const TrackerLink link, link_to(arguments.tracker, arguments.tls));
  TF_ASSIGN_OR_RETURN(const IssuedToken issued, request_token(link, arguments.role, arguments.name));
  TF_ASSIGN_OR_RETURN(const rpc::Role role, rpc::parse_role(arguments.role));
  print(issued.text,
        {{"token", issued.text},
         {"role", arguments.role},
         {"name", arguments.name},
         {"seconds", absl::ToInt64Seconds(issued.life)},
         {"join", absl::StrCat(std::string(rpc::joining_program(role)), " join")}},
        arguments);
  return absl::OkStatus();
}

absl::Status revoke(const CaArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const TrackerLink link, link_to(arguments.tracker, arguments.tls));
  TF_ASSIGN_OR_RETURN(const std::vector<std::string> serials, revoke_member(link, arguments.name));
  print(absl::StrJoin(serials, "\n"), {{"serials", serials}}, arguments);
  if (serials.empty() && !arguments.json) {
    std::fprintf(
        stderr,
        "tracker ca revoke: %s was revoked already, or has ended, so nothing was revoked: `tracker ca "
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

void add_ca_commands(CLI::App& app, std::function<absl::Status()>& run) {
  CLI::App& ca = *app.add_subcommand("ca", "Make the farm's CA; let members in and revoke them");
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

  CLI::App& making = add("init", "Make a CA and the first admin; prints the CA's fingerprint",
                         "tracker ca init --dir farm/ca", init);
  making.add_option("--dir", arguments->dir, "Folder to make them in")->required();

  CLI::App& letting_in = add("token", "Print a token that lets one member join, once, within 15 minutes",
                             "tracker ca token --role agent --tls farm/ca/admin", token);
  letting_in.add_option("--role", arguments->role, "What the member may do")
      ->required()
      ->check(CLI::IsMember(rpc::joinable_roles()));
  letting_in.add_option("--name", arguments->name,
                        "Its name; whoever has it now is replaced [the joiner chooses one that is free]");
  asks_tracker(letting_in);

  CLI::App& revoking = add("revoke", "Refuse a member from now on; prints the serials of its certificates",
                           "tracker ca revoke agent/box --tls farm/ca/admin", revoke);
  revoking
      .add_option("NAME", arguments->name,
                  "A member's NAME or ROLE/NAME, or the serial of one of its certificates")
      ->required();
  asks_tracker(revoking);

  CLI::App& listing =
      add("list", "List all certificates that were ever issued", "tracker ca list --tls farm/ca/admin", list);
  asks_tracker(listing);
}

}  // namespace tf::tracker
