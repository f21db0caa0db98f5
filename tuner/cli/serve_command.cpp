// tuner serve: a tuner that takes jobs and measures on the devices of a farm.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cli/exit_code.h"
#include "base/files/open_files.h"
#include "base/status.h"
#include "compiler/driver/build_pool.h"
#include "compiler/runtime/cpu_limit.h"
#include "database/stores/open_store.h"
#include "proto/config/v1/farm.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/ports.h"
#include "rpc/connection/server.h"
#include "rpc/daemon/daemon_log.h"
#include "rpc/daemon/operating_options.h"
#include "rpc/daemon/service_manager.h"
#include "rpc/daemon/stop_signals.h"
#include "rpc/daemon/text_config.h"
#include "rpc/identity/credentials.h"
#include "rpc/metrics/page.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/serve_config.h"
#include "tuner/service/daemon.h"
#include "tuner/service/farm/farm_executor.h"
#include "tuner/service/farm/tracker_watch.h"
#include "tuner/service/installation.h"
#include "tuner/web/web_server.h"

namespace tf::tuner_cli {
namespace {

using tunefarm::config::v1::Tuner;

// With as many connections as it takes, all else has as many as without.
constexpr uint64_t kFilesOfHttp = 2048;

struct ServeArguments {
  std::string config_path;
  Tuner flags;  // what the command line sets
};

// The same after a restart, another for another database: its new run ends the leases of a dead one.
std::string holder_name(const service::Installation& installation) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return absl::StrCat("tuner ", host, ":", installation.id);
}

absl::StatusOr<std::unique_ptr<web::WebServer>> serve_http(
    const Tuner& config, service::Daemon& daemon, const rpc::Endpoint& tracker,
    const std::shared_ptr<rpc::Credentials>& credentials) {
  TF_ASSIGN_OR_RETURN(const rpc::Endpoint listen, rpc::parse_endpoint(config.http()));
  return web::WebServer::start({.listen = listen,
                                .credentials = credentials,
                                .guard = daemon.guard(),
                                .tokens = daemon.tokens(),
                                .host_names = {config.http_names().begin(), config.http_names().end()},
                                .tuner = daemon.in_process_channel(),
                                .tracker = rpc::make_channel(tracker, credentials, rpc::Role::kTracker),
                                .most_model_bytes = uint64_t{config.max_model_mib()} << 20});
}

absl::StatusOr<int> serve(const ServeArguments& arguments) {
  TF_ASSIGN_OR_RETURN(Tuner config, serve_config(arguments.config_path, arguments.flags));
  TF_ASSIGN_OR_RETURN(const std::string database, database::writable_sqlite_file(config.db()));
  TF_RETURN_IF_ERROR(
      rpc::log_to_stderr("tuner", {.level = config.log_level(), .format = config.log_format()}));
  if (config.reflection()) rpc::serve_reflection();
  rpc::StopSignals signals;
  TF_ASSIGN_OR_RETURN(rpc::Endpoint listen, rpc::parse_endpoint(config.listen()));
  TF_ASSIGN_OR_RETURN(rpc::Endpoint tracker, rpc::parse_endpoint(config.tracker()));
  TF_ASSIGN_OR_RETURN(const auto credentials, rpc::Credentials::load_if_given(config.tls()));
  TF_RETURN_IF_ERROR(
      rpc::require_role(credentials, rpc::Role::kTuner, "`tuner serve` leases devices as a tuner"));
  TF_RETURN_IF_ERROR(rpc::require_protection(tracker, "--tracker", credentials));
  if (!config.http().empty()) {
    TF_ASSIGN_OR_RETURN(const rpc::Endpoint http, rpc::parse_endpoint(config.http()));
    TF_RETURN_IF_ERROR(rpc::require_protection(http, "--http", credentials));
    TF_RETURN_IF_ERROR(rpc::check_bindable(http, "--http"));
    TF_RETURN_IF_ERROR(make_room_for_files(kFilesOfHttp));
  }
  TF_RETURN_IF_ERROR(rpc::check_ports({listen}, config.metrics()));
  if (config.builders() == 0) config.set_builders(static_cast<uint32_t>(std::max(1, tf_usable_cpus() - 1)));
  const int builders = static_cast<int>(config.builders());
  TF_ASSIGN_OR_RETURN(auto builder, driver::BuildPool::create({.workers = builders}));
  // Of its own, so that who looks at a program does not wait for a job's.
  TF_ASSIGN_OR_RETURN(auto show_builder,
                      driver::BuildPool::create({.workers = 1, .timeout = absl::Seconds(20)}));
  measure::TrialTally trials;
  auto make_executor = [&](database::Store& store) -> absl::StatusOr<std::unique_ptr<service::JobExecutor>> {
    TF_ASSIGN_OR_RETURN(const service::Installation installation, service::begin_run(database));
    return std::make_unique<service::FarmExecutor>(
        service::FarmExecutorOptions{.tracker = tracker,
                                     .credentials = credentials,
                                     .holder = holder_name(installation),
                                     .run_number = installation.run_number,
                                     .tally = &trials},
        *builder, store);
  };
  absl::Status ended;  // of its membership; written before the daemon has gone
  TF_ASSIGN_OR_RETURN(
      auto daemon,
      service::Daemon::start(
          {.listen = listen,
           .tracker = tracker,
           .credentials = credentials,
           .on_membership_end =
               [&](const absl::Status& why) {
                 ended = why;
                 signals.stop_waiting();
               },
           .database_path = database,
           .show_builder = show_builder.get(),
           .most_model_bytes = uint64_t{config.max_model_mib()} << 20,
           .queue = {.limits = {.in_all = config.max_waiting(), .of_each = config.max_waiting_each()}}},
          make_executor));
  std::unique_ptr<web::WebServer> web;
  if (!config.http().empty()) {
    TF_ASSIGN_OR_RETURN(web, serve_http(config, *daemon, tracker, credentials));
  }
  TF_ASSIGN_OR_RETURN(auto metrics, rpc::MetricsPage::start(config.metrics(), [&] {
                        std::vector<rpc::MetricFamily> families = daemon->metrics();
                        if (web)
                          for (rpc::MetricFamily& family : web->metrics())
                            families.push_back(std::move(family));
                        for (rpc::MetricFamily& family : trials.families())
                          families.push_back(std::move(family));
                        return families;
                      }));
  rpc::log_configuration(absl::StrCat("listening on ", daemon->endpoint().text(), " (",
                                      credentials ? "mutual TLS" : "plain text, loopback only", ")"),
                         config);
  if (web) spdlog::info("HTTP API and dashboard at " + web->url());
  const rpc::ServiceManager manager = rpc::ServiceManager::from_environment();
  std::optional<rpc::Watchdog> watchdog(std::in_place, manager, [&] { daemon->metrics(); });
  std::optional<service::TrackerWatch> watch(std::in_place, tracker, credentials);
  manager.ready();
  const int signal = signals.wait();  // 0: its membership has ended
  manager.stopping();
  watch.reset();  // whoever stops needs no device
  if (signal != 0) {
    spdlog::info(absl::StrCat(
        "stopping on ", rpc::signal_text(signal),
        ": finishing running trials; jobs continue after a restart (Ctrl-C again stops at once)"));
  } else {
    spdlog::error(absl::StrCat("stopping; jobs continue after a restart: ", ended.message()));
  }
  metrics = nullptr;
  web = nullptr;
  daemon->stop();
  watchdog.reset();  // it looks at the daemon
  daemon = nullptr;
  TF_RETURN_IF_ERROR(ended);
  return kExitOk;
}

}  // namespace

