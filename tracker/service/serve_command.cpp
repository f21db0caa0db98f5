#include "tracker/service/serve_command.h"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "rpc/connection/default_endpoints.h"
#include "rpc/connection/ports.h"
#include "rpc/connection/server.h"
#include "rpc/daemon/daemon_environment.h"
#include "rpc/daemon/daemon_log.h"
#include "rpc/daemon/operating_options.h"
#include "rpc/daemon/service_manager.h"
#include "rpc/daemon/stop_signals.h"
#include "rpc/daemon/text_config.h"
#include "rpc/metrics/page.h"
#include "tracker/health/power_cycle.h"
#include "tracker/service/daemon.h"

namespace tf::tracker {
namespace {

absl::StatusOr<UserPolicy> policy_of(const tunefarm::config::v1::UserPolicy& config) {
  if (config.share() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("user '", config.name(), "' has the share ", config.share(), ": give one above 0"));
  }
  UserPolicy policy{.share = config.share() == 0 ? 1 : config.share(), .max_slots = config.max_slots()};
  if (config.has_max_waiting()) policy.max_waiting = config.max_waiting();
  if (config.has_max_demands()) policy.max_demands = config.max_demands();
  if (config.has_highest_priority()) policy.highest_priority = config.highest_priority();
  if (policy.highest_priority < kLowestPriority || policy.highest_priority > kHighestPriority) {
    return absl::InvalidArgumentError(absl::StrCat("user '", config.name(), "' has the highest_priority ",
                                                   policy.highest_priority, ": give one from ",
                                                   kLowestPriority, " to ", kHighestPriority));
  }
  return policy;
}

absl::StatusOr<FarmOptions> farm_options(const tunefarm::config::v1::Tracker& config) {
  FarmOptions farm{.default_term = absl::Seconds(config.lease_seconds()),
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
      return absl::InvalidArgumentError(absl::StrCat("user ", user.name(), " appears twice in `users`"));
    }
  }
  return farm;
}

// Before a device needs it, at night.
absl::Status check_power_cycle(const PowerCycleOptions& options) {
  if (options.command.empty()) return absl::OkStatus();
  const char* path = std::getenv("PATH");
  const absl::Status there = check_program(options.command[0], path ? path : "/bin:/usr/bin");
  return there.ok() ? there
                    : absl::Status(there.code(), absl::StrCat("--power-cycle-command: ", there.message()));
}

void add_number(CLI::App& command, const std::string& name, const std::string& what, const CLI::Range& range,
                uint32_t present, const std::function<void(uint32_t)>& set) {
  command.add_option_function<uint32_t>(name, set, what)->check(range)->default_str(std::to_string(present));
}

}  // namespace

