#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/command_line.h"
#include "base/exit_code.h"
#include "base/grpc_environment.h"
#include "base/status.h"
#include "proto/config/v1/farm.pb.h"
#include "rpc/daemon_environment.h"
#include "rpc/daemon_log.h"
#include "rpc/identity/membership.h"
#include "rpc/metrics/page.h"
#include "rpc/operating_options.h"
#include "rpc/service_manager.h"
#include "rpc/stop_signals.h"
#include "rpc/text_config.h"
#include "tracker/ca/ca_commands.h"
#include "tracker/daemon.h"
#include "tracker/operator_client.h"

namespace {

using tf::tracker::Admission;
using tf::tracker::TextFormat;
using tf::tracker::UserPolicy;

constexpr const char* kDefaultEndpoint = "127.0.0.1:7190";

struct Arguments {
  tunefarm::config::v1::Tracker config;
  std::string config_path;
  std::string tracker = kDefaultEndpoint;
  std::string tls;
  std::function<absl::Status()> ca;  // the command chosen, if it is one of `tracker ca`
  std::string key;
  std::string selector;
  std::string name;
  std::string user;
  std::string from;
  std::string duration;
  uint64_t id = 0;
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
  config.set_log_format("text");
  config.mutable_everyone()->set_share(1);
  config.set_ageing_seconds(30);
  config.set_slice_seconds(300);
  config.set_share_half_life_seconds(600);
  config.set_quarantine_after(16);
  config.set_golden_drift_percent(10);
  config.set_power_cycle_minutes(10);
  config.set_forget_days(30);
  config.set_certificate_days(30);
  return config;
}

absl::StatusOr<UserPolicy> policy_of(const tunefarm::config::v1::UserPolicy& config) {
  if (config.share() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("user '", config.name(), "' has the share ", config.share(), ": give one above 0"));
  }
  UserPolicy policy{.share = config.share() == 0 ? 1 : config.share(), .max_slots = config.max_slots()};
  if (config.has_max_waiting()) policy.max_waiting = config.max_waiting();
  if (config.has_max_demands()) policy.max_demands = config.max_demands();
  if (config.has_highest_priority()) policy.highest_priority = config.highest_priority();
  return policy;
}

absl::StatusOr<tf::tracker::FarmOptions> farm_options(const tunefarm::config::v1::Tracker& config) {
  tf::tracker::FarmOptions farm{.default_term = absl::Seconds(config.lease_seconds()),
                                .agent_grace = absl::Seconds(config.agent_grace_seconds()),
                                .forget_after = absl::Hours(24) * config.forget_days()};
  farm.match.rank.ageing = absl::Seconds(std::max(1u, config.ageing_seconds()));
  farm.match.slice = absl::Seconds(config.slice_seconds());
  farm.match.half_life = absl::Seconds(std::max(1u, config.share_half_life_seconds()));
  farm.health.quarantine_after = config.quarantine_after();
  farm.health.golden_drift = config.golden_drift_percent() / 100.0;
  TF_ASSIGN_OR_RETURN(farm.policies.everyone, policy_of(config.everyone()));
  for (const auto& user : config.users()) {
    if (user.name().empty()) return absl::InvalidArgumentError("an entry of `users` has no name");
    TF_ASSIGN_OR_RETURN(const UserPolicy policy, policy_of(user));
    if (!farm.policies.users.emplace(user.name(), policy).second) {
      return absl::InvalidArgumentError(absl::StrCat("user ", user.name(), " stands in `users` twice"));
    }
  }
  return farm;
}

