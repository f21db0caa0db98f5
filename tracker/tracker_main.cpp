#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/exit_code.h"
#include "base/status.h"
#include "rpc/daemon_environment.h"
#include "rpc/stop_signals.h"
#include "tracker/daemon.h"
#include "tracker/operator_client.h"

namespace {

constexpr const char* kDefaultEndpoint = "127.0.0.1:7190";

struct Arguments {
  std::string listen = kDefaultEndpoint;
  std::string tracker = kDefaultEndpoint;
  std::string state;
  std::string log_level = "info";
  uint64_t artifact_mib = 2048;
  uint32_t term_s = 60;
  uint32_t agent_grace_s = 30;
  std::string key;
  std::string name;
  bool json = false;
  bool undo = false;
};

absl::Status serve(const Arguments& arguments) {
  tf::rpc::log_to_stderr("tracker", arguments.log_level);
  tf::rpc::StopSignals signals;
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint listen, tf::rpc::parse_endpoint(arguments.listen));
  const std::string state =
      arguments.state.empty() ? tf::rpc::default_state_folder() + "/tracker.db" : arguments.state;
  TF_ASSIGN_OR_RETURN(
      const auto daemon,
      tf::tracker::Daemon::start({.listen = listen,
                                  .state_path = state,
                                  .artifact_bytes = arguments.artifact_mib << 20,
                                  .farm = {.default_term = absl::Seconds(arguments.term_s),
                                           .agent_grace = absl::Seconds(arguments.agent_grace_s)}}));
  spdlog::info(
      "listening on {} (plain text, loopback only); state {}, artifacts up to {} MiB, lease term {} s, "
      "agents may be away {} s",
      daemon->endpoint().text(), state, arguments.artifact_mib, arguments.term_s, arguments.agent_grace_s);
  signals.wait();
  spdlog::info("stopping; leases go on after a restart");
  daemon->stop();
  return absl::OkStatus();
}

absl::Status devices(const Arguments& arguments) {
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint tracker, tf::rpc::parse_endpoint(arguments.tracker));
  const auto format = arguments.json ? tf::tracker::DevicesFormat::kJson : tf::tracker::DevicesFormat::kTable;
  TF_ASSIGN_OR_RETURN(const std::string text, tf::tracker::render_devices(tracker, arguments.key, format));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

absl::Status drain(const Arguments& arguments) {
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint tracker, tf::rpc::parse_endpoint(arguments.tracker));
  return tf::tracker::drain_device(tracker, arguments.name, arguments.undo);
}

absl::Status release(const Arguments& arguments) {
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint tracker, tf::rpc::parse_endpoint(arguments.tracker));
  TF_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                      tf::tracker::force_release(tracker, arguments.name));
  for (const std::string& id : ids) std::printf("%s\n", id.c_str());
  return absl::OkStatus();
}

void add_tracker_option(CLI::App& command, Arguments& arguments) {
  command.add_option("--tracker", arguments.tracker, "The tracker's HOST:PORT")->capture_default_str();
}

void build(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  app.footer(
      "Example: tracker serve --listen 127.0.0.1:7190 & device_agent --tracker 127.0.0.1:7190 --key box\n"
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 no such device or lease.");
  CLI::App& serve = *app.add_subcommand("serve", "Run a tracker until SIGINT or SIGTERM");
  serve.add_option("--listen", arguments.listen, "HOST:PORT to listen on; port 0 takes a free one")
      ->capture_default_str();
  serve.add_option("--state", arguments.state,
                   "State file; artifacts go to FILE.artifacts "
                   "[~/.local/state/tunefarm/tracker.db]");
  serve.add_option("--artifact-mib", arguments.artifact_mib, "Bound of the artifact store")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  serve.add_option("--lease-seconds", arguments.term_s, "Term of a lease that asks for none")
      ->check(CLI::Range(1, 600))
      ->capture_default_str();
  serve
      .add_option("--agent-grace-seconds", arguments.agent_grace_s,
                  "An agent that is away longer loses its lease")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  serve.add_option("--log-level", arguments.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  serve.footer("Example: tracker serve --listen 127.0.0.1:7190 --state farm/tracker.db");

  CLI::App& devices = *app.add_subcommand("devices", "List devices: state, holder, lease, queue");
  add_tracker_option(devices, arguments);
  devices.add_option("--key", arguments.key, "Only devices with this key");
  devices.add_flag("--json", arguments.json, "A JSON array instead of a table");
  devices.footer("Example: tracker devices --tracker 127.0.0.1:7190 --json");

  CLI::App& drain = *app.add_subcommand("drain", "Give a device no new lease; the present one goes on");
  add_tracker_option(drain, arguments);
  drain.add_option("DEVICE", arguments.name, "The device's id, without the slot")->required();
  drain.add_flag("--undo", arguments.undo, "Let it be leased again");
  drain.footer("Example: tracker drain box-1a2b3c4d");

  CLI::App& release =
      *app.add_subcommand("release", "End leases against their holder's will; prints their ids");
  add_tracker_option(release, arguments);
  release.add_option("NAME", arguments.name, "A lease's id, or a device's for all of its leases")->required();
  release.footer("Example: tracker release 1a2b3c4d5e6f7a8b");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("The farm's tracker: knows devices, leases them to tuners, relays trials and results",
               "tracker");
  build(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? tf::kExitOk : tf::kExitUsage;
  }
  const std::string command = app.get_subcommands().front()->get_name();
  const absl::Status status = command == "serve"     ? serve(arguments)
                              : command == "devices" ? devices(arguments)
                              : command == "drain"   ? drain(arguments)
                                                     : release(arguments);
  if (status.ok()) return tf::kExitOk;
  const tf::ExitCode code = tf::report_error("tracker", status);
  return absl::IsNotFound(status) ? tf::kExitNoDevice : code;
}
