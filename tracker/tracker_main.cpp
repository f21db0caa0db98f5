#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <optional>

#include "base/command_line.h"
#include "base/exit_code.h"
#include "base/status.h"
#include "proto/config/v1/farm.pb.h"
#include "rpc/daemon_environment.h"
#include "rpc/stop_signals.h"
#include "rpc/text_config.h"
#include "tracker/daemon.h"
#include "tracker/operator_client.h"

namespace {

constexpr const char* kDefaultEndpoint = "127.0.0.1:7190";

struct Arguments {
  tunefarm::config::v1::Tracker config;
  std::string config_path;
  std::string tracker = kDefaultEndpoint;
  std::string key;
  std::string name;
  bool json = false;
  bool undo = false;
};

tunefarm::config::v1::Tracker default_config() {
  tunefarm::config::v1::Tracker config;
  config.set_listen(kDefaultEndpoint);
  config.set_state(tf::rpc::default_state_folder() + "/tracker.db");
  config.set_artifact_mib(2048);
  config.set_lease_seconds(60);
  config.set_agent_grace_seconds(30);
  config.set_log_level("info");
  return config;
}

absl::Status serve(const Arguments& arguments) {
  const tunefarm::config::v1::Tracker& config = arguments.config;
  tf::rpc::log_to_stderr("tracker", config.log_level());
  tf::rpc::StopSignals signals;
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint listen, tf::rpc::parse_endpoint(config.listen()));
  const tf::tracker::FarmOptions farm{.default_term = absl::Seconds(config.lease_seconds()),
                                      .agent_grace = absl::Seconds(config.agent_grace_seconds())};
  TF_ASSIGN_OR_RETURN(const auto daemon,
                      tf::tracker::Daemon::start({.listen = listen,
                                                  .state_path = config.state(),
                                                  .artifact_bytes = uint64_t{config.artifact_mib()} << 20,
                                                  .farm = farm}));
  spdlog::info("listening on {}, plain text; configuration: {}", daemon->endpoint().text(),
               tf::rpc::one_line(config));
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

void add_number(CLI::App& command, const std::string& name, const std::string& what, const CLI::Range& range,
                uint32_t present, const std::function<void(uint32_t)>& set) {
  command.add_option_function<uint32_t>(name, set, what)->check(range)->default_str(std::to_string(present));
}

void build(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  app.footer(
      "Example: tracker serve --listen 127.0.0.1:7190 & device_agent --tracker 127.0.0.1:7190 --key box\n"
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 no such device or lease.");
  CLI::App& serve = *app.add_subcommand("serve", "Run a tracker until SIGINT or SIGTERM");
  tunefarm::config::v1::Tracker& config = arguments.config;
  serve.add_option("--config", arguments.config_path,
                   "File in protobuf text format (proto/config/v1/farm.proto); flags override it");
  serve.add_option("--listen", *config.mutable_listen(), "HOST:PORT to listen on; port 0 takes a free one")
      ->capture_default_str();
  serve.add_option("--state", *config.mutable_state(), "State file; artifacts go to FILE.artifacts")
      ->capture_default_str();
  add_number(serve, "--artifact-mib", "Bound of the artifact store", CLI::Range(1, 1 << 20),
             config.artifact_mib(), [&](uint32_t value) { config.set_artifact_mib(value); });
  add_number(serve, "--lease-seconds", "Term of a lease that asks for none", CLI::Range(1, 600),
             config.lease_seconds(), [&](uint32_t value) { config.set_lease_seconds(value); });
  add_number(serve, "--agent-grace-seconds", "An agent that is away longer loses its lease",
             CLI::Range(1, 3600), config.agent_grace_seconds(),
             [&](uint32_t value) { config.set_agent_grace_seconds(value); });
  serve.add_option("--log-level", *config.mutable_log_level(), "debug, info, warning or error")
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

// Parses the command line onto `arguments`; the exit code if there is nothing to run.
std::optional<int> parse(int argc, char** argv, Arguments& arguments, std::string& command) {
  CLI::App app("The farm's tracker: knows devices, leases them to tuners, relays trials and results",
               "tracker");
  build(app, arguments);
  if (const std::optional<int> done = tf::parse_command_line(app, argc, argv)) return done;
  command = app.get_subcommands().front()->get_name();
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments{.config = default_config()};
  std::string command;
  if (const std::optional<int> done = parse(argc, argv, arguments, command)) return *done;
  absl::Status status;
  if (!arguments.config_path.empty()) {
    // Again on top of the file, so that flags override it.
    Arguments merged{.config = default_config()};
    status = tf::rpc::merge_text_config(arguments.config_path, merged.config);
    parse(argc, argv, merged, command);
    arguments = std::move(merged);
  }
  if (status.ok()) {
    status = command == "serve"     ? serve(arguments)
             : command == "devices" ? devices(arguments)
             : command == "drain"   ? drain(arguments)
                                    : release(arguments);
  }
  if (status.ok()) return tf::finish_output("tracker", tf::kExitOk);
  const tf::ExitCode code = tf::report_error("tracker", status);
  return absl::IsNotFound(status) && command != "serve" ? tf::kExitNoDevice : code;
}