absl::Status serve(const Arguments& arguments) {
  const tunefarm::config::v1::Tracker& config = arguments.config;
  TF_RETURN_IF_ERROR(tf::rpc::obey_test_environment("tracker"));
  TF_RETURN_IF_ERROR(
      tf::rpc::log_to_stderr("tracker", {.level = config.log_level(), .format = config.log_format()}));
  tf::rpc::allow_descriptors(11'000);  // ten thousand agents hold a connection each
  tf::rpc::StopSignals signals;
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint listen, tf::rpc::parse_endpoint(config.listen()));
  TF_ASSIGN_OR_RETURN(tf::tracker::FarmOptions farm, farm_options(config));
  const tf::tracker::PowerCycleOptions power_cycle{
      .command = {config.power_cycle_command().begin(), config.power_cycle_command().end()},
      .interval = absl::Minutes(config.power_cycle_minutes())};
  TF_ASSIGN_OR_RETURN(const auto daemon,
                      tf::tracker::Daemon::start(
                          {.listen = listen,
                           .ca_folder = config.tls(),
                           .members = {.certificate_life = absl::Hours(24) * config.certificate_days()},
                           .state_path = config.state(),
                           .artifact_bytes = uint64_t{config.artifact_mib()} << 20,
                           .farm = std::move(farm),
                           .power_cycle = power_cycle}));
  TF_ASSIGN_OR_RETURN(const auto metrics,
                      tf::rpc::MetricsPage::start(config.metrics(), [&] { return daemon->metrics(); }));
  spdlog::info("listening on {}, {}; configuration: {}", daemon->endpoint().text(),
               config.tls().empty() ? "plain text" : "mutual TLS", tf::rpc::one_line(config));
  const tf::rpc::ServiceManager manager = tf::rpc::ServiceManager::from_environment();
  const tf::rpc::Watchdog watchdog(manager, [&] { daemon->metrics(); });
  manager.ready();
  signals.wait();
  manager.stopping();
  spdlog::info("stopping; leases go on after a restart");
  daemon->stop();
  return absl::OkStatus();
}

absl::StatusOr<tf::tracker::TrackerLink> link_of(const Arguments& arguments) {
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint tracker, tf::rpc::parse_endpoint(arguments.tracker));
  TF_ASSIGN_OR_RETURN(auto credentials, tf::rpc::credentials_of_command(arguments.tls, arguments.tracker));
  return tf::tracker::TrackerLink{tracker, std::move(credentials)};
}

// Prints what one of the listing commands asks for.
using Render = absl::StatusOr<std::string> (*)(const tf::tracker::TrackerLink&, const Arguments&, TextFormat);

absl::Status print(const Arguments& arguments, Render render) {
  TF_ASSIGN_OR_RETURN(const tf::tracker::TrackerLink tracker, link_of(arguments));
  const TextFormat format = arguments.json ? TextFormat::kJson : TextFormat::kTable;
  TF_ASSIGN_OR_RETURN(const std::string text, render(tracker, arguments, format));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

absl::Status set_admission(const Arguments& arguments, Admission admission) {
  TF_ASSIGN_OR_RETURN(const tf::tracker::TrackerLink tracker, link_of(arguments));
  return tf::tracker::set_admission(tracker, arguments.name, admission);
}

absl::Status act(const Arguments& arguments,
                 absl::Status (*action)(const tf::tracker::TrackerLink&, const std::string&)) {
  TF_ASSIGN_OR_RETURN(const tf::tracker::TrackerLink tracker, link_of(arguments));
  return action(tracker, arguments.name);
}

absl::Status release(const Arguments& arguments) {
  TF_ASSIGN_OR_RETURN(const tf::tracker::TrackerLink tracker, link_of(arguments));
  TF_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                      tf::tracker::force_release(tracker, arguments.name));
  for (const std::string& id : ids) std::printf("%s\n", id.c_str());
  return absl::OkStatus();
}