void add_serve_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<ServeArguments>();
  CLI::App* command =
      app.add_subcommand("serve", "Run a tuner that accepts jobs, until SIGINT, SIGTERM or SIGHUP");
  const Tuner defaults = default_serve_config();
  Tuner& flags = arguments->flags;
  command->add_option("--config", arguments->config_path,
                      "File in protobuf text format (proto/config/v1/farm.proto); flags override it");
  command->add_option("--db", *flags.mutable_db(),
                      "Database FILE, created if it does not exist; models go to FILE.models");
  command->add_option("--tracker", *flags.mutable_tracker(), "HOST:PORT of the farm's tracker")
      ->default_str(defaults.tracker());
  command->add_option("--listen", *flags.mutable_listen(), "HOST:PORT to listen on; port 0 picks a free one")
      ->default_str(defaults.listen());
  command->add_option(
      "--http", *flags.mutable_http(),
      "HOST:PORT of the HTTP API and the dashboard; plain text on loopback, or HTTPS with --tls "
      "[none]");
  command->add_option_function<std::vector<std::string>>(
      "--http-name",
      [arguments](const std::vector<std::string>& names) {
        *arguments->flags.mutable_http_names() = {names.begin(), names.end()};
      },
      "DNS name by which browsers may call it, besides its address and localhost; repeatable");
  command
      ->add_option_function<uint32_t>(
          "--builders", [arguments](uint32_t builders) { arguments->flags.set_builders(builders); },
          "Number of build workers [one less than the number of CPUs]")
      ->check(CLI::Range(1, 1024));
  const auto add_limit = [&](const char* name, void (Tuner::*set)(uint32_t), uint32_t by_default,
                             uint32_t most, const char* help) {
    command
        ->add_option_function<uint32_t>(
            name, [arguments, set](uint32_t limit) { (arguments->flags.*set)(limit); }, help)
        ->check(CLI::Range(1u, most))
        ->default_str(absl::StrCat(by_default));
  };
  add_limit("--max-waiting", &Tuner::set_max_waiting, defaults.max_waiting(), UINT32_MAX,
            "Maximum number of waiting jobs; more are refused");
  add_limit("--max-waiting-each", &Tuner::set_max_waiting_each, defaults.max_waiting_each(), UINT32_MAX,
            "Maximum number of waiting jobs of one submitter");
  add_limit("--max-model-mib", &Tuner::set_max_model_mib, defaults.max_model_mib(), kMostModelMib,
            "Maximum size of a model in MiB");
  command->add_option("--tls", *flags.mutable_tls(),
                      "Folder of the tuner's certificate, made by `tuner join`; turns on mutual TLS, "
                      "required to listen beyond loopback");
  rpc::add_operating_options(*command, {.log_level = flags.mutable_log_level(),
                                        .log_format = flags.mutable_log_format(),
                                        .metrics = flags.mutable_metrics(),
                                        .set_reflection = [&flags] { flags.set_reflection(true); }});
  command->footer("Example: tuner serve --db tune.db --tracker 127.0.0.1:7190 --listen 127.0.0.1:7191");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return serve(*arguments); }; });
}

}  // namespace tf::tuner_cli