tunefarm::config::v1::Tracker default_serve_config() {
  tunefarm::config::v1::Tracker config;
  config.set_listen(rpc::kDefaultTracker);
  config.set_state(rpc::default_state_folder() + "/tracker.db");
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

absl::Status serve(const tunefarm::config::v1::Tracker& config) {
  TF_RETURN_IF_ERROR(rpc::obey_test_environment("tracker"));
  TF_RETURN_IF_ERROR(
      rpc::log_to_stderr("tracker", {.level = config.log_level(), .format = config.log_format()}));
  if (config.reflection()) rpc::serve_reflection();
  rpc::allow_descriptors(11'000);  // ten thousand agents hold a connection each
  rpc::StopSignals signals;
  TF_ASSIGN_OR_RETURN(const rpc::Endpoint listen, rpc::parse_endpoint(config.listen()));
  TF_ASSIGN_OR_RETURN(FarmOptions farm, farm_options(config));
  TF_RETURN_IF_ERROR(rpc::check_ports({listen}, config.metrics()));
  const PowerCycleOptions power_cycle{
      .command = {config.power_cycle_command().begin(), config.power_cycle_command().end()},
      .interval = absl::Minutes(config.power_cycle_minutes())};
  TF_RETURN_IF_ERROR(check_power_cycle(power_cycle));
  TF_ASSIGN_OR_RETURN(
      const auto daemon,
      Daemon::start({.listen = listen,
                     .ca_folder = config.tls(),
                     .members = {.certificate_life = absl::Hours(24) * config.certificate_days()},
                     .advertise = {config.advertise().begin(), config.advertise().end()},
                     .state_path = config.state(),
                     .artifact_bytes = uint64_t{config.artifact_mib()} << 20,
                     .farm = std::move(farm),
                     .power_cycle = power_cycle}));
  TF_ASSIGN_OR_RETURN(const auto metrics,
                      rpc::MetricsPage::start(config.metrics(), [&] { return daemon->metrics(); }));
  rpc::log_configuration(absl::StrCat("listening on ", daemon->endpoint().text(), ", ",
                                      config.tls().empty() ? "plain text" : "mutual TLS"),
                         config);
  const rpc::ServiceManager manager = rpc::ServiceManager::from_environment();
  const rpc::Watchdog watchdog(manager, [&] { daemon->metrics(); });
  manager.ready();
  const int signal = signals.wait();
  manager.stopping();
  spdlog::info(absl::StrCat("stopping on ", rpc::signal_text(signal), "; leases continue after a restart"));
  daemon->stop();
  return absl::OkStatus();
}

void add_serve_command(CLI::App& app, ServeArguments& arguments) {
  CLI::App& serve = *app.add_subcommand("serve", "Run a tracker until SIGINT, SIGTERM or SIGHUP");
  tunefarm::config::v1::Tracker& config = arguments.config;
  serve.add_option("--config", arguments.config_path,
                   "File in protobuf text format (proto/config/v1/farm.proto), which can also set shares and "
                   "quotas; flags override it");
  serve.add_option("--listen", *config.mutable_listen(), "HOST:PORT to listen on; port 0 picks a free one")
      ->capture_default_str();
  serve.add_option("--state", *config.mutable_state(), "State file; artifacts go to FILE.artifacts")
      ->capture_default_str();
  add_number(serve, "--artifact-mib", "Size limit of the artifact store, in MiB", CLI::Range(1, 1 << 20),
             config.artifact_mib(), [&](uint32_t value) { config.set_artifact_mib(value); });
  add_number(serve, "--lease-seconds", "Default lease term in seconds", CLI::Range(1, 600),
             config.lease_seconds(), [&](uint32_t value) { config.set_lease_seconds(value); });
  add_number(serve, "--agent-grace-seconds", "Seconds that an agent may be away before its lease ends",
             CLI::Range(1, 3600), config.agent_grace_seconds(),
             [&](uint32_t value) { config.set_agent_grace_seconds(value); });
  add_number(serve, "--forget-days", "Days after which an absent device is removed; 0: never",
             CLI::Range(0, 36500), config.forget_days(),
             [&](uint32_t value) { config.set_forget_days(value); });
  add_number(serve, "--slice-seconds",
             "Longest time in seconds that a lease is renewed while others wait for its slot",
             CLI::Range(1, 86400), config.slice_seconds(),
             [&](uint32_t value) { config.set_slice_seconds(value); });
  add_number(
      serve, "--quarantine-after",
      "Quarantine a device after this many different candidates in a row crash or time out on it; 0: never",
      CLI::Range(0, 10000), config.quarantine_after(),
      [&](uint32_t value) { config.set_quarantine_after(value); });
  serve
      .add_option_function<int32_t>(
          "--highest-priority",
          [&](int32_t value) { config.mutable_everyone()->set_highest_priority(value); },
          "Highest priority of users that the configuration does not name")
      ->check(CLI::Range(kLowestPriority, kHighestPriority))
      ->default_str(absl::StrCat(kHighestPriority));
  serve
      .add_option_function<std::string>(
          "--power-cycle-command",
          [&](const std::string& command) {
            config.clear_power_cycle_command();
            for (const auto& word : absl::StrSplit(command, ' ', absl::SkipEmpty())) {
              config.add_power_cycle_command(std::string(word));
            }
          },
          "Command that power-cycles a device, split at spaces; the device's id is appended. Runs when a "
          "device is quarantined or disappears during a trial")
      ->type_name("COMMAND");
  serve.add_option("--tls", *config.mutable_tls(),
                   "Folder of the farm's CA, made by `tracker ca init`; turns on mutual TLS, required to "
                   "listen beyond loopback");
  serve
      .add_option_function<std::vector<std::string>>(
          "--advertise",
          [&](const std::vector<std::string>& hosts) {
            config.clear_advertise();
            for (const std::string& host : hosts) config.add_advertise(host);
          },
          "Additional name or address of the tracker, for its certificate; repeatable [this machine's name "
          "and addresses]")
      ->type_name("HOST");
  add_number(serve, "--certificate-days", "Lifetime of issued certificates, in days", CLI::Range(1, 3650),
             config.certificate_days(), [&](uint32_t value) { config.set_certificate_days(value); });
  rpc::add_operating_options(serve, {.log_level = config.mutable_log_level(),
                                     .log_format = config.mutable_log_format(),
                                     .metrics = config.mutable_metrics(),
                                     .set_reflection = [&config] { config.set_reflection(true); }});
  serve.footer("Example: tracker serve --listen 127.0.0.1:7190 --state farm/tracker.db");
}

}  // namespace tf::tracker