absl::Status reserve(const Arguments& arguments) {
  TF_ASSIGN_OR_RETURN(const tf::tracker::TrackerLink tracker, link_of(arguments));
  tf::tracker::ReserveOptions options{.user = arguments.user,
                                      .key = arguments.key,
                                      .selector = arguments.selector,
                                      .from = absl::Now(),
                                      .until = {}};
  std::string error;
  if (!arguments.from.empty() &&
      !absl::ParseTime(absl::RFC3339_full, arguments.from, &options.from, &error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--from ", arguments.from, " is no time as in 2026-05-01T09:00:00Z: ", error));
  }
  absl::Duration duration;
  if (!absl::ParseDuration(arguments.duration, &duration)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--for ", arguments.duration, " is no duration as in 1h30m"));
  }
  options.until = options.from + duration;
  TF_ASSIGN_OR_RETURN(const uint64_t id, tf::tracker::reserve(tracker, options));
  std::printf("%llu\n", static_cast<unsigned long long>(id));
  return absl::OkStatus();
}

absl::Status unreserve(const Arguments& arguments) {
  TF_ASSIGN_OR_RETURN(const tf::tracker::TrackerLink tracker, link_of(arguments));
  return tf::tracker::unreserve(tracker, arguments.id);
}

absl::Status run(const std::string& command, const Arguments& arguments) {
  if (command == "serve") return serve(arguments);
  if (command == "devices") {
    return print(arguments,
                 [](const tf::tracker::TrackerLink& tracker, const Arguments& from, TextFormat format) {
                   return tf::tracker::render_devices(tracker, from.key, from.selector, format);
                 });
  }
  if (command == "waiting") {
    return print(arguments, [](const tf::tracker::TrackerLink& tracker, const Arguments&, TextFormat format) {
      return tf::tracker::render_waiting(tracker, format);
    });
  }
  if (command == "reservations") {
    return print(arguments, [](const tf::tracker::TrackerLink& tracker, const Arguments&, TextFormat format) {
      return tf::tracker::render_reservations(tracker, format);
    });
  }
  if (command == "cordon") return set_admission(arguments, Admission::kCordoned);
  if (command == "uncordon") return set_admission(arguments, Admission::kOpen);
  if (command == "drain")
    return set_admission(arguments, arguments.undo ? Admission::kOpen : Admission::kDraining);
  if (command == "readmit") return act(arguments, tf::tracker::readmit_device);
  if (command == "forget") return act(arguments, tf::tracker::forget_device);
  if (command == "pardon") return act(arguments, tf::tracker::pardon_candidate);
  if (command == "reserve") return reserve(arguments);
  if (command == "unreserve") return unreserve(arguments);
  return release(arguments);
}

void add_tracker_option(CLI::App& command, Arguments& arguments) {
  command.add_option("--tracker", arguments.tracker, "The tracker's HOST:PORT")->capture_default_str();
  command.add_option("--tls", arguments.tls, "Folder of your certificate, for a secured tracker");
}

void add_number(CLI::App& command, const std::string& name, const std::string& what, const CLI::Range& range,
                uint32_t present, const std::function<void(uint32_t)>& set) {
  command.add_option_function<uint32_t>(name, set, what)->check(range)->default_str(std::to_string(present));
}

void add_serve(CLI::App& app, Arguments& arguments) {
  CLI::App& serve = *app.add_subcommand("serve", "Run a tracker until SIGINT or SIGTERM");
  tunefarm::config::v1::Tracker& config = arguments.config;
  serve.add_option(
      "--config", arguments.config_path,
      "File in protobuf text format (proto/config/v1/farm.proto), also of users' shares and quotas; "
      "flags override it");
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
  add_number(serve, "--forget-days", "A device that is away for longer is forgotten; 0: none",
             CLI::Range(0, 36500), config.forget_days(),
             [&](uint32_t value) { config.set_forget_days(value); });
  add_number(serve, "--slice-seconds", "A lease for whose slot others wait is not renewed beyond this",
             CLI::Range(1, 86400), config.slice_seconds(),
             [&](uint32_t value) { config.set_slice_seconds(value); });
  add_number(serve, "--quarantine-after",
             "Different candidates that crash or time out in a row on one device; 0: never",
             CLI::Range(0, 10000), config.quarantine_after(),
             [&](uint32_t value) { config.set_quarantine_after(value); });
  serve
      .add_option_function<std::string>(
          "--power-cycle-command",
          [&](const std::string& command) {
            config.clear_power_cycle_command();
            for (const auto& word : absl::StrSplit(command, ' ', absl::SkipEmpty())) {
              config.add_power_cycle_command(std::string(word));
            }
          },
          "Program and arguments, split at spaces, run with a device's id as the last argument when it is "
          "quarantined, or was lost while it measured and does not come back")
      ->type_name("COMMAND");
  serve.add_option("--tls", *config.mutable_tls(),
                   "Folder of the farm's CA (`tracker ca init`): mutual TLS, needed beyond loopback");
  add_number(serve, "--certificate-days", "Life of the certificates that it issues", CLI::Range(1, 3650),
             config.certificate_days(), [&](uint32_t value) { config.set_certificate_days(value); });
  tf::rpc::add_operating_options(serve, {.log_level = config.mutable_log_level(),
                                         .log_format = config.mutable_log_format(),
                                         .metrics = config.mutable_metrics()});
  serve.footer("Example: tracker serve --listen 127.0.0.1:7190 --state farm/tracker.db");
}

void add_listings(CLI::App& app, Arguments& arguments) {
  CLI::App& devices =
      *app.add_subcommand("devices", "List devices: state, holder, temperature, drift, labels");
  add_tracker_option(devices, arguments);
  devices.add_option("--key", arguments.key, "Only devices with this key");
  devices.add_option("--selector", arguments.selector,
                     "Only devices with these labels, as in room=lab3,!shared");
  devices.footer("Example: tracker devices --tracker 127.0.0.1:7190 --json");
  CLI::App& waiting = *app.add_subcommand(
      "waiting", "List who waits for a lease, first the next one, and what each user holds");
  add_tracker_option(waiting, arguments);
  waiting.footer("Example: tracker waiting");
  CLI::App& reservations = *app.add_subcommand("reservations", "List reservations");
  add_tracker_option(reservations, arguments);
  reservations.footer("Example: tracker reservations --json");
  for (CLI::App* listing : {&devices, &waiting, &reservations}) {
    listing->add_flag("--json", arguments.json, "JSON instead of a table");
  }
}

CLI::App& add_device_command(CLI::App& app, Arguments& arguments, const std::string& name,
                             const std::string& what) {
  CLI::App& command = *app.add_subcommand(name, what);
  add_tracker_option(command, arguments);
  command.add_option("DEVICE", arguments.name, "The device's id, without the slot")->required();
  command.footer(absl::StrCat("Example: tracker ", name, " box-1a2b3c4d"));
  return command;
}

void add_reservation_commands(CLI::App& app, Arguments& arguments) {
  CLI::App& reserve =
      *app.add_subcommand("reserve", "Keep devices for one user; prints the reservation's id");
  add_tracker_option(reserve, arguments);
  reserve.add_option("--user", arguments.user, "For whom")->required();
  reserve.add_option("--key", arguments.key, "Devices with this key; default: any");
  reserve.add_option("--selector", arguments.selector, "Devices with these labels, as in room=lab3,!shared");
  reserve.add_option("--from", arguments.from, "When it begins, as in 2026-05-01T09:00:00Z; default: now");
  reserve.add_option("--for", arguments.duration, "How long, as in 1h30m")->required();
  reserve.footer("Example: tracker reserve --user alice --key pi4 --selector room=lab3 --for 2h");
  CLI::App& unreserve = *app.add_subcommand("unreserve", "End a reservation");
  add_tracker_option(unreserve, arguments);
  unreserve.add_option("ID", arguments.id, "As `tracker reservations` lists it")->required();
  unreserve.footer("Example: tracker unreserve 3");
}

void build(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  app.footer(
      "Example: tracker serve --listen 127.0.0.1:7190 & device_agent --tracker 127.0.0.1:7190 --key box\n"
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 no such device, lease or reservation.");
  add_serve(app, arguments);
  add_listings(app, arguments);
  add_device_command(app, arguments, "cordon", "Give a device no new lease; the present one goes on");
  add_device_command(app, arguments, "uncordon", "Let a device be leased again after cordon or drain");
  add_device_command(app, arguments, "drain", "Give a device no new lease and do not renew the present one")
      .add_flag("--undo", arguments.undo, "The same as uncordon");
  add_device_command(
      app, arguments, "readmit",
      "Take a device for what it is now: its quarantine becomes a probation, and its golden kernel "
      "sets a new baseline");
  add_device_command(app, arguments, "forget", "Forget a device that is gone, or all below one ('box/*')");
  add_reservation_commands(app, arguments);
  CLI::App& pardon = *app.add_subcommand("pardon", "Let a candidate that failed on two boards be run again");
  add_tracker_option(pardon, arguments);
  pardon.add_option("DIGEST", arguments.name, "Its SHA-256, as results name it")->required();
  pardon.footer(absl::StrCat("Example: tracker pardon ", std::string(64, '0')));
  CLI::App& release =
      *app.add_subcommand("release", "End leases against their holder's will; prints their ids");
  add_tracker_option(release, arguments);
  release.add_option("NAME", arguments.name, "A lease's id, or a device's for all of its leases")->required();
  release.footer("Example: tracker release 1a2b3c4d5e6f7a8b");
  tf::tracker::add_ca_commands(app, kDefaultEndpoint, arguments.ca);
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
  tf::set_grpc_environment();
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
  if (status.ok()) status = arguments.ca ? arguments.ca() : run(command, arguments);
  if (status.ok()) return tf::finish_output("tracker", tf::kExitOk);
  const tf::ExitCode code = tf::report_error("tracker", status);
  return absl::IsNotFound(status) && command != "serve" ? tf::kExitNoDevice : code;
}
